"""The levels of a factor against one of them: better, worse, the same, or undecided.

A level is *better* or *worse* where the whole interval of its ratio to the base lies beyond the
zone of what the study calls the same, *the same* where the whole interval lies inside that zone,
and *undecided* otherwise. The zone reaches from 1 / (1 + s) to 1 + s, so that exchanging level and
base turns the verdict round. The m metrics of one comparison get the confidence 1 - 0.05 / m each
(Bonferroni), so that their intervals hold together with 95 %.

Measured runs that were interleaved are paired by their blocks; where they were not, a drift of the
machine would look like a difference, and that is said.

Invariant: more runs never turn a better into a worse without an undecided in between.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headroom.analysis.intervals import CONFIDENCE, Interval, Sample, ratio
from headroom.analysis.results import (
    ComparisonVerdict,
    LevelComparison,
    LevelsCompared,
    PointResult,
)
from headroom.analysis.two_samples import (
    delta_in_words,
    dominance,
    ratio_within_pairs,
    shift_between,
)
from headroom.experiment.run import FloatArray
from headroom.experiment.study import Compare
from headroom.experiment.system import Column, Direction, Metric, Value
from headroom.quantities import format_level, format_limit

_MOSTLY = 0.8
"""Share of blocks that must be intact for the runs to count as interleaved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfPoint:
    """One sound replication of a point: its number, when it started, and its metrics."""

    replication: int
    started_at: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPoint:
    """A point as comparisons see it."""

    result: PointResult
    samples: Mapping[str, Sample]
    runs: Sequence[RunOfPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be compared, and in which column.

    Parameters
    ----------
    compare
        The table of the study file.
    metrics
        Metrics to compare, declared.
    column
        Whether runs were measured.
    moving
        The factor and those that move together with it.
    """

    compare: Compare
    metrics: Sequence[Metric]
    column: Column
    moving: frozenset[str]

    @property
    def confidence(self) -> float:
        """Confidence of each interval, so that those of all metrics hold together."""
        return 1.0 - (1.0 - CONFIDENCE) / max(len(self.metrics), 1)


def compare_levels(points: Sequence[ComparedPoint], question: Question) -> LevelsCompared:
    """Return every level of a factor against its base, in every metric.

    Parameters
    ----------
    points
        All points of the experiment, in the order of the study file.
    question
        What to compare.
    """
    compare = question.compare
    bases = {
        _held(point.result, question): point
        for point in points
        if point.result.levels.get(compare.factor) == compare.base
    }
    rows: list[LevelComparison] = []
    intact = blocks = 0
    for point in points:
        base = bases.get(_held(point.result, question))
        if base is None or base is point:
            continue
        pairing = _pairing(base.runs, point.runs)
        intact, blocks = intact + len(pairing), blocks + min(len(base.runs), len(point.runs))
        rows += _rows(base, point, question, pairing)
    missing = "" if bases else f"{compare.factor} = {format_level(compare.base)} was not run here"
    return LevelsCompared(
        factor=compare.factor,
        base=compare.base,
        same_within=compare.same_within,
        confidence=question.confidence,
        design=_design(question.column, intact, blocks),
        note=missing,
        rows=rows,
    )


def _held(point: PointResult, question: Question) -> tuple[tuple[str, Value], ...]:
    """Return the levels of all factors that do not move with the compared one."""
    return tuple(
        (name, level) for name, level in point.levels.items() if name not in question.moving
    )


def _pairing(base: Sequence[RunOfPoint], other: Sequence[RunOfPoint]) -> list[tuple[int, int]]:
    """Return the places of runs that share a block and stood next to each other in time.

    Of the runs of two interleaved points, those of one block are neighbours; where a level was
    run later, or a failed replication was made good, they are not.
    """
    order = sorted(
        [(run.started_at, run.replication, 0, place) for place, run in enumerate(base)]
        + [(run.started_at, run.replication, 1, place) for place, run in enumerate(other)]
    )
    pairs = []
    for one, next_one in pairwise(order):
        if one[1] == next_one[1] and one[2] != next_one[2]:
            first, second = sorted((one, next_one), key=lambda entry: entry[2])
            pairs.append((first[3], second[3]))
    return pairs


def _is_interleaved(intact: int, blocks: int) -> bool:
    return blocks > 0 and intact >= _MOSTLY * blocks


def _design(column: Column, intact: int, blocks: int) -> str:
    """Return in words how the runs were ordered, and what that means for the ratios."""
    if column is not Column.MEASURE:
        return "Simulated: the order of runs plays no part. Ratios are those of the means."
    if not blocks:
        return "No runs to compare yet."
    if _is_interleaved(intact, blocks):
        whole = f"all {blocks:,}" if intact == blocks else f"{intact:,} of {blocks:,}"
        pairs = "the only pair" if blocks == 1 else f"{whole} pairs"
        return (
            f"The levels were interleaved in randomised blocks ({pairs} of runs "
            "stood side by side). Ratios are medians of the ratios within blocks."
        )
    return (
        f"The levels were not interleaved (only {intact:,} of {blocks:,} pairs of runs stood side "
        "by side): a drift of the machine would look like a difference. Ratios are those of the "
        "medians; run the study anew for blocks."
    )


def _rows(
    base: ComparedPoint,
    point: ComparedPoint,
    question: Question,
    pairing: Sequence[tuple[int, int]],
) -> Iterator[LevelComparison]:
    is_paired = question.column is Column.MEASURE and _is_interleaved(
        len(pairing), min(len(base.runs), len(point.runs))
    )
    for metric in question.metrics:
        pairs = _paired_values(base, point, metric.name, pairing) if is_paired else None
        yield _row(base, point, metric, question, pairs)


def _paired_values(
    base: ComparedPoint, point: ComparedPoint, metric: str, pairing: Sequence[tuple[int, int]]
) -> tuple[FloatArray, FloatArray]:
    """Return the values of the point and of its base, block by block."""
    known = [
        (point.runs[theirs].values[metric], base.runs[ours].values[metric])
        for ours, theirs in pairing
        if metric in point.runs[theirs].values and metric in base.runs[ours].values
    ]
    both = np.array(known, dtype=np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _row(
    base: ComparedPoint,
    point: ComparedPoint,
    metric: Metric,
    question: Question,
    pairs: tuple[FloatArray, FloatArray] | None,
) -> LevelComparison:
    above, below = point.samples.get(metric.name), base.samples.get(metric.name)
    moving = question.compare.factor
    held = {n: v for n, v in point.result.levels.items() if n not in question.moving}
    if above is None or below is None:
        lacking = point if above is None else base
        why = lacking.result.absent.get(metric.name, "no figures")
        return LevelComparison(
            level=point.result.levels[moving], where=held, metric=metric.name, unit=metric.unit,
            better=metric.better, verdict="undecided",
            reason=f"{format_level(lacking.result.levels[moving])}: {why}",
        )  # fmt: skip
    found = _ratio(above, below, pairs, question.confidence)
    shift = shift_between(above.values, below.values, confidence=question.confidence)
    delta, p_value = dominance(above.values, below.values)
    verdict = verdict_of(found, question.compare.same_within, metric.better)
    if _is_nothing(above) and _is_nothing(below):
        verdict = "same"
    has_ratio = found.value == found.value and not _is_nothing(below)
    return LevelComparison(
        level=point.result.levels[moving],
        where=held,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        count=above.count,
        base_count=below.count,
        pairs=0 if pairs is None else int(pairs[0].size),
        value=above.value,
        base_value=below.value,
        ratio=found.value if has_ratio else None,
        low=found.low,
        high=found.high,
        method=found.method,
        shift=shift.value,
        shift_low=shift.low,
        shift_high=shift.high,
        cliffs_delta=delta,
        effect=delta_in_words(delta),
        p_value=p_value,
        verdict=verdict,
        reason=_reason(found, question.compare.same_within, verdict),
    )


def _is_nothing(sample: Sample) -> bool:
    """Return whether a metric was zero in every run: no errors, no lost writes."""
    return not sample.values.any()


def _ratio(
    above: Sample,
    below: Sample,
    pairs: tuple[FloatArray, FloatArray] | None,
    confidence: float,
) -> Interval:
    if _is_nothing(above) and _is_nothing(below):
        return _without_ratio("zero in every run of both")
    if min(above.values.min(), below.values.min()) <= 0.0:
        return _without_ratio("not above zero in every run, so a ratio says nothing: see the shift")
    if pairs is not None and pairs[0].size:
        return ratio_within_pairs(*pairs, confidence=confidence)
    return ratio(above, below, confidence=confidence)


def _without_ratio(note: str) -> Interval:
    return Interval(value=float("nan"), low=None, high=None, method="none", note=note)


def verdict_of(found: Interval, same_within: float, better: Direction) -> ComparisonVerdict:
    """Return the verdict of one ratio by its interval.

    Examples
    --------
    >>> found = Interval(value=2.0, low=1.8, high=2.3, method="order statistics")
    >>> verdict_of(found, 0.05, "high"), verdict_of(found, 0.05, "low"), verdict_of(found, 1, "low")
    ('better', 'worse', 'undecided')
    >>> near = Interval(value=1.0, low=0.98, high=1.01, method="order statistics")
    >>> verdict_of(near, 0.05, "none"), verdict_of(near, 0.001, "none")
    ('same', 'undecided')
    """
    if found.low is None or found.high is None:
        return "undecided"
    lowest, highest = 1.0 / (1.0 + same_within), 1.0 + same_within
    if lowest <= found.low and found.high <= highest:
        return "same"
    if found.low > highest:
        return _SIDES[better][0]
    if found.high < lowest:
        return _SIDES[better][1]
    return "undecided"


_SIDES: Mapping[Direction, tuple[ComparisonVerdict, ComparisonVerdict]] = {
    "high": ("better", "worse"),
    "low": ("worse", "better"),
    "none": ("larger", "smaller"),
}


def _reason(found: Interval, same_within: float, verdict: ComparisonVerdict) -> str:
    if found.note or found.low is None or found.high is None:
        return found.note
    zone = format_limit(same_within)
    if verdict == "same":
        return f"surely within {zone}"
    if verdict != "undecided":
        return f"surely by more than {zone}" if same_within else "surely not equal"
    if found.low > 1.0 or found.high < 1.0:
        side = "larger" if found.low > 1.0 else "smaller"
        return f"surely {side}, but perhaps by no more than {zone}: more runs tell"
    return "the interval holds one and more than the zone of the same: more runs tell"
