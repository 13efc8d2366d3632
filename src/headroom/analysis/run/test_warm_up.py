"""Warm-up: MSER against its definition, invariances, known steps, one cut per point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.analysis.evidence import WarmUpEvidence
from headroom.analysis.run.warm_up import (
    PICTURE_POINTS,
    AveragedSeries,
    average_over_replications,
    choose_cut,
    mser,
)
from headroom.experiment.protocol.run import FloatArray, Run, Series
from headroom.experiment.study.study import WarmUp
from tests.support.example_runs import mm1_run, series_runs

values_of_a_series = st.lists(st.integers(-1000, 1000).map(float), min_size=10, max_size=60).map(
    np.array
)
MSER5 = WarmUp(method="mser5")


def mser_by_definition(values: FloatArray) -> tuple[int, float]:
    """Return the first minimum of z(d) in O(n^2), as White (1997) writes it."""
    count = values.size
    spreads = [
        float(np.sum((values[d:] - values[d:].mean()) ** 2)) / (count - d) ** 2
        for d in range(count // 2 + 1)
    ]
    return int(np.argmin(spreads)), min(spreads)


@given(values_of_a_series)
def test_mser_finds_the_minimum_of_its_definition(values: FloatArray) -> None:
    dropped = mser(values).dropped
    _, least = mser_by_definition(values)
    kept = values[dropped:]
    spread = float(np.sum((kept - kept.mean()) ** 2)) / kept.size**2
    assert spread == pytest.approx(least, rel=1e-9, abs=1e-9)


@pytest.mark.deep
@given(values_of_a_series, st.sampled_from([2.0**-20, 0.5, 4.0, 2.0**30]), st.booleans())
def test_mser_does_not_depend_on_unit_or_sign(
    values: FloatArray,
    scale: float,
    is_mirrored: bool,  # noqa: FBT001
) -> None:
    sign = -1.0 if is_mirrored else 1.0
    assert mser(sign * scale * values) == mser(values)


@given(st.integers(0, 2**32 - 1))
def test_mser_keeps_its_choice_when_the_mean_is_large_against_the_spread(seed: int) -> None:
    """Suffix sums of squares would cancel here if the data were not centred first."""
    values = np.random.default_rng(seed).normal(size=200)
    values[:30] += 20.0
    assert mser(values + 1e6).dropped == mser(values).dropped


@given(st.integers(1, 90), st.floats(5.0, 1e4), st.integers(0, 2**32 - 1))
def test_mser_cuts_a_step_and_then_only_what_steadies_the_mean(
    step: int, height: float, seed: int
) -> None:
    """A step of 5 deviations or more goes whole; what else goes, by the definition of MSER."""
    values = np.random.default_rng(seed).uniform(-1.0, 1.0, 200)
    values[:step] += height
    dropped = mser(values).dropped
    assert dropped >= step
    variances = {d: np.var(values[d:]) / (200 - d) for d in range(step, 101)}
    assert variances[dropped] <= 1.001 * min(variances.values())


def test_a_constant_series_needs_no_cut() -> None:
    assert mser(np.full(50, 0.1)) == mser(np.full(51, 1e9))
    assert mser(np.full(50, 0.1)).dropped == 0


@pytest.mark.parametrize("values", [np.arange(100.0), np.sqrt(np.arange(100.0))])
def test_a_series_that_still_drifts_has_no_steady_state(values: FloatArray) -> None:
    assert not mser(values).is_steady


def test_a_point_without_a_steady_state_says_so_and_names_the_metric() -> None:
    cut = choose_cut(MSER5, series_runs([np.arange(400.0)]))
    assert cut is not None
    assert not cut.is_steady
    assert cut.evidence == WarmUpEvidence(code="still_settles", run_s=400.0, metric="response_s")


def test_too_few_observations_are_no_steady_state_either() -> None:
    cut = choose_cut(MSER5, series_runs([np.ones(49)]))
    assert cut is not None
    assert not cut.is_steady
    assert cut.evidence == WarmUpEvidence(code="few_completions", run_s=49.0, needed=50)


def test_one_cut_serves_all_replications_of_a_point() -> None:
    """The step lies at 40 s in one replication and at 60 s in the other."""
    random = np.random.default_rng(3)
    runs = series_runs([random.normal(1.0, 0.1, 1000), random.normal(1.0, 0.1, 1000)])
    runs[0].series[0].values[:40] += 10.0
    runs[1].series[0].values[:60] += 10.0
    cut = choose_cut(MSER5, runs)
    assert cut is not None
    assert 60.0 <= cut.cut_s <= 80.0


def test_the_cut_is_late_enough_for_the_slowest_replication() -> None:
    values = np.ones(200)
    values[:50] = 9.0
    ends_s = np.arange(1.0, 201.0)
    runs = [
        Run(series=(Series(metric="response_s", values=values, end_times_s=speed * ends_s),))
        for speed in (1.0, 3.0)
    ]
    cut = choose_cut(MSER5, runs)
    assert cut is not None
    assert cut.cut_s == 150.0


def test_the_slowest_class_settles_the_cut_of_the_point() -> None:
    ends_s = np.arange(1.0, 301.0)
    quick, slow = np.ones(300), np.ones(300)
    quick[:10], slow[:100] = 5.0, 5.0
    series = tuple(
        Series(metric=f"class.{name}.response_s", values=values, end_times_s=ends_s)
        for name, values in (("quick", quick), ("slow", slow))
    )
    cut = choose_cut(MSER5, [Run(series=series)])
    assert cut is not None
    assert (cut.cut_s, cut.metric) == (100.0, "class.slow.response_s")


@given(st.integers(1, 4), st.integers(1, 4), st.integers(20, 80))
def test_batches_of_different_size_average_as_their_observations_would(
    first: int, second: int, count: int
) -> None:
    """Oracle: merged batches are means of observations, truncated to the shortest."""
    random = np.random.default_rng(count)
    raw = [random.normal(size=count * size) for size in (first, second)]
    batched = [
        Series(
            metric="response_s",
            values=one.reshape(-1, size).mean(axis=1),
            batch_size=size,
            end_times_s=np.arange(size, one.size + 1.0, size),
        )
        for one, size in zip(raw, (first, second), strict=True)
    ]
    average = average_over_replications(batched)
    assert isinstance(average, AveragedSeries)
    size = average.batch_size
    length = min(one.size for one in raw) // size
    expected = [one[: length * size].reshape(-1, size).mean(axis=1) for one in raw]
    assert average.values == pytest.approx(np.mean(expected, axis=0))
    assert average.end_times_s == pytest.approx(np.arange(1.0, length + 1.0) * size)


def test_a_fixed_cut_is_taken_as_it_stands_and_must_end_before_the_run() -> None:
    runs = series_runs([np.ones(100)])
    kept = choose_cut(WarmUp(method="fixed", seconds=30.0), runs)
    assert kept is not None
    assert (kept.cut_s, kept.is_steady) == (30.0, True)
    eaten = choose_cut(WarmUp(method="fixed", seconds=100.0), runs)
    assert eaten is not None
    assert not eaten.is_steady
    assert eaten.evidence == WarmUpEvidence(code="too_long", run_s=100.0, cut_s=100.0)


def test_a_class_with_few_completions_is_left_out_and_does_not_refuse_the_point() -> None:
    ends_s = np.arange(1.0, 301.0)
    readers, writers = (
        Series(metric=f"class.{name}.response_s", values=np.ones(n), end_times_s=ends_s[:n])
        for name, n in (("readers", 300), ("writers", 49))
    )
    cut = choose_cut(MSER5, [Run(series=(readers, writers))])
    assert cut is not None
    assert (cut.is_steady, cut.classes_left_out) == (True, ["writers"])
    assert cut.evidence == WarmUpEvidence(code="rare_classes", needed=50, classes=("writers",))


def test_no_cut_still_shows_the_picture() -> None:
    cut = choose_cut(WarmUp(method="none"), series_runs([np.arange(1000.0)]))
    assert cut is not None
    assert (cut.cut_s, cut.is_steady) == (0.0, True)
    assert len(cut.values) == len(cut.times_s) == PICTURE_POINTS


def test_runs_without_clock_and_series_have_no_warm_up() -> None:
    assert choose_cut(MSER5, [Run(values={"wall_s": 1.0})]) is None
    assert choose_cut(MSER5, []) is None


def test_the_empty_start_of_a_queue_is_cut_early_in_a_long_run() -> None:
    """M/M/1 at load 0.8: the relaxation time is 90 service times, the run has 12,500."""
    runs = [mm1_run(load=0.8, jobs=10_000, seed=seed) for seed in range(5)]
    cut = choose_cut(MSER5, runs)
    assert cut is not None
    assert cut.is_steady
    assert cut.cut_s < 0.25 * cut.run_s
