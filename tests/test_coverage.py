"""The 95 % interval covers the truth in 92 to 98 % of 400 experiments: a fixed-seed version.

The benchmark (`make bench PART=coverage`) measures all models and settings; this holds two that
docs/reference promises, at 50,000 completions, and the hardest, a load of 0.9. An interval with a
true coverage of 95 % covers 380 of 400 with a standard deviation of 4.4, so 368 to 392 (92 to
98 %) is 2.7 of them to either side; one of 90 % would pass with a probability of about 10 %, one
of 88 % of 1 %. The seeds are fixed, so the answer does not change from run to run.
"""

import pytest

from benches.coverage import EXPERIMENTS, Row, Setting, load, outcomes, row
from benches.coverage_models import Known, central_server, heavy_tail, mm1

ONE_LONG_RUN = Setting(replications=1, completions=50_000)


@pytest.mark.parametrize(
    ("known", "most_bias"),
    [(mm1(0.8), 0.005), (mm1(0.9), 0.02), (central_server(), 0.005)],
    ids=lambda value: value.name if isinstance(value, Known) else "",
)
def test_a_single_run_of_50_000_completions_covers_the_truth_as_often_as_it_says(
    known: Known, most_bias: float
) -> None:
    found = outcomes(known, ONE_LONG_RUN, range(EXPERIMENTS))
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


def promised() -> list[Row]:
    """Return the stored lines for which 92 to 98 % is promised: means, 50,000 completions."""
    settings = {"1 x 50,000", "5 x 10,000"}
    return [
        one for one in load() if one.setting in settings and one.metric[-3:] not in {"p95", "p99"}
    ]


def test_the_stored_means_at_50_000_completions_cover_as_promised() -> None:
    lines = promised()
    assert len({one.model for one in lines}) >= 10
    assert [one for one in lines if not 0.92 <= one.coverage <= 0.98] == []
