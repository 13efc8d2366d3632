"""The whole model format, as data: every step, discipline and arrival process has an answer.

Models stand here as documents, so that the test does not depend on what the builder can write.
"""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from headroom.solvers import Solution, SolverError, network_of
from headroom.solvers.solve import solve_network

if TYPE_CHECKING:
    from headroom.simulation import Model

Data = dict[str, Any]
END: Data = {"op": "end"}


def exp(mean: float) -> Data:
    return {"kind": "exponential", "mean": mean}


def use(station: str, mean: float = 1.0, **more: object) -> Data:
    return {"op": "use", "station": station, "service": exp(mean), "stream": 1, **more}


def code(*words: object) -> Data:
    return {"kind": "expression", "code": list(words)}


def closed_class(name: str = "users", population: int = 4, **more: object) -> Data:
    return {"kind": "closed", "name": name, "program": "main", "population": population,
            "think": exp(3), "stream": 1, **more}  # fmt: skip


def open_class(name: str = "jobs", mean: float = 2.0, **more: object) -> Data:
    return {"kind": "open", "name": name, "program": "main", "interarrival": exp(mean),
            "stream": 1, **more}  # fmt: skip


@dataclass
class Document:
    """A model that is nothing but its data."""

    steps: list[Data]
    classes: list[Data]
    stations: list[Data] = field(default_factory=lambda: [{"name": "cpu", "servers": 1}])
    more: Data = field(default_factory=dict)
    name: str = "document"
    time_unit: str = "s"

    @property
    def programs(self) -> dict[str, Any]:
        """Steps with their lines, as the builder keeps them."""
        named = {"main": self.steps, **self.more.get("programs", {})}
        return {
            name: SimpleNamespace(
                steps=[SimpleNamespace(location=f"model.py:{n}") for n, _ in enumerate(steps, 1)]
            )
            for name, steps in named.items()
        }

    def to_data(self) -> Data:
        """Return the document."""
        named = {"main": self.steps, **self.more.get("programs", {})}
        rest = {name: value for name, value in self.more.items() if name != "programs"}
        return {
            "format": 2,
            "name": self.name,
            "time_unit": self.time_unit,
            "stations": self.stations,
            "pools": [],
            "classes": self.classes,
            "programs": [{"name": name, "steps": steps} for name, steps in named.items()],
            **rest,
        }


def solved(steps: list[Data], classes: list[Data], *stations: Data, **more: object) -> Solution:
    found = list(stations) or [{"name": "cpu", "servers": 1}]
    return solve_network(network_of(cast("Model", Document(steps, classes, found, more))))


def station(discipline: str, servers: int = 1, **more: object) -> Data:
    return {"name": "cpu", "servers": servers, "discipline": discipline, **more}


@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random", "ps", "lcfs_preempt"])
def test_disciplines_of_product_form_have_one_answer(discipline: str) -> None:
    """Exponential services of one mean: who is served first does not change the means."""
    solution = solved([use("cpu", 0.5)], [open_class()], station(discipline))
    assert solution.is_exact
    assert solution.response_s == pytest.approx(0.5 / (1 - 0.25))


def test_unlimited_servers_take_any_law_and_have_no_utilization() -> None:
    step = use("cpu") | {"service": {"kind": "constant", "value": 5.0}}
    solution = solved([step], [open_class(mean=0.1)], station("infinite"))
    assert solution.is_exact
    assert solution.response_s == pytest.approx(5.0)
    assert solution.stations[0].jobs == pytest.approx(50.0)
    assert "station.cpu.utilization" not in solution.metrics()


@pytest.mark.parametrize(
    ("discipline", "responses"),
    [("priority", (2.333333, 7.666667)), ("priority_preempt", (1.666667, 8.333333))],
)
def test_priorities_agree_with_the_known_answers(
    discipline: str, responses: tuple[float, float]
) -> None:
    """Larger numbers go first; the known waits plus the own service."""
    classes = [open_class("urgent", 2.5, priority=1), open_class("patient", 2.5)]
    solution = solved([use("cpu")], classes, station(discipline))
    assert solution.is_exact
    assert [one.response_s for one in solution.classes] == pytest.approx(responses, abs=1e-6)


