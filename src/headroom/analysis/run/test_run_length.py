"""Run length: which runs are too short and why, and that the advised length would pass."""

import pytest

from headroom.analysis.run.batches import ENOUGH_BURSTS, FEWEST_BURSTS
from headroom.analysis.run.run_length import (
    HEAVY_TAIL,
    Doubt,
    doubtful,
    run_length,
)
from headroom.analysis.run.windows import Window, open_window
from headroom.analysis.statistics.spread import Spread
from headroom.experiment.protocol.run import Run
from tests.support.example_runs import mm1_run

CALM = {"response_s_mean": Spread(1.0, 20, 0.3), "response_s_p99": Spread(1.0, 20, 0.5, bursts=9.0)}


def windows(count: int, *, jobs: int = 2_000) -> list[Window]:
    """Return the whole runs of a queue, about 1.25 s for each job."""
    found = [
        open_window(mm1_run(load=0.8, jobs=jobs, seed=seed), cut_s=0.0) for seed in range(count)
    ]
    return [window for window in found if window is not None]


def test_runs_with_enough_bursts_are_long_enough_whatever_their_correlation_times() -> None:
    """Cause: a central server that hardly varies was called short at 60 correlation times."""
    length = run_length(windows(1), CALM, correlation_s=500.0, warm_up_s=30.0)
    assert length is not None
    assert length.times_in_all == pytest.approx(length.times_in_a_run)
    assert length.times_in_all < 10
    assert (length.is_short, length.metrics) == (False, [])


@pytest.mark.parametrize("count", [1, 5])
def test_a_short_run_names_its_metrics_and_its_advice_would_do(count: int) -> None:
    few = {**CALM, "response_s_p99": Spread(1.0, 20, 0.5, bursts=ENOUGH_BURSTS / 3.0)}
    length = run_length(windows(count), few, correlation_s=10.0, warm_up_s=0.0)
    assert length is not None
    assert (length.is_short, length.metrics) == (True, ["response_s_p99"])
    assert (length.heavy, length.runs) == ([], count)
    assert 3.0 * 0.9 <= length.completions_needed / 2_000 <= 3.0 * 1.3


def test_few_bursts_make_only_the_response_times_doubtful_that_rest_on_them() -> None:
    """A percentile rests on the bursts beyond it; the mean on those beyond its p95, of fewer."""
    spreads = {
        "class.slow.response_s_mean": Spread(1.0, 7, 0.3),
        "class.slow.response_s_p95": Spread(1.0, 7, 0.8, bursts=ENOUGH_BURSTS / 1.25),
        "class.slow.response_s_p99": Spread(1.0, 7, 0.8, bursts=ENOUGH_BURSTS / 8.0),
        "class.slow.throughput": Spread(1.0, 7, 2.0),
        "station.cpu.response_s_p95": Spread(1.0, 7, 2.0, bursts=1.0),
        **CALM,
    }
    assert doubtful(spreads) == {
        "class.slow.response_s_p95": Doubt(1.25),
        "class.slow.response_s_p99": Doubt(8.0),
    }
    spreads["class.slow.response_s_p95"] = Spread(1.0, 7, 0.8, bursts=FEWEST_BURSTS / 2.0)
    assert doubtful(spreads)["class.slow.response_s_mean"] == Doubt(2.0)


def test_a_skewed_estimate_is_no_reason_for_doubt() -> None:
    """Cause: of sound runs at load 0.9 those were called short that had seen the longest burst."""
    skewed = Spread(1.0, 7, 2.0)
    plenty = Spread(1.0, 7, 2.0, bursts=50.0, tail_index=6.0)
    assert doubtful({"response_s_mean": skewed, "response_s_p95": plenty}) == {}


def test_a_heavy_tail_is_named() -> None:
    tail = Spread(1.0, 20, 0.5, bursts=90.0, tail_index=HEAVY_TAIL - 0.5)
    length = run_length(windows(5), {"response_s_p95": tail}, correlation_s=10.0, warm_up_s=0.0)
    assert length is not None
    assert length.metrics == length.heavy == ["response_s_p95"]


def test_without_correlation_time_or_tables_nothing_is_said() -> None:
    assert run_length(windows(1), CALM, correlation_s=0.0, warm_up_s=0.0) is None
    assert run_length([], CALM, correlation_s=1.0, warm_up_s=0.0) is None
    bare = Window(run=Run(), first=-1, start_s=0.0, end_s=1.0)
    assert run_length([bare], CALM, correlation_s=1.0, warm_up_s=0.0) is None
