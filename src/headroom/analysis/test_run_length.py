"""Run length: what is called short, and that the advice would pass the check."""

import pytest

from headroom.analysis.run_length import TIMES_IN_A_RUN, TIMES_IN_ALL, run_length
from headroom.analysis.test_example_runs import mm1_run
from headroom.analysis.windows import Window, open_window
from headroom.experiment.run import Run


def windows(count: int, *, jobs: int = 2_000) -> list[Window]:
    """Return the whole runs of a queue, about 1.25 s for each job."""
    found = [
        open_window(mm1_run(load=0.8, jobs=jobs, seed=seed), cut_s=0.0) for seed in range(count)
    ]
    return [window for window in found if window is not None]


def test_a_run_of_many_correlation_times_is_long_enough() -> None:
    found = run_length(windows(1), correlation_s=10.0, warm_up_s=30.0)
    assert found is not None
    assert found.times_in_all == pytest.approx(found.times_in_a_run)
    assert (found.is_short, found.note) == (False, "")


@pytest.mark.parametrize("count", [1, 5])
def test_a_short_run_says_so_and_its_advice_would_do(count: int) -> None:
    kept = windows(count)
    correlation_s = 3.0 * sum(window.length_s for window in kept) / TIMES_IN_ALL
    found = run_length(kept, correlation_s=correlation_s, warm_up_s=0.0)
    assert found is not None
    assert found.is_short
    assert f"run at least {found.completions_needed:,} completions" in found.note
    assert ("in each" in found.note) == (count > 1)
    longer = found.completions_needed / 2_000
    assert longer * found.times_in_all >= TIMES_IN_ALL
    assert longer * found.times_in_a_run >= TIMES_IN_A_RUN
    assert longer < 1.3 * max(3.0, TIMES_IN_A_RUN / found.times_in_a_run)


def test_many_runs_that_are_short_each_are_short_together() -> None:
    kept = windows(60, jobs=200)
    correlation_s = 1.5 * min(window.length_s for window in kept) / TIMES_IN_A_RUN
    found = run_length(kept, correlation_s=correlation_s, warm_up_s=0.0)
    assert found is not None
    assert found.times_in_all > TIMES_IN_ALL
    assert found.is_short


def test_without_correlation_time_or_tables_nothing_is_said() -> None:
    assert run_length(windows(1), correlation_s=0.0, warm_up_s=0.0) is None
    assert run_length([], correlation_s=1.0, warm_up_s=0.0) is None
    bare = Window(run=Run(), first=-1, start_s=0.0, end_s=1.0)
    assert run_length([bare], correlation_s=1.0, warm_up_s=0.0) is None
