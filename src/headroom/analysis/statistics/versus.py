"""Compare one metric at two points: the ratio, and its place relative to given bounds.

Every comparison of replications uses this module, so that one question has one answer:
`[experiment.compare]`, and claims about a ratio, an order, a curve or an agreement. The methods
are:

- *Pairs* (measured runs of one block, or runs of one seed of which one was measured): the
  logarithms of the ratios of pairs, by signed ranks.
- *Simulated*: the ratio of the means by Fieller's method. Signed ranks are not used, even if both
  points have the same seeds. The mean of a short run of a queue is skewed, so the typical ratio of
  two runs differs from the ratio of the means, and more pairs narrow the interval around the wrong
  value.
- *Measured separately*: the quotient of both medians, with an interval from both intervals.

A ratio is meaningless if a value is zero or negative. Then differences decide: the ratio is above r
if first - r * second is surely above zero.

Invariant: exchanging the points turns the ratio upside down and the place round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from headroom.analysis.evidence import NoInterval
from headroom.analysis.statistics.comparison import FEWEST_PAIRS, paired_ratio
from headroom.analysis.statistics.dispersion import SPREADS, statistic_ratio
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval, Sample, contrast
from headroom.analysis.statistics.pairing import RunOfPoint, block_pairs, is_interleaved, seed_pairs
from headroom.analysis.statistics.signed_ranks import signed_rank_interval
from headroom.analysis.statistics.two_samples import ratio_within_pairs
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.study import Statistic

Place: TypeAlias = Literal["inside", "above", "below", "unclear"]
"""Where a ratio lies: surely inside of a region, above or below it, or neither."""
INFINITY = float("inf")
NO_RATIO = NoInterval(code="not_positive")
"""The ratio has no meaning, so differences decide."""
_CENTRES = ("centre", "median")
"""Statistics of measured runs that pairs estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One metric at one point.

    Parameters
    ----------
    sample
        Its replications, and what they say together.
    metric
        Its name.
    column
        Whether it was measured.
    runs
        The replications one by one; empty if they cannot be paired.
    """

    sample: Sample
    metric: str
    column: Column
    runs: Sequence[RunOfPoint] = ()

    @property
    def is_measured(self) -> bool:
        """True for the column of real systems."""
        return self.column is Column.MEASURE


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Where the ratio of two points lies; `ratio.value` is not a number if there is none."""

    place: Place
    ratio: Interval
    reason: NoInterval | None = None


def judge(
    above: Side,
    below: Side,
    *,
    low: float = -INFINITY,
    high: float = INFINITY,
    statistic: Statistic = "centre",
    confidence: float = CONFIDENCE,
) -> Judgement:
    """Return where ``above / below`` lies: inside of ``low`` to ``high``, above, below, or unclear.

    Examples
    --------
    >>> disk, ram = (Side(sample=Sample(values=np.array(values)), metric="wall_s",
    ...     column=Column.MODEL) for values in ([4.0, 4.1, 3.9], [2.0, 2.1, 1.9]))
    >>> judge(disk, ram, low=0.95, high=1.05).place
    'above'
    """
    if statistic not in SPREADS and not has_ratio(above, below):
        return _judge_by_differences(above, below, low, high, confidence)
    ratio = ratio_of(above, below, statistic=statistic, confidence=confidence)
    return Judgement(place=place_of(ratio, low=low, high=high), ratio=ratio, reason=ratio.reason)


def place_of(found: Interval, *, low: float, high: float) -> Place:
    """Return where an interval lies.

    Examples
    --------
    >>> sure = Interval(value=1.0, low=0.9, high=1.1, method="student-t")
    >>> place_of(sure, low=0.5, high=2.0), place_of(sure, low=1.0, high=2.0)
    ('inside', 'unclear')
    """
    if found.low is None or found.high is None:
        return "unclear"
    if low <= found.low and found.high <= high:
        return "inside"
    if found.low > high:
        return "above"
    return "below" if found.high < low else "unclear"


def has_ratio(above: Side, below: Side) -> bool:
    """Return whether a ratio means something: of measured values all, of simulated the mean."""
    return all(
        side.sample.values.min() > 0.0 if side.is_measured else side.sample.value != 0.0
        for side in (above, below)
    )


