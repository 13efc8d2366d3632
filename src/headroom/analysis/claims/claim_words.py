"""The figures of a claim as words: one unit, and the digits that the intervals support."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from headroom.analysis.results import Verdict
from headroom.analysis.statistics.intervals import Interval, Sample, difference
from headroom.quantities import (
    format_bounds,
    format_given,
    format_level,
    format_quantity,
    format_ratio,
    half_width_of,
)

LEVELS_LISTED = 4
"""A curve of more levels is told by its ends and its weakest step."""
INFINITY = float("inf")
WITHOUT_BOUND = "without bound"
"""A figure of a saturated point that grows as long as the run lasts."""
STATISTIC_WORDS = {
    "centre": "centre",
    "mean": "mean",
    "median": "median",
    "stdev": "standard deviation",
    "mean_deviation": "mean deviation",
    "minimum": "smallest",
    "maximum": "largest",
}


@dataclass(frozen=True, slots=True)
class Region:
    """What a claim allows: all numbers from `low` to `high`, both included."""

    low: float = -INFINITY
    high: float = INFINITY


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How the figures of a claim are written.

    Parameters
    ----------
    unit
        Base unit of the figures.
    metric
        Metric that they belong to; shares are written in per cent.
    is_ratio
        Whether they say how many times something is.

    Examples
    --------
    >>> sure = Interval(value=0.2, low=0.19, high=0.21, method="student-t")
    >>> Words(unit="s").found(sure), Words(unit="1", metric="utilization").found(sure)
    ('200 ms (190 to 210)', '20.0 % (19.0 to 21.0)')
    """

    unit: str
    metric: str = ""
    is_ratio: bool = False

    def found(self, interval: Interval) -> str:
        """Return a figure of ours with its interval."""
        if abs(interval.value) == INFINITY:
            return WITHOUT_BOUND
        if self.is_ratio:
            return format_ratio(interval.value, interval.low, interval.high)
        return format_bounds(
            interval.value, interval.low, interval.high, self.unit, metric=self.metric
        )

    def shortly(self, interval: Interval) -> str:
        """Return a figure of ours in the digits that its interval supports."""
        if abs(interval.value) == INFINITY:
            return WITHOUT_BOUND
        half_width = half_width_of(interval.low, interval.high)
        return format_quantity(interval.value, self.unit, half_width=half_width, metric=self.metric)

    def given(self, value: float) -> str:
        """Return a number of the study file."""
        return format_given(value, self.unit, metric=self.metric)

    def at(self, sample: Sample, level: object) -> str:
        """Return the value of a sample at a level of the factor."""
        return f"{self.shortly(sample.interval())} at {format_level(level)}"

    def allowed(self, region: Region) -> str:
        """Return what a claim allows."""
        if region.high == INFINITY:
            return f"at least {self.given(region.low)}"
        if region.low == -INFINITY:
            return f"at most {self.given(region.high)}"
        return f"within {self.given(region.low)} and {self.given(region.high)}"

    def reason(self, verdict: Verdict, region: Region) -> str:
        """Return why a verdict about one interval is what it is."""
        allowed = self.allowed(region)
        return {
            "holds": f"the whole interval is {allowed}",
            "differs": f"no part of the interval is {allowed}",
            "undecided": f"only a part of the interval is {allowed}: more replications narrow it",
        }[verdict]

    def curve(self, samples: Mapping[float, Sample], *, sign: float) -> str:
        """Return a curve in ascending order of levels: whole, or its ends and weakest step.

        Parameters
        ----------
        samples
            Samples by level, two or more.
        sign
            1 where the curve is said to rise, -1 where it is said to fall.
        """
        if len(samples) <= LEVELS_LISTED:
            return ", ".join(self.at(sample, level) for level, sample in samples.items())
        levels = list(samples)
        first, last = (self.at(samples[level], level) for level in (levels[0], levels[-1]))
        low, high = min(
            pairwise(levels),
            key=lambda step: sign * (samples[step[1]].value - samples[step[0]].value),
        )
        ends = (samples[high], samples[low]) if sign > 0.0 else (samples[low], samples[high])
        step = "rise" if sign > 0.0 else "fall"
        return (
            f"{first} to {last} in {len(levels) - 1} steps; smallest {step} "
            f"{self.found(difference(*ends))} from {format_level(low)} to {format_level(high)}"
        )
