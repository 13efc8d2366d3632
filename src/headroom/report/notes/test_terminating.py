"""Summary of terminating runs whose intervals are known to have too little coverage."""

import math

import pytest
from msgspec.structs import replace

from benches.terminating import load
from headroom.analysis.results import ExperimentResult, PointResult, RunsAnalysed
from headroom.report.notes.terminating import COVERED, analysis_sentences
from tests.support.example_results import estimate

METRIC = "response_s_mean"


def of_runs(*, kind: str, count: int, scatter: float) -> ExperimentResult:
    """Return a point of which the replications differ by `scatter` times their mean."""
    one = replace(
        estimate(METRIC, "s", 2.0), count=count, mean=2.0, stdev=2.0 * scatter, method="student-t"
    )
    point = PointResult(
        key="k", levels={}, done=count, failed=0, estimates={METRIC: one},
        analysed=RunsAnalysed(kind=kind, is_declared=True),  # type: ignore[arg-type]  # of the tests
    )  # fmt: skip
    return ExperimentResult(
        name="day", title="", system="model", column="model", factors=[], responses=[METRIC],
        points=[point],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "count", "scatter", "is_said"),
    [
        ("terminating", 5, 0.4, True),
        ("terminating", 5, 0.1, False),
        ("terminating", 100, 0.4, False),
        ("steady-state", 5, 0.4, False),
    ],
)
def test_widely_scattered_metrics_of_few_runs_have_a_word_on_their_coverage(
    kind: str, count: int, scatter: float, *, is_said: bool
) -> None:
    words = " ".join(analysis_sentences(of_runs(kind=kind, count=count, scatter=scatter)))
    assert ("Mean response time differs much from one replication" in words) is is_said
    assert (f"as few as {count} cover" in words) is is_said


def test_the_words_name_the_least_coverage_that_the_benchmark_measured() -> None:
    assert math.floor(100.0 * min(row.coverage for row in load())) == COVERED
