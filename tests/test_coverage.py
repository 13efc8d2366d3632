"""The 95% interval covers the truth in 92 to 98% of 400 experiments: a fixed-seed version.

The benchmark (`make bench PART=coverage`) measures all models and settings; this test checks two
promised by docs/reference, at 50,000 completions, and the hardest, a load of 0.9. An interval with
a true coverage of 95% covers 380 of 400 with a standard deviation of 4.4, so 368 to 392 (92 to 98%)
is 2.7 of them to either side; one of 90% would pass with a probability of about 10%, one of 88% of
1%. The seeds are fixed, so the answer does not change from run to run.
"""

from statistics import median

import pytest

from benches.coverage import EXPERIMENTS, Row, Setting, load, outcomes, row
from benches.coverage_models import Known, central_server, heavy_tail, mm1

pytestmark = pytest.mark.deep

ONE_LONG_RUN = Setting(replications=1, completions=50_000)
NUMBERS = range(-30_000, EXPERIMENTS - 30_000)
"""Experiments with other seeds than those of the published table."""


@pytest.mark.parametrize(
    ("known", "most_bias"),
    [(mm1(0.8), 0.005), (mm1(0.9), 0.02), (central_server(), 0.005)],
    ids=lambda value: value.name if isinstance(value, Known) else "",
)
def test_a_single_run_of_50_000_completions_covers_the_truth_as_often_as_it_says(
    known: Known, most_bias: float
) -> None:
    found = outcomes(known, ONE_LONG_RUN, NUMBERS)
    for metric in ("response_s_mean", "throughput"):
        truth = known.truths[metric]
        assert truth is not None
        line = row(model=known.name, setting=ONE_LONG_RUN.name, metric=metric, truth=truth,
                   source="exact", found=found)  # fmt: skip
        assert line.without == 0
        assert 0.92 <= line.coverage <= 0.98, line
        assert abs(line.bias) < most_bias, line


def test_a_heavy_tail_is_seen_also_by_runs_that_miss_its_largest_services() -> None:
    """Cause: by the skewness of the estimate, half of the runs with lognormal services were warned.

    Those that were not, because the largest service had not come, covered in 87 of 100 cases.
    """
    numbers, setting = range(12), Setting(replications=5, completions=10_000)
    heavy = [short for _, short in outcomes(heavy_tail(0.5), setting, numbers)]
    assert sum("response_s_mean" in short for short in heavy) >= 10
    assert [short for _, short in outcomes(mm1(0.5), setting, numbers) if short] == []


def stored(setting: str, ending: str) -> list[Row]:
    """Return the stored lines of response times of a setting, except for heavy tails."""
    return [
        one
        for one in load()
        if one.setting == setting
        and one.metric.endswith(f"response_s_{ending}")
        and "lognormal" not in one.model
    ]


@pytest.mark.parametrize("ending", ["mean", "p95", "p99"])
def test_the_stored_intervals_of_long_runs_are_as_right_and_as_narrow_as_promised(
    ending: str,
) -> None:
    lines = stored("5 x 50,000", ending)
    assert len({line.model for line in lines}) >= 10
    assert [line for line in lines if not 0.92 <= line.coverage <= 0.985] == []
    assert 0.94 <= median(line.coverage for line in lines) <= 0.97
    assert median(line.efficiency for line in lines) <= 1.3
    assert max(line.efficiency for line in lines) <= 1.5


def test_the_warning_is_more_often_right_than_wrong() -> None:
    """Lines that cover less than 92% should be called short, the others not."""
    judged = [one for one in load() if "response_s" in one.metric and one.metric[-3:] != "9_9"]
    called = {
        is_sound: sum(line.short for line in lines) / sum(line.experiments for line in lines)
        for is_sound in (True, False)
        if (lines := [one for one in judged if (one.coverage >= 0.92) == is_sound])
    }
    assert called[False] > 0.5
    assert called[True] < 0.2
