"""Groups in studies: their metrics, changes to them, agreement with formulas."""

import math
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import parse_change
from headroom.forecasts.forecast import forecast_of
from headroom.jmt.write import write_jsimg
from headroom.simulation import Model, exponential
from headroom.systems.model.changed import changed_model


def cluster(*, group: str = "node") -> Model:
    """Return four nodes with a CPU each, behind slots of their own."""
    model = Model("cluster", time_unit="ms")
    program = model.program("request")
    with program.branch() as chosen:
        for node in range(4):
            slots = model.pool(f"slots {node}", tokens=2, group=group and "slots")
            cpu = model.station(f"cpu {node}", group=group and "cpu")
            with chosen.case(0.25), program.holding(slots):
                program.use(cpu, exponential(5))
    program.use(model.station("disk"), exponential(1))
    model.closed_class("users", program, population=30, think=exponential(10))
    return model


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("station.cpu.servers=x2", [2, 2, 2, 2]),
        ("station.cpu.servers=x3", [3, 3, 3, 3]),
    ],
)
def test_a_factor_changes_every_station_of_a_group(text: str, values: list[int]) -> None:
    changed = changed_model(cluster(), [parse_change(text)])
    assert [changed.stations[f"cpu {node}"].servers for node in range(4)] == values
    assert changed.stations["disk"].servers == 1


def test_a_factor_changes_every_pool_of_a_group_and_the_speed_of_every_station() -> None:
    changes = ["pool.slots.tokens=x2", "station.cpu.speed=x2"]
    changed = changed_model(cluster(), [parse_change(text) for text in changes])
    assert {changed.pools[f"slots {node}"].tokens for node in range(4)} == {4}
    assert {changed.stations[f"cpu {node}"].speeds for node in range(4)} == {(2.0,)}


@pytest.mark.parametrize("text", ["station.cpu.servers=8", "pool.slots.tokens=8"])
def test_a_number_for_a_group_is_refused_and_the_cure_is_a_factor(text: str) -> None:
    with pytest.raises(StudyError, match="is a group of 4") as caught:
        changed_model(cluster(), [parse_change(text)])
    assert "=x2" in str(caught.value.cure)


def test_a_member_of_a_group_cannot_be_changed_alone_and_the_cure_names_what_can() -> None:
    with pytest.raises(StudyError, match="no station 'cpu 1'") as caught:
        changed_model(cluster(), [parse_change("station.cpu 1.servers=x2")])
    assert "cpu" in str(caught.value.cure)


def test_the_forecast_of_a_group_is_the_mean_or_the_sum_over_its_members() -> None:
    grouped, alone = (forecast_of(cluster(group=group)).values for group in ("node", ""))
    each = "station.cpu {}.{}"
    for name in ("queue_len_mean", "throughput", "jobs_mean"):
        total = math.fsum(alone[each.format(node, name)] for node in range(4))
        assert grouped[f"station.cpu.{name}"] == pytest.approx(total)
    for name in ("utilization", "wait_s_mean", "response_s_mean"):
        assert grouped[f"station.cpu.{name}"] == pytest.approx(alone[each.format(0, name)])
    for name in ("utilization", "wait_s_mean"):
        assert grouped[f"pool.slots.{name}"] == pytest.approx(alone[f"pool.slots 0.{name}"])
    assert grouped["throughput"] == alone["throughput"]
    assert not [name for name in grouped if "cpu 0" in name or "slots 0" in name]


def test_servers_that_nobody_visits_count_in_the_utilization_of_their_group() -> None:
    """Oracle: load 0.5 at one of two single servers is 0.25 of both, as in a run."""
    model = Model("spare", time_unit="s")
    program = model.program("visit")
    program.use(model.station("first", group="server"), exponential(0.5))
    model.station("spare", group="server")
    model.open_class("jobs", program, interarrival=exponential(1))
    assert forecast_of(model).values["station.server.utilization"] == pytest.approx(0.25)


def test_what_limits_is_named_by_its_row() -> None:
    (limit,) = forecast_of(cluster()).limits
    assert limit.resource in {"cpu", "pool slots"}
    assert limit.throughput_high == pytest.approx(800)


def test_the_bounds_of_a_group_hold_whichever_member_a_job_takes() -> None:
    """Oracle: 4 servers of 5 ms do 800 /s, wherever each job goes."""
    model = Model("cluster", time_unit="ms")
    place, program = model.attribute("place"), model.program("request")
    program.set(place, (place + 1) % 4)
    stations = [model.station(f"cpu {node}", group="cpu") for node in range(4)]
    program.use_one_of(stations, exponential(5), policy="index", by=place)
    model.closed_class("users", program, population=100)
    (limit,) = forecast_of(model).limits
    assert limit.resource == "cpu"
    assert limit.throughput_high == pytest.approx(800)


def test_a_model_with_groups_is_written_for_jmt_station_by_station(tmp_path: Path) -> None:
    model = Model("line", time_unit="s")
    program = model.program("visit")
    for number in range(2):
        program.use(model.station(f"till {number}", group="till"), exponential(1))
    model.closed_class("users", program, population=3, think=exponential(1))
    path = tmp_path / "line.jsimg"
    write_jsimg(model, path)
    text = path.read_text()
    assert 'name="till 0"' in text
    assert 'name="till 1"' in text
