"""The short simulation that stands for a refused estimate."""

import pytest

from headroom.report.terminal.solved import SIMULATED_RUNS
from headroom.sessions.short_run import EVENTS, short_run
from headroom.simulation import Model, exponential, pareto


def network(law: object, count: int) -> Model:
    model = Model("row", time_unit="s")
    program = model.program("visit")
    for number in range(count):
        program.use(model.station(f"s{number}"), law)  # type: ignore[arg-type]
    model.open_class("jobs", program, interarrival=exponential(2))
    return model


def test_it_is_bounded_by_events_not_by_completions() -> None:
    """Oracle: Jackson: each of the stations of load 0.5 takes 2 s."""
    found, completions = short_run(network(exponential(1), 60))
    assert completions * 60 * SIMULATED_RUNS < EVENTS < completions * 60 * SIMULATED_RUNS * 3
    response = found["response_s_mean"]
    assert response.low < 120 < response.high
    assert response.high - response.low < 12


def test_it_is_the_same_each_time_and_has_no_mean_where_there_is_none() -> None:
    model = network(pareto(0.5, 1.9), 1)
    found, _ = short_run(model)
    assert set(found) == {"throughput", "response_s_p50", "response_s_p95"}
    assert short_run(model)[0] == found
    assert found["throughput"].value == pytest.approx(0.5, rel=0.02)
