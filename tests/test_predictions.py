"""Prediction intervals of fitted models hold as often as promised: the benchmark and its parts.

The benchmark (`python -m benches.predictions`) measures all kinds of evidence; this test checks its
table against the promise, and its model and servers against what they represent.
"""

import math

import numpy as np
import pytest

from benches.changing_demand import KNOWN, OTHER, Case, Maker, Queue, cores
from benches.predictions import CPU, EVIDENCE, RATE, TIME, Repairman, Row, load, outcomes
from headroom.forecasts.forecast import forecast_of
from headroom.systems.model.library import interactive

pytestmark = pytest.mark.deep


@pytest.mark.parametrize(("users", "think_s", "servers"), [(1, 0.0, 2), (5, 0.02, 2), (20, 0.0, 4)])
def test_the_model_of_the_benchmark_is_the_interactive_system(
    users: int, think_s: float, servers: int
) -> None:
    config = {"users": users, "think_s": think_s, "service_s": 1e-3, "servers": servers}
    model = interactive(users=users, think_s=think_s, service_s=1e-3, servers=servers)
    expected = forecast_of(model).values
    values = Repairman().forecast(config, ()).values
    assert values == pytest.approx({name: expected[name] for name in (RATE, TIME, CPU)}, rel=1e-9)


@pytest.mark.parametrize("maker", KNOWN + OTHER)
def test_the_servers_obey_the_asymptotes(maker: Maker) -> None:
    case = maker(np.random.default_rng(1))
    alone = case.measured(1, 0.0)[RATE]
    few = case.measured(4, 1.0)
    assert few[RATE] <= 4.0
    assert few[RATE] == pytest.approx(4.0 / (1.0 + few[TIME]))
    assert case.measured(16, 0.0)[CPU] <= 1.0
    assert case.measured(1, 0.0, drift=2.0)[RATE] < alone


def test_a_constant_demand_is_measured_back() -> None:
    """Oracle: two cores of 100 us that never idle do 20,000 a second."""

    def queues(clients: int, busy: float, drift: float) -> list[Queue]:  # noqa: ARG001
        return [Queue(1e-4 * drift, cores(2))]

    case = Case(family="constant", servers=2, queues=queues)
    assert case.measured(64, 0.0)[RATE] == pytest.approx(20_000.0)


def test_a_burst_in_turn_holds_and_unknown_cores_are_refused() -> None:
    by_name = {evidence.name: evidence for evidence in EVIDENCE}
    found = outcomes(KNOWN[0], by_name["alternated burst"], range(2))
    assert not any(one.is_refused for one in found)
    assert all(math.isfinite(one.above[RATE]) for one in found)
    assert {one.kind for one in found} <= {"alternated-burst", "target-burst"}


def of(evidence: str) -> list[Row]:
    """Return the stored lines of one kind of evidence."""
    return [one for one in load() if one.evidence == evidence]


@pytest.mark.parametrize("evidence", [one.name for one in EVIDENCE if one.knows_servers])
def test_the_stored_intervals_hold_in_90_to_100_percent(evidence: str) -> None:
    lines = of(evidence)
    held, predicted = sum(line.held[RATE] for line in lines), sum(line.predicted for line in lines)
    assert held / predicted >= 0.90


def test_all_stored_intervals_hold_in_90_to_98_percent() -> None:
    lines = load()
    held, predicted = sum(line.held[RATE] for line in lines), sum(line.predicted for line in lines)
    assert 0.90 <= held / predicted <= 0.98


def test_a_burst_in_turn_is_a_narrower_answer_than_low_load() -> None:
    """An interval that is wide enough to hold everything is no answer."""
    wide = [one.width[RATE] for one in of("processor time, low load") if one.load == "no think"]
    narrow = [one.width[RATE] for one in of("alternated burst") if one.load == "no think"]
    assert max(narrow) < 1.3
    assert min(wide) > 2.9


def test_cores_that_nobody_told_are_refused_from_response_times() -> None:
    lines = of("response times, cores unknown")
    assert sum(line.refused for line in lines) > 0.9 * sum(line.cases for line in lines)