@pytest.mark.parametrize(
    ("places", "lost", "response"), [(5, 0.088819, 2.563065), (10, 0.023493, 3.797098)]
)
def test_a_buffer_that_turns_away_agrees_with_the_known_answers(
    places: int, lost: float, response: float
) -> None:
    lossy = station("fcfs", buffer=places - 1, when_full="reject")
    solution = solved([use("cpu")], [open_class(mean=1.25)], lossy)
    assert solution.is_exact
    assert solution.method == "M/M/c/K"
    assert solution.throughput_per_s == pytest.approx(0.8 * (1 - lost), abs=1e-6)
    assert solution.response_s == pytest.approx(response, abs=1e-6)


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"buffer": 1}, "held up (blocking)"),
        ({"buffer": 1, "when_full": "reject"}, "turned away"),
        ({"limit": 2, "discipline": "ps"}, "at most 2 jobs share"),
        ({"servers": 2, "speeds": [1.0, 2.0]}, "servers of different speeds"),
        ({"batch": {"least": 1, "most": 4}}, "serves several jobs at once"),
    ],
)
def test_what_a_station_limits_is_a_reason_unless_it_cannot_happen(
    extra: Data, reason: str
) -> None:
    limited = {"name": "cpu", "servers": 1, **extra}
    solution = solved([use("cpu")], [closed_class()], limited)
    assert not solution.is_exact
    assert any(reason in one for one in solution.reasons), solution.reasons
    roomy = {**limited, "buffer": 9, "limit": 9, "speeds": None, "batch": None}
    assert solved([use("cpu")], [closed_class()], roomy).is_exact


def test_breakdowns_are_a_reason() -> None:
    broken = [{"station": "cpu", "unit": "all", "time_to_failure": exp(9), "repair": exp(1)}]
    solution = solved([use("cpu")], [closed_class()], breakdowns=broken)
    assert any("break down" in one for one in solution.reasons)


def test_a_network_of_nodes_is_its_traffic_equations() -> None:
    """Oracle: cpu goes on to the disk with 0.8 and leaves with 0.2, so V = 5 and 4."""
    steps: list[Data] = [
        {"op": "network"},
        {"op": "node", "name": "a", "to": [{"node": "b", "probability": 0.8},
                                           {"node": None, "probability": 0.2}], "stream": 1},
        use("cpu", 0.1), END,
        {"op": "node", "name": "b", "to": [{"node": "a", "probability": 1.0}], "stream": 1},
        use("disk", 0.2), END,
        END,
    ]  # fmt: skip
    stations = [{"name": "cpu", "servers": 1}, {"name": "disk", "servers": 1}]
    network = network_of(cast("Model", Document(steps, [closed_class()], stations)))
    assert network.visits[:, 0] == pytest.approx([5.0, 4.0])
    flows = network.classes[0].flows
    assert flows["cpu", "disk"] == pytest.approx(4.0)
    assert flows["disk", "cpu"] == pytest.approx(4.0)
    assert flows["", "cpu"] == pytest.approx(1.0)
    assert solve_network(network).is_exact


def test_a_time_that_scales_with_an_attribute_has_its_moments() -> None:
    """Exponential sizes times a number are exponential; the reason stays, as sizes persist."""
    tenth = code({"attribute": "size"}, {"number": 0.1}, {"apply": "multiply"})
    steps: list[Data] = [
        {"op": "set", "attribute": "size", "value": exp(4), "stream": 1},
        use("cpu") | {"service": tenth},
    ]
    solution = solved(steps, [open_class()], attributes=[{"name": "size", "initial": 0.0}])
    assert solution.stations[0].utilization == pytest.approx(0.2)
    assert solution.stations[0].wait_s == pytest.approx(0.4 * 0.2 / 0.8)
    assert "depends on an attribute" in solution.reasons[0]


