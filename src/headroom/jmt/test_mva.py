"""Files of JMVA: their models have the answers of mean value analysis."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.forecasts import forecast_of
from headroom.jmt import read_jmva
from headroom.simulation import Model, SimulationError


def station(
    name: str, kind: str = "listation", visits: str = "1.0", more: str = "", **times: str
) -> str:
    """Return a station with service times by class, and as many visits of each class."""
    rows = "".join(
        f'<servicetime customerclass="{one}">{time}</servicetime>\n' for one, time in times.items()
    )
    walks = "".join(f'<visit customerclass="{one}">{visits}</visit>\n' for one in times)
    return (
        f'<{kind} name="{name}" {more}>\n<servicetimes>{rows}</servicetimes>\n'
        f"<visits>{walks}</visits>\n</{kind}>\n"
    )


def archive(classes: str, *stations: str, references: str = "", after: str = "") -> str:
    """Return a file of JMVA."""
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n<model>\n<parameters>\n'
        f'<classes number="1">{classes}</classes>\n'
        f'<stations number="{len(stations)}">\n{"".join(stations)}</stations>\n'
        f'<ReferenceStation number="1">{references}</ReferenceStation>\n</parameters>\n'
        f'<algParams><algType name="MVA" tolerance="1.0E-7"/></algParams>\n{after}</model>\n'
    )


USERS = '<closedclass name="users" population="3" priority="0"/>'
AT_DESK = '<Class name="users" refStation="desk"/>'
GOOD = archive(
    USERS,
    station("desk", "delaystation", users="5.0"),
    station("cpu", users="0.1", visits="6.0", more='servers="1"'),
    station("disk", users="0.4", visits="2.5", more='servers="1"'),
    references=AT_DESK,
)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Model]:
    def reading(text: str) -> Model:
        path = tmp_path / "shop.jmva"
        path.write_text(text)
        return read_jmva(path)

    return reading


def mva(demands: list[float], think: float, jobs: int) -> float:
    """Return the throughput of single servers (Reiser & Lavenberg 1980)."""
    queues, throughput = [0.0] * len(demands), 0.0
    for count in range(1, jobs + 1):
        times = [demand * (1 + queue) for demand, queue in zip(demands, queues, strict=True)]
        throughput = count / (think + sum(times))
        queues = [throughput * time for time in times]
    return throughput


def test_a_closed_class_has_the_throughput_of_mean_value_analysis(
    read: Callable[[str], Model],
) -> None:
    forecast = forecast_of(read(GOOD))
    assert forecast.is_exact
    exact = mva([0.6, 1.0], 5.0, 3)
    assert forecast.values["throughput"] == pytest.approx(exact)
    assert forecast.values["station.cpu.utilization"] == pytest.approx(0.6 * exact)
    assert forecast.values["response_s_mean"] == pytest.approx(3 / exact - 5.0)


def test_the_times_of_one_of_two_classes_differ(read: Callable[[str], Model]) -> None:
    """Oracle: two jobs of unlike classes at one shared server of product form, by hand.

    Alone each would have 1 / (1 + D); with G(1, 1) = 2 D1 D2 + D1 + D2 + 1 at thinks of 1 s.
    """
    one, other = (f'<closedclass name="{name}" population="1"/>' for name in "ab")
    found = forecast_of(read(archive(
        one + other,
        station("desk", "delaystation", a="1.0", b="1.0"),
        station("cpu", a="0.5", b="2.0"),
        references="".join(f'<Class name="{name}" refStation="desk"/>' for name in "ab"),
    )))  # fmt: skip
    norm = 2 * 0.5 * 2.0 + 0.5 + 2.0 + 1
    assert found.is_exact
    assert found.values["class.a.throughput"] == pytest.approx((1 + 2.0) / norm)
    assert found.values["class.b.throughput"] == pytest.approx((1 + 0.5) / norm)


def test_an_open_class_has_an_arrival_rate(read: Callable[[str], Model]) -> None:
    found = forecast_of(read(archive(
        '<openclass name="jobs" rate="0.5"/>', station("cpu", jobs="1.2"),
        references='<Class name="jobs" refStation="Arrival Process"/>',
    )))  # fmt: skip
    assert found.values["response_s_mean"] == pytest.approx(1.2 / (1 - 0.6))


@pytest.mark.parametrize(
    ("kind", "time", "more"),
    [("ldstation", "1.0;0.5;0.5", 'servers="1"'), ("listation", "1.0", 'servers="2"')],
)
def test_times_under_load_are_those_of_several_servers(
    kind: str, time: str, more: str, read: Callable[[str], Model]
) -> None:
    """Oracle: M/M/2//3 with thinks of 5 s."""
    model = read(archive(
        USERS, station("desk", "delaystation", users="5.0"),
        station("cpu", kind, users=time, more=more), references=AT_DESK,
    ))  # fmt: skip
    assert model.stations["cpu"].servers == 2
    weights = [1.0, 3 / 5, 3 / 5 * 2 / 5 / 2, 3 / 5 * 2 / 5 / 2 * 1 / 5 / 2]
    exact = (weights[1] + 2 * weights[2] + 2 * weights[3]) / sum(weights)
    assert forecast_of(model).values["throughput"] == pytest.approx(exact)


def test_a_class_without_think_time_walks_from_its_reference_station(
    read: Callable[[str], Model],
) -> None:
    """Two visits of the reference station are two walks."""
    found = forecast_of(read(archive(
        USERS, station("cpu", users="0.5", visits="2.0"), station("disk", users="1.0"),
        references='<Class name="users" refStation="cpu"/>',
    )))  # fmt: skip
    assert found.values["throughput"] == pytest.approx(2 * mva([1.0, 1.0], 0.0, 3))


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("model>", "archive>", 2, "not a model of JMVA"),
        ("listation", "sinkstation", 12, "<sinkstation> has no counterpart"),
        ('population="3"', 'population="2.5"', 4, "population is '2.5'"),
        ('priority="0"', 'priority="1"', 4, "class 'users' has a priority"),
        ('population="3"', 'population="0"', 4, "no class has jobs"),
        ('name="disk"', 'name="cpu"', 18, "two stations 'cpu'"),
        (">0.4<", ">often<", 19, "service time is 'often'"),
        ('refStation="desk"', 'refStation="till"', 25, "station 'till', which is not there"),
        ('servers="1"', 'servers="0"', 12, "station 'cpu' has no server"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(
    old: str, new: str, line: int, what: str, read: Callable[[str], Model]
) -> None:
    assert old in GOOD
    with pytest.raises(SimulationError) as caught:
        read(GOOD.replace(old, new))
    assert f"shop.jmva:{line}: " in caught.value.message
    assert what in caught.value.message
    assert caught.value.cure


def test_times_under_load_of_no_number_of_servers_are_refused(
    read: Callable[[str], Model],
) -> None:
    with pytest.raises(SimulationError, match="under load"):
        read(archive(USERS, station("cpu", "ldstation", users="1.0;0.9;0.3")))
