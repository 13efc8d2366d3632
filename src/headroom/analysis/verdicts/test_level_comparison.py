"""Comparison with a base level: verdicts, blocks, and messages for undecidable cases."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from headroom.analysis.evidence import ComparisonEvidence, NoComparison, NoInterval, RunOrder
from headroom.analysis.results import LevelComparison, LevelsCompared, PointResult
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.statistics.pairing import RunOfPoint
from headroom.analysis.verdicts.level_comparison import (
    ComparedPoint,
    Question,
    compare_levels,
)
from headroom.experiment.protocol.system import Column, Metric, Value
from headroom.experiment.study.study import Compare

RESPONSE = Metric(name="response_s_p99", unit="s", better="low")
RATE = Metric(name="throughput", unit="1/s", better="high")
DEPTH = Metric(name="queue_depth", unit="1")
ERRORS = Metric(name="error_count", unit="1", better="low")


def point(
    levels: Mapping[str, Value],
    values: Mapping[str, Sequence[float]],
    *,
    start: int = 0,
    step: int = 10,
    column: Column = Column.MEASURE,
) -> ComparedPoint:
    """Return a point whose replication n started `step` seconds after the one before."""
    count = len(next(iter(values.values())))
    runs = [
        RunOfPoint(
            replication=n,
            started_at=f"2026-01-01T{start + step * n:08d}",
            values={name: found[n] for name, found in values.items()},
        )
        for n in range(count)
    ]
    centre = "median" if column is Column.MEASURE else "mean"
    return ComparedPoint(
        result=PointResult(key=str(levels), levels=dict(levels), done=count, failed=0),
        samples={
            name: Sample(values=np.array(found), centre=centre)  # type: ignore[arg-type]
            for name, found in values.items()
        },
        runs=runs,
    )


def compared(
    *points: ComparedPoint,
    metrics: Sequence[Metric] = (RESPONSE,),
    same_within: float = 0.05,
    column: Column = Column.MEASURE,
    base: Value = "disk",
) -> LevelsCompared:
    compare = Compare(factor="target", base=base, same_within=same_within)
    question = Question(
        compare=compare, metrics=metrics, column=column, moving=frozenset({"target"})
    )
    return compare_levels(points, question)


def only(found: LevelsCompared) -> LevelComparison:
    (row,) = found.rows
    return row


def noisy(centre: float, *, count: int = 8, half: float = 0.01) -> list[float]:
    return list(centre * (1.0 + half * np.sin(np.arange(count) * 2.4)))


@pytest.mark.parametrize(
    ("metric", "value", "verdict"),
    [
        (RESPONSE, 2.0, "worse"), (RESPONSE, 0.5, "better"), (RESPONSE, 1.0, "same"),
        (RATE, 2.0, "better"), (RATE, 0.5, "worse"), (DEPTH, 2.0, "larger"),
        (DEPTH, 0.5, "smaller"), (RESPONSE, 1.05, "undecided"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("column", Column)
def test_the_verdict_follows_the_interval_and_the_direction(
    metric: Metric, value: float, verdict: str, column: Column
) -> None:
    random = np.random.default_rng(4)
    base = {metric.name: list(1.0 + 0.005 * random.normal(size=12))}
    other = {metric.name: list(value * (1.0 + 0.005 * random.normal(size=12)))}
    row = only(
        compared(
            point({"target": "disk"}, base, column=column),
            point({"target": "ram"}, other, start=1, column=column),
            metrics=[metric],
            column=column,
        )
    )
    assert row.verdict == verdict
    assert row.ratio == pytest.approx(value, rel=0.02)
    assert (row.level, row.count, row.base_count) == ("ram", 12, 12)


def test_exchanging_level_and_base_turns_ratio_shift_and_verdict_round() -> None:
    disk = point({"target": "disk"}, {"response_s_p99": noisy(3.0, half=0.2)})
    ram = point({"target": "ram"}, {"response_s_p99": noisy(1.0, half=0.3)}, start=1)
    there, back = only(compared(disk, ram)), only(compared(disk, ram, base="ram"))
    assert (there.verdict, back.verdict) == ("better", "worse")
    assert there.ratio is not None
    assert back.ratio == pytest.approx(1.0 / there.ratio)
    assert there.low is not None
    assert back.high == pytest.approx(1.0 / there.low)
    assert back.shift == pytest.approx(-(there.shift or 0.0))
    assert (there.cliffs_delta, back.cliffs_delta) == (-1.0, 1.0)
    assert there.effect == "large"


def test_blocks_take_a_drift_of_the_machine_out_of_the_ratio() -> None:
    drift = np.linspace(1.0, 5.0, 10)
    disk = point({"target": "disk"}, {"response_s_p99": list(2.0 * drift)})
    ram = point({"target": "ram"}, {"response_s_p99": list(1.8 * drift)}, start=1)
    comparison = compared(disk, ram)
    row = only(comparison)
    assert (row.pairs, row.verdict) == (10, "better")
    assert (row.low, row.high) == pytest.approx((0.9, 0.9))
    assert comparison.order == RunOrder(code="interleaved", intact=10, blocks=10)
    assert row.evidence == ComparisonEvidence(code="beyond")


def test_levels_that_ran_one_after_the_other_are_not_paired_and_that_is_said() -> None:
    disk = point({"target": "disk"}, {"response_s_p99": noisy(2.0)})
    ram = point({"target": "ram"}, {"response_s_p99": noisy(1.0)}, start=1000)
    comparison = compared(disk, ram)
    assert only(comparison).pairs == 0
    assert only(comparison).verdict == "better"
    assert comparison.order == RunOrder(code="apart", intact=0, blocks=8)


def test_one_replication_made_good_later_costs_one_pair_only() -> None:
    disk = point({"target": "disk"}, {"response_s_p99": noisy(2.0, count=10)})
    ram = point({"target": "ram"}, {"response_s_p99": noisy(1.0, count=10)}, start=1)
    late = RunOfPoint(replication=3, started_at="2026-01-02", values=ram.runs[3].values)
    moved = [late if run.replication == 3 else run for run in ram.runs]
    comparison = compared(disk, ComparedPoint(result=ram.result, samples=ram.samples, runs=moved))
    assert only(comparison).pairs == 9
    assert comparison.order == RunOrder(code="interleaved", intact=9, blocks=10)


def test_three_runs_can_never_decide_and_several_metrics_need_more() -> None:
    few = {"response_s_p99": [1.0, 1.1, 0.9]}
    many = {"response_s_p99": [9.0, 9.1, 8.9]}
    row = only(compared(point({"target": "disk"}, few), point({"target": "ram"}, many, start=1)))
    assert row.verdict == "undecided"
    assert row.evidence.code == "few_runs"
    assert row.evidence.reason == NoInterval(code="few_pairs", count=3, needed=6)
    both = {"response_s_p99": noisy(1.0, count=6), "throughput": noisy(1.0, count=6)}
    comparison = compared(
        point({"target": "disk"}, both),
        point({"target": "ram"}, both, start=1),
        metrics=[RESPONSE, RATE],
    )
    assert comparison.confidence == pytest.approx(0.975)
    assert {one.evidence.code for one in comparison.rows} == {"few_runs"}
    assert all(
        one.evidence.reason == NoInterval(code="few_pairs", count=6, needed=7)
        for one in comparison.rows
    )


def test_each_combination_of_the_other_factors_has_its_own_base() -> None:
    points = [
        point({"target": t, "size": s}, {"response_s_p99": noisy(v)}, start=k)
        for k, (t, s, v) in enumerate(
            [("disk", 4, 1.0), ("ram", 4, 0.5), ("disk", 64, 2.0), ("ram", 64, 4.0)]
        )
    ]
    comparison = compared(*points)
    assert [(row.where["size"], row.verdict) for row in comparison.rows] == [
        (4, "better"), (64, "worse"),
    ]  # fmt: skip


def test_zeros_have_no_ratio_but_a_verdict_where_both_have_only_zeros() -> None:
    nothing, some = {"error_count": [0.0] * 8}, {"error_count": [1.0] * 8}
    disk = point({"target": "disk"}, nothing)
    same = only(compared(disk, point({"target": "ram"}, nothing, start=1), metrics=[ERRORS]))
    assert (same.verdict, same.ratio) == ("same", None)
    worse = only(compared(disk, point({"target": "ram"}, some, start=1), metrics=[ERRORS]))
    assert (worse.verdict, worse.ratio, worse.shift) == ("worse", None, 1.0)
    assert same.evidence == ComparisonEvidence(code="both_zero")
    assert worse.evidence == ComparisonEvidence(code="beyond", by_differences=True)


def test_a_base_that_was_not_run_is_told() -> None:
    comparison = compared(point({"target": "ram"}, {"response_s_p99": noisy(1.0)}))
    assert (comparison.rows, comparison.why_empty) == ([], NoComparison(code="base_not_run"))