def test_a_time_without_a_mean_is_refused_with_its_line() -> None:
    step = use("cpu") | {"service": code({"jobs": "cpu"})}
    with pytest.raises(SolverError, match=r"model\.py:1"):
        solved([step], [closed_class()])


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([{"op": "teleport", "where": "cpu"}, use("cpu")], "'teleport' is not known"),
        ([{"op": "prioritize", "value": exp(1), "stream": 1}, use("cpu")], "changes its priority"),
        ([use("cpu", reserve=True)], "blocking"),
        (
            [{"op": "attempt", "timeout": exp(1), "tries": 3}, {"op": "work"}, use("cpu"), END,
             {"op": "failed"}, use("cpu", 9), END, END],
            "may time out",
        ),
        (
            [{"op": "branch", "choice": {"kind": "shortest_queue"}, "stream": 1},
             {"op": "case", "of": {"station": "cpu"}}, use("cpu"), END,
             {"op": "case", "of": {"station": "cpu"}}, use("cpu"), END, END],
            "by the state of the system",
        ),
    ],
)  # fmt: skip
def test_steps_outside_product_form_are_reasons_with_their_line(
    steps: list[Data], reason: str
) -> None:
    solution = solved(steps, [closed_class()])
    assert not solution.is_exact
    assert any(reason in one and one.startswith("model.py:1: ") for one in solution.reasons)
    assert 0 < solution.throughput_per_s <= 1


def test_work_after_a_reply_loads_the_server_but_not_the_caller() -> None:
    """Second phase: one request keeps the server busy for 3, but answers after 1."""
    programs = {"server": [use("cpu", 0.1), {"op": "reply"}, use("cpu", 0.2)]}
    solution = solved(
        [{"op": "call", "program": "server"}], [open_class(mean=10.0)], programs=programs
    )
    assert solution.stations[0].utilization == pytest.approx(0.03)
    assert solution.response_s == pytest.approx(0.1, rel=0.1)
    assert any("second phase" in one for one in solution.reasons)


def test_a_quorum_waits_for_the_first_of_its_arms() -> None:
    first = [{"op": "arm"}, use("cpu", 1e-3), END]
    second = [{"op": "arm"}, use("disk", 1e-3), END]
    steps: list[Data] = [{"op": "fork", "quorum": 1, "rest": "cancel"}, *first, *second, END]
    stations = [{"name": "cpu", "servers": 1}, {"name": "disk", "servers": 1}]
    solution = solved(steps, [open_class(mean=1000.0)], *stations)
    assert solution.response_s == pytest.approx(0.5e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("process", "rate"),
    [
        ({"kind": "mmpp", "rates": [1.0, 0.0], "switch_rates": [[0, 1.0], [1.0, 0]]}, 0.5),
        ({"kind": "changing_rate", "times": [0.0, 6.0], "rates": [0.2, 0.8], "period": 8.0}, 0.35),
        ({"kind": "trace", "times": [1.0, 2.0, 6.0, 8.0]}, 0.5),
    ],
)
def test_other_arrivals_have_their_rate_and_a_reason(process: Data, rate: float) -> None:
    one = {name: v for name, v in open_class().items() if name != "interarrival"}
    solution = solved([use("cpu", 0.5)], [{**one, "arrivals": process}])
    assert solution.throughput_per_s == pytest.approx(rate)
    assert not solution.is_exact


def test_bursty_arrivals_wait_longer_than_poisson_ones() -> None:
    """An interrupted Poisson process is hyperexponential: c2 = 1 + 2 rate off / (on + off)^2."""
    process = {"kind": "mmpp", "rates": [1.0, 0.0], "switch_rates": [[0, 1.0], [1.0, 0]]}
    one = {name: v for name, v in open_class().items() if name != "interarrival"}
    network = network_of(cast("Model", Document([use("cpu")], [{**one, "arrivals": process}])))
    assert network.classes[0].arrivals.c2 == pytest.approx(1 + 2 * 1.0 * 1.0 / 4.0)


def test_batches_of_arrivals_multiply_the_rate() -> None:
    batch = {"kind": "constant", "value": 3}
    solution = solved([use("cpu", 0.1)], [open_class(batch=batch)])
    assert solution.throughput_per_s == pytest.approx(1.5)
    assert np.isfinite(solution.response_s)
