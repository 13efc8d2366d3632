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
    rows = {"station.s0.throughput", "station.s0.utilization"}
    assert set(found) == {"throughput", "response_s_p50", "response_s_p95", *rows}
    assert short_run(model)[0] == found
    assert found["throughput"].value == pytest.approx(0.5, rel=0.02)


def test_stations_and_pools_have_rows_and_a_token_serves_while_it_is_held() -> None:
    """Oracle: M/M/1 of load 0.5: a token is held for the service alone, after the wait for it."""
    model = Model("gate", time_unit="s")
    program, gate = model.program("visit"), model.pool("gate", tokens=1)
    with program.holding(gate):
        program.use(model.station("s"), exponential(1))
    model.open_class("jobs", program, interarrival=exponential(2))
    found = {name: one.value for name, one in short_run(model)[0].items()}
    assert found["pool.gate.service_s_mean"] == pytest.approx(1.0, rel=0.02)
    assert found["pool.gate.wait_s_mean"] == pytest.approx(1.0, rel=0.05)
    assert found["pool.gate.utilization"] == pytest.approx(found["station.s.utilization"])
