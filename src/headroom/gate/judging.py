"""The verdict on each row of a comparison, corrected for their number.

Runs of one block are a pair: the logarithms of the ratios of pairs are judged by signed ranks.
The order within a block is random, so under equality each difference has a random sign, whatever
the machine does: the test is exact for noise that drifts, has two modes or remembers the past.
Runs that are not paired are judged by their two intervals (square roots of sums of squares on the
logarithmic scale; Zou and Donner, 2008), and the p-value is that of Student's t with the smaller
number of degrees of freedom.

A row is *better* or *worse* if the difference is significant at 5% for all rows together (Holm,
1979) and may be as large as the zone of *the same*; *the same* if its 95% interval lies within the
zone; else *undecided*. Holm's method needs no assumption on how metrics depend on each other, and
controls the probability of any false difference; a false discovery rate would tolerate some in
every large comparison.

Invariant: exchanging base and other turns ratios upside down and verdicts round.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from headroom.analysis.results import ComparisonVerdict, Estimate
from headroom.analysis.statistics.intervals import CONFIDENCE, t_quantile
from headroom.analysis.statistics.signed_ranks import (
    fewest_pairs,
    signed_rank_interval,
    signed_rank_p,
)
from headroom.analysis.statistics.two_samples import ratio_within_pairs
from headroom.analysis.statistics.versus import Side, pairs_of
from headroom.analysis.verdicts.level_comparison import ComparedPoint, zone_of
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Column, Direction, Metric
from headroom.gate.result import Row

LEVEL = 0.05
"""Probability that any row of a comparison without differences shows one."""
MOST_BLOCKS = 100_000
"""Above this no number of blocks is named: the ratio is practically at the bound."""
_SIDES: Mapping[Direction, tuple[ComparisonVerdict, ComparisonVerdict]] = {
    "high": ("better", "worse"), "low": ("worse", "better"), "none": ("larger", "smaller"),
}  # fmt: skip


def row_of_points(
    base: ComparedPoint, other: ComparedPoint, metric: Metric, *, column: Column, like: Row
) -> Row:
    """Return the row of a metric at two points: by blocks if the runs were interleaved.

    Parameters
    ----------
    base, other
        The points.
    metric, column
        What is compared, and whether it was measured.
    like
        The row with its names; the figures are filled in.
    """
    above, below = other.samples.get(metric.name), base.samples.get(metric.name)
    if above is None or below is None:
        return msgspec.structs.replace(like, doubt="missing")
    if above.is_unbounded or below.is_unbounded:
        return msgspec.structs.replace(like, doubt="unbounded")
    sides = [
        Side(sample=sample, metric=metric.name, column=column, runs=point.runs)
        for sample, point in ((above, other), (below, base))
    ]
    pairs = pairs_of(sides)
    if pairs is not None:
        return row_of_pairs(pairs[0], pairs[1], like=like)
    estimates = (point.result.estimates.get(metric.name) for point in (base, other))
    return row_of_estimates(*estimates, like=like)


def row_of_pairs(other: FloatArray, base: FloatArray, *, like: Row) -> Row:
    """Return the row of paired values.

    Parameters
    ----------
    other, base
        Shape (blocks,), one value of each in every block.
    like
        The row with its names.

    Examples
    --------
    >>> like = Row(arm="B", base="A", metric="wall_s", unit="s", better="low")
    >>> old = np.array([1.0, 1.1, 1.2, 1.0, 1.1, 1.3, 1.2, 1.0])
    >>> found = row_of_pairs(old * [1.5, 1.6, 1.5, 1.4, 1.5, 1.6, 1.5, 1.4], old, like=like)
    >>> round(found.ratio, 2), round(found.p_value, 3)
    (1.5, 0.008)
    """
    filled = msgspec.structs.replace(
        like,
        value=float(np.median(other)),
        base_value=float(np.median(base)),
        pairs=int(other.size),
        count=int(other.size),
    )
    if min(float(other.min()), float(base.min())) <= 0.0:
        return _by_differences(filled, other - base)
    ratio = ratio_within_pairs(other, base)
    if ratio.low is None:
        return msgspec.structs.replace(filled, ratio=ratio.value, doubt="few_runs")
    return msgspec.structs.replace(
        filled,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        p_value=signed_rank_p(np.log(other / base)),
    )


def _by_differences(row: Row, gaps: FloatArray) -> Row:
    """Return a row of values that may be zero: equal if all differences are zero."""
    if not gaps.any():
        return msgspec.structs.replace(row, ratio=1.0, low=1.0, high=1.0, p_value=1.0)
    found = signed_rank_interval(gaps)
    p_value = None if found.low is None else signed_rank_p(gaps)
    return msgspec.structs.replace(row, p_value=p_value, doubt="not_positive")


def row_of_estimates(base: Estimate | None, other: Estimate | None, *, like: Row) -> Row:
    """Return the row of two estimates that are not paired.

    Examples
    --------
    >>> like = Row(arm="new", base="old", metric="wall_s", unit="s", better="low")
    >>> sides = [Estimate(metric="wall_s", unit="s", better="low", count=10, value=value,
    ...     low=0.98 * value, high=1.02 * value, method="student-t", centre="mean", mean=value,
    ...     median=value, stdev=0.0, minimum=value, maximum=value) for value in (1.0, 1.1)]
    >>> found = row_of_estimates(*sides, like=like)
    >>> round(found.ratio, 3), round(found.low, 3), round(found.high, 3), found.p_value < 0.001
    (1.1, 1.069, 1.132, True)
    """
    if base is None or other is None:
        return msgspec.structs.replace(like, doubt="missing")
    filled = msgspec.structs.replace(
        like, value=other.value, base_value=base.value, count=min(base.count, other.count)
    )
    if max(base.count, other.count) <= 1:
        return msgspec.structs.replace(filled, doubt="single_runs")
    if base == other or (base.value == other.value == base.stdev == other.stdev == 0.0):
        # The same bits, or zero in every run: nothing changed.
        return msgspec.structs.replace(filled, ratio=1.0, low=1.0, high=1.0, p_value=1.0)
    if base.low is None or base.high is None or other.low is None or other.high is None:
        return msgspec.structs.replace(filled, doubt="few_runs")
    if min(base.low, other.low, base.value, other.value) <= 0.0:
        return msgspec.structs.replace(filled, doubt="not_positive")
    centre = math.log(other.value / base.value)
    down = math.hypot(math.log(other.value / other.low), math.log(base.high / base.value))
    up = math.hypot(math.log(other.high / other.value), math.log(base.value / base.low))
    return msgspec.structs.replace(
        filled,
        ratio=math.exp(centre),
        low=math.exp(centre - down),
        high=math.exp(centre + up),
        p_value=_p_of_interval(centre, down if centre > 0.0 else up, degrees=filled.count - 1),
    )


def _p_of_interval(centre: float, reach: float, *, degrees: int) -> float:
    """Return the p-value of zero from the end of a 95% interval on the side of zero."""
    if centre == 0.0:
        return 1.0
    if reach == 0.0:
        return 0.0
    from scipy.special import stdtr  # noqa: PLC0415 - few comparisons need it

    degrees = max(degrees, 1)
    deviation = abs(centre) / reach * t_quantile(degrees=degrees, confidence=CONFIDENCE)
    return 2.0 * float(stdtr(degrees, -deviation))


def judged(rows: Sequence[Row], *, same_within: float) -> list[Row]:
    """Return rows with their corrected p-values and verdicts.

    Examples
    --------
    >>> rows = [Row(arm="B", base="A", metric="wall_s", unit="s", better="low", count=20, pairs=20,
    ...     ratio=ratio, low=ratio - 0.03, high=ratio + 0.03, p_value=p)
    ...     for ratio, p in ((1.2, 0.0001), (1.04, 0.03), (1.0, 0.9))]
    >>> [(round(row.adjusted, 4), row.verdict) for row in judged(rows, same_within=0.05)]
    [(0.0003, 'worse'), (0.06, 'undecided'), (0.9, 'same')]
    """
    adjusted = holm([row.p_value for row in rows])
    return [_judged(row, p_value, same_within) for row, p_value in zip(rows, adjusted, strict=True)]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected for their number by Holm's method; those that are None stay so.

    Examples
    --------
    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    found: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p_value, place) in enumerate(order):
        largest = max(largest, min((len(order) - rank) * p_value, 1.0))
        found[place] = largest
    return found


def _judged(row: Row, adjusted: float | None, same_within: float) -> Row:
    verdict = _verdict(row, adjusted, same_within)
    is_open = verdict == "undecided" and not row.doubt
    return msgspec.structs.replace(
        row,
        adjusted=adjusted,
        verdict=verdict,
        doubt=row.doubt if verdict == "undecided" and row.doubt else "open" if is_open else "",
        needed=needed_blocks(row, same_within) if verdict == "undecided" else None,
    )


def _verdict(row: Row, adjusted: float | None, same_within: float) -> ComparisonVerdict:
    lowest, highest = zone_of(same_within)
    if row.low is not None and row.high is not None and lowest <= row.low <= row.high <= highest:
        return "same"
    if adjusted is None or adjusted > LEVEL:
        return "undecided"
    is_above = (row.value or 0.0) > (row.base_value or 0.0) if row.ratio is None else row.ratio > 1
    return _SIDES[row.better][0 if is_above else 1]


def needed_blocks(row: Row, same_within: float) -> int | None:
    """Return the number of blocks, or runs of each, that would probably decide a row.

    The interval shrinks with the square root of their number. It has to exclude 1, or to lie in the
    zone of the same, whichever is nearer.

    Examples
    --------
    >>> row = Row(arm="B", base="A", metric="wall_s", unit="s", better="low", count=20, pairs=20,
    ...     ratio=1.03, low=0.99, high=1.07, p_value=0.2)
    >>> needed_blocks(row, 0.02), needed_blocks(row, 0.10)
    (35, 20)
    """
    if row.doubt == "few_runs":
        return fewest_pairs() if row.pairs else None
    if row.ratio is None or row.low is None or row.high is None or row.low <= 0.0:
        return None
    centre = abs(math.log(row.ratio))
    reach = math.log(row.high / row.low) / 2.0
    distance = max(centre, math.log1p(same_within) - centre)
    needed = math.ceil(row.count * (reach / distance) ** 2) if distance > 0.0 else MOST_BLOCKS
    return max(needed, row.count) if needed < MOST_BLOCKS else None