def ratio_of(
    above: Side, below: Side, *, statistic: Statistic = "centre", confidence: float = CONFIDENCE
) -> Interval:
    """Return ``above / below`` with its interval, by the strongest method that is right here."""
    pairs = pairs_of([above, below])
    if pairs is not None and statistic in _CENTRES and pairs.min() > 0.0:
        return ratio_within_pairs(pairs[0], pairs[1], confidence=confidence)
    if pairs is not None and statistic == "mean" and pairs.shape[1] >= FEWEST_PAIRS:
        return paired_ratio(pairs[0], pairs[1], confidence=confidence).interval
    return statistic_ratio(above.sample, below.sample, statistic, confidence=confidence)


def _judge_by_differences(
    above: Side, below: Side, low: float, high: float, confidence: float
) -> Judgement:
    """Judge by the sign of ``above - bound * below`` at both bounds of the region."""
    ratio = Interval(value=float("nan"), low=None, high=None, method="none", reason=NO_RATIO)
    over = _excess(above, below, high, confidence)
    under = _excess(above, below, low, confidence)
    short = over.reason or under.reason
    if short:
        return Judgement(place="unclear", ratio=ratio, reason=short)
    place: Place = "unclear"
    if _least(over) > 0.0:
        place = "above"
    elif _most(under) < 0.0:
        place = "below"
    elif _most(over) <= 0.0 and _least(under) >= 0.0:
        place = "inside"
    return Judgement(place=place, ratio=ratio, reason=NO_RATIO)


def _excess(above: Side, below: Side, factor: float, confidence: float) -> Interval:
    """Return ``above - factor * below``, of a negative `below` so that more is more."""
    if abs(factor) == INFINITY:
        return Interval(value=-factor, low=-factor, high=-factor, method="none")
    pairs = pairs_of([above, below])
    if pairs is not None:
        gaps = pairs[0] - pairs[1] - (factor - 1.0) * np.abs(pairs[1])
        return signed_rank_interval(gaps, confidence=confidence)
    sign = 1.0 if below.sample.value >= 0.0 else -1.0
    weights = [1.0, -1.0 - sign * (factor - 1.0)]
    return contrast([above.sample, below.sample], weights, confidence=confidence)


def _least(found: Interval) -> float:
    return found.value if found.low is None else found.low


def _most(found: Interval) -> float:
    return found.value if found.high is None else found.high


def contrast_of(
    sides: Sequence[Side], weights: Sequence[float], *, confidence: float = CONFIDENCE
) -> Interval:
    """Return the weighted sum of a metric at several points, block by block if there are blocks."""
    pairs = pairs_of(sides)
    if pairs is not None:
        return signed_rank_interval(np.asarray(weights) @ pairs, confidence=confidence)
    return contrast([side.sample for side in sides], weights, confidence=confidence)


def pairs_of(sides: Sequence[Side]) -> FloatArray | None:
    """Return the values of runs that belong together, shape (sides, n); None if none are paired.

    Parameters
    ----------
    sides
        Two points or more. Simulated ones are never paired with each other, nor is a point
        whose metric grows without bound.
    """
    first, *others = sides
    if any(side.sample.is_unbounded for side in sides):
        return None
    if not others or not any(side.is_measured for side in sides):
        return None
    rows: list[tuple[int, ...]] = [(place,) for place in range(len(first.runs))]
    for other in others:
        partners = _partners(first, other)
        if partners is None:
            return None
        rows = [(*row, partners[row[0]]) for row in rows if row[0] in partners]
    values = [
        [side.runs[place].values.get(side.metric) for side, place in zip(sides, row, strict=True)]
        for row in rows
    ]
    known = [row for row in values if None not in row]
    return np.array(known, dtype=np.float64).T if known else None


def _partners(first: Side, other: Side) -> dict[int, int] | None:
    """Return which run of `other` belongs to which of `first`, None if most have no partner."""
    blocks = min(len(first.runs), len(other.runs))
    pairs = seed_pairs(first.runs, other.runs)
    if not pairs and first.is_measured and other.is_measured:
        pairs = block_pairs(first.runs, other.runs)
    return dict(pairs) if is_interleaved(len(pairs), blocks) else None
