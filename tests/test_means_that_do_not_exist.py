"""A queue whose services have no variance, from the front: no mean, percentiles, no warning."""

import warnings

import pytest

import headroom as hr
from headroom.api.results import Sweep
from headroom.simulation import Model, exponential, pareto


def heavy() -> Model:
    model = Model("heavy", time_unit="ms")
    visit = model.program("visit")
    visit.use(model.station("desk"), pareto(1, shape=1.5))
    model.open_class("visitors", visit, interarrival=exponential(6))
    return model


@pytest.fixture(scope="module")
def result() -> Sweep:
    return hr.simulate(heavy, completions=40_000, replications=6, seed=2, progress=False)


def test_a_run_has_percentiles_and_no_mean_response(result: Sweep) -> None:
    """Cause: "86 ms (32 to 190)" was printed for a mean that is infinite."""
    found = result.at()
    assert found["response_s_p95"].value > 0.003
    assert found["throughput"].value == pytest.approx(1000 / 6, rel=0.03)
    assert found["station.desk.utilization"].value == pytest.approx(0.5, rel=0.3)
    for metric in ("response_s_mean", "jobs_mean", "station.desk.wait_s_mean"):
        assert metric not in found.metrics
    assert "mean response does not exist" in " ".join(result.summary().split())


def test_what_if_says_so_and_compares_what_exists() -> None:
    found = hr.what_if(
        heavy, "station.desk.speed=x2", completions=20_000, replications=3, progress=False
    )
    assert "mean response does not exist" in " ".join(found.summary().split())
    change = found["station.desk.speed=x2"]
    assert change["response_s_p95"].ratio < 0.6
    assert "response_s_mean" not in change


def test_formulas_say_so_without_a_warning_of_a_library() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = hr.solve(heavy)
    assert found["throughput"] == pytest.approx(1000 / 6)
    assert "response_s_mean" not in {row["metric"] for row in found.to_rows()}
    simulated = found.points[0].simulated["response_s_p50"]
    assert 0.001 < simulated.low < simulated.value < simulated.high < 0.05
    assert "mean response does not exist" in " ".join(found.summary().split())
    assert "station.desk.queue_len_mean" not in found.forecast.values
