"""Moments, extremes and high percentiles of measured runs: against the observations themselves."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.analysis.point import summarise
from headroom.analysis.run.distributions import Bins, kept_bins
from headroom.analysis.run.windows import Window, open_window
from headroom.analysis.run.within_run import mean_deviation, moments, observed_values
from headroom.experiment.journal.run_codec import decode_run, encode_run
from headroom.experiment.protocol.observed_metrics import observed_metrics, percent_name
from headroom.experiment.protocol.run import FloatArray, Histogram, Run, SegmentTotals
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.study import WarmUp
from tests.support.example_plan import ExampleStudy

WIDTH_S = 1e-5


def counted(metric: str, segments: list[FloatArray], *, is_exact: bool = True) -> Histogram:
    """Return the histogram of observations, one list per second of the run."""
    places = [np.floor(values / WIDTH_S).astype(int) for values in segments]
    used = np.unique(np.concatenate(places))
    counts = np.array([[np.count_nonzero(place == one) for one in used] for place in places])
    totals = SegmentTotals(
        sums=np.array([values.sum() for values in segments]),
        square_sums=np.array([(values**2).sum() for values in segments]),
        minima=np.array([values.min(initial=np.inf) for values in segments]),
        maxima=np.array([values.max(initial=-np.inf) for values in segments]),
    )
    return Histogram(
        metric=metric,
        bin_low=used * WIDTH_S,
        bin_high=(used + 1) * WIDTH_S,
        counts=counts,
        segment_end_times_s=np.arange(1.0, len(segments) + 1.0),
        totals=totals if is_exact else None,
    )


def window_of(*histograms: Histogram, cut_s: float = 0.0) -> Window:
    found = open_window(Run(histograms=histograms), cut_s=cut_s)
    assert found is not None
    return found


def values_of(*histograms: Histogram, cut_s: float = 0.0) -> dict[str, float]:
    window = window_of(*histograms, cut_s=cut_s)
    return observed_values(window, kept_bins(window))


@given(
    st.lists(st.lists(st.floats(1e-5, 1e-2), min_size=1, max_size=30), min_size=1, max_size=4),
    st.integers(0, 2),
)
@settings(max_examples=60, deadline=None)
def test_exact_totals_give_the_moments_of_the_kept_observations(
    lists: list[list[float]], cut: int
) -> None:
    segments = [np.array(one) for one in lists]
    kept = np.concatenate(segments[min(cut, len(segments) - 1) :])
    values = values_of(counted("service_s", segments), cut_s=min(cut, len(segments) - 1))
    assert values["service_s_mean"] == pytest.approx(kept.mean())
    assert (values["service_s_min"], values["service_s_max"]) == (kept.min(), kept.max())
    if kept.size > 1:
        error = 1e-7 * kept.max()
        assert values["service_s_stdev"] == pytest.approx(kept.std(ddof=1), rel=1e-6, abs=error)
    deviation = np.abs(kept - kept.mean()).mean()
    assert values["service_s_mean_deviation"] == pytest.approx(deviation, abs=WIDTH_S)


@given(st.lists(st.floats(1e-5, 1e-2), min_size=2, max_size=60))
@settings(max_examples=40, deadline=None)
def test_percentiles_rise_and_stay_within_what_was_observed(values: list[float]) -> None:
    found = values_of(counted("service_s", [np.array(values)]))
    rising = [found[f"service_s_{percent_name(p)}"] for p in (50, 90, 95, 99, 99.9, 99.99)]
    assert all(low <= high for low, high in itertools.pairwise(rising))
    assert min(values) <= rising[0]
    assert rising[-1] <= max(values)


def test_without_exact_totals_moments_come_from_the_bins_and_extremes_are_absent() -> None:
    values = np.random.default_rng(1).gamma(2.0, 1e-3, 5000)
    found = values_of(counted("service_s", [values], is_exact=False))
    assert found["service_s_mean"] == pytest.approx(values.mean(), abs=WIDTH_S)
    assert found["service_s_stdev"] == pytest.approx(values.std(ddof=1), rel=1e-3)
    assert "service_s_max" not in found


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), min_size=1, max_size=12),
    st.integers(1, 60),
)
def test_moments_of_bins_scale_with_the_unit(pairs: list[tuple[int, int]], factor: int) -> None:
    counts = dict(pairs)
    low = np.array(sorted(counts), dtype=float)
    plain = Bins(low, low + 1.0, np.array([float(counts[int(one)]) for one in low]))
    scaled = Bins(factor * plain.low, factor * plain.high, plain.counts)
    assert mean_deviation(scaled) == pytest.approx(factor * mean_deviation(plain))
    assert moments(scaled) == pytest.approx(tuple(factor * moment for moment in moments(plain)))
    assert mean_deviation(plain) <= moments(plain)[1] * np.sqrt(1.0 + 1e-9) + 1e-12


def test_classes_together_have_the_totals_of_all_observations() -> None:
    random = np.random.default_rng(2)
    reads, writes = random.exponential(1e-3, 400), random.exponential(3e-3, 100)
    values = values_of(
        counted("class.read.service_s", [reads]), counted("class.write.service_s", [writes])
    )
    both = np.concatenate([reads, writes])
    assert values["service_s_mean"] == pytest.approx(both.mean())
    assert values["service_s_max"] == both.max()
    assert values["class.read.service_s_stdev"] == pytest.approx(reads.std(ddof=1))


def measured(sizes: list[int]) -> list[Run]:
    random = np.random.default_rng(3)
    return [
        Run(histograms=(counted("response_s", [random.exponential(1e-3, size)]),)) for size in sizes
    ]


@pytest.mark.parametrize(
    ("sizes", "last"), [([1000, 2000], "p99"), ([999, 2000], "p95"), ([10_000, 10_000], "p99_9")]
)
def test_a_percentile_needs_ten_observations_beyond_it_in_every_run(
    sizes: list[int], last: str
) -> None:
    study = ExampleStudy(column=Column.MEASURE, warm_up=WarmUp(method="none"))
    summary = summarise(study.plan().experiments[0], measured(sizes))
    names = [metric.name for metric in observed_metrics("response_s")]
    told = [name for name in names if name in summary.samples]
    assert told == names[: names.index(f"response_s_{last}") + 1]
    assert set(summary.absent) == set(names) - set(told)
    assert summary.absent[names[-1]].found == min(sizes)


def test_simulated_runs_keep_the_percentiles_that_they_had() -> None:
    study = ExampleStudy(column=Column.MODEL, warm_up=WarmUp(method="none"))
    summary = summarise(study.plan().experiments[0], measured([100, 100]))
    assert [name for name in summary.samples if "_p" in name] == [
        "response_s_p50", "response_s_p95", "response_s_p99",
    ]  # fmt: skip
    assert [*summary.absent] == ["response_s_p99_9"]


def test_totals_survive_the_journal_and_runs_without_them_keep_their_bytes() -> None:
    segments = [np.array([1e-3, 2e-3]), np.array([])]
    exact = counted("service_s", segments)
    assert exact.totals is not None
    decoded = decode_run(encode_run(Run(histograms=(exact,)))).histograms[0].totals
    assert decoded is not None
    for name in ("sums", "square_sums", "minima", "maxima"):
        assert getattr(decoded, name).tolist() == getattr(exact.totals, name).tolist()
    plain = decode_run(
        encode_run(Run(histograms=(counted("service_s", segments, is_exact=False),)))
    )
    assert plain.histograms[0].totals is None
