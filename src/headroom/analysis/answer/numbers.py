"""Estimates and ratios as the answer states them.

Invariant: a gain is above one where the metric is better, whichever direction that is.
"""

from typing import Literal, TypeAlias

from headroom.analysis.answer_evidence import Bounded
from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.analysis.statistics.intervals import Interval, quotient

NEAR_ONE = 0.02
"""Distance from one within which a ratio is no gain."""
Better: TypeAlias = Literal["high", "low", "none"]


def bounded(estimate: Estimate) -> Bounded:
    """Return an estimate with its interval."""
    return Bounded(
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        metric=estimate.metric,
        unit=estimate.unit,
    )


def ratio_of(above: Estimate | Bounded, below: Estimate | Bounded) -> Bounded:
    """Return ``above / below`` of two points, with an interval from both of theirs."""
    found = quotient(_interval(above), _interval(below))
    return Bounded(value=found.value, low=found.low, high=found.high)


def _interval(estimate: Estimate | Bounded) -> Interval:
    return Interval(value=estimate.value, low=estimate.low, high=estimate.high, method="none")


def gain(ratio: Bounded, better: Better) -> Bounded:
    """Return a ratio turned so that above one is better.

    Examples
    --------
    >>> gain(Bounded(value=0.5, low=0.4, high=0.625), "low")
    Bounded(value=2.0, low=1.6, high=2.5, metric='', unit='1')

    A ratio that may be zero is a gain without an upper end:

    >>> gain(Bounded(value=0.0, low=-0.1, high=0.25), "low")
    Bounded(value=4.0, low=4.0, high=None, metric='', unit='1')
    """
    if better != "low":
        return ratio
    has_interval = ratio.low is not None and ratio.high is not None and ratio.high > 0.0
    low = 1.0 / ratio.high if has_interval and ratio.high else None
    high = 1.0 / ratio.low if low and ratio.low is not None and ratio.low > 0.0 else None
    value = 1.0 / ratio.value if ratio.value > 0.0 else low or 1.0
    return Bounded(value=value, low=low, high=high)


def is_above_one(ratio: Bounded) -> bool:
    """Return whether a whole interval is above one."""
    return ratio.low is not None and ratio.low > 1.0


def is_gain(ratio: Bounded) -> bool:
    """Return whether an interval is above one, and not all of it within 2% of one."""
    return is_above_one(ratio) and (ratio.high is None or ratio.high > 1.0 + NEAR_ONE)


def is_no_gain(ratio: Bounded) -> bool:
    """Return whether an interval ends within 2% above one, or below."""
    return ratio.high is not None and ratio.high <= 1.0 + NEAR_ONE


_GOODPUT = {"throughput": "goodput"}


def goals_of(experiment: ExperimentResult) -> list[tuple[str, Better]]:
    """Return the responses that some point has, with their directions, in the order to show.

    Where jobs are late, the throughput that is meant is the goodput.
    """
    found: dict[str, Better] = {}
    is_late = any(one.is_late for point in experiment.points for one in point.outcomes)
    for response in experiment.responses:
        metric = _GOODPUT.get(response, response) if is_late else response
        for point in experiment.points:
            if metric in point.estimates:
                found[metric] = point.estimates[metric].better
                break
    return list(found.items())


def main_metric(experiment: ExperimentResult) -> str:
    """Return the response that the experiment is about: the first one with a direction."""
    goals = goals_of(experiment)
    return next((name for name, better in goals if better != "none"), goals[0][0] if goals else "")


def has_results(point: PointResult) -> bool:
    """Return whether a point has estimates, or is known to be saturated."""
    return bool(point.estimates) or point.saturation is not None
