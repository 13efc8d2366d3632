"""Precision of an experiment in one sentence: its typical and its widest interval.

Invariant: restates the intervals of `Estimate`; no threshold of its own decides.
"""

from statistics import median

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.quantities import MINUS, is_share
from headroom.report.numbers import is_lopsided
from headroom.report.sentences.numbers import capital
from headroom.report.sentences.runs import stopping_words
from headroom.report.words import label_metric, label_point

_NUMBERS_OF_JOBS = ("queue_len_mean", "jobs_mean")
_WHOLE = 0.995
"""Share from which two digits in per cent would be written with an exponent."""


def sureness_sentences(experiment: ExperimentResult) -> list[str]:
    """Return how wide the intervals of the responses are, or that there are none."""
    found = [
        (estimate, size, label_point(point, experiment.factors))
        for point in experiment.points
        for metric in experiment.responses
        if (estimate := point.estimates.get(metric)) and (size := _size(estimate, point))
    ]
    widths = [_half_width(estimate) / size for estimate, size, _ in found]
    if not widths:
        has_figures = any(point.estimates for point in experiment.points)
        return ["No interval: too few replications."] if has_figures else []
    _, (estimate, size, where) = max(
        zip(widths, found, strict=True), key=lambda pair: (pair[0], pair[1][2], pair[1][0].metric)
    )
    stopping = experiment.replications
    rule = f" {capital(stopping_words(stopping))}." if stopping else ""
    kind = "prediction intervals" if estimate.margin is not None else "intervals"
    return [
        f"The 95% {kind} are typically ±{_percent(median(widths))} of the value, at worst "
        f"{_extent(estimate, size)} ({label_metric(estimate.metric)} at {where}).{rule}"
    ]


def _half_width(estimate: Estimate) -> float:
    low, high = _ends(estimate)
    return (high - low) / 2.0


def _ends(estimate: Estimate) -> tuple[float, float]:
    if estimate.low is None or estimate.high is None:
        raise AssertionError(f"{estimate.metric} has no interval")
    return estimate.low, estimate.high


def _extent(estimate: Estimate, size: float) -> str:
    """Return how far an interval reaches from its value, as shares of `size`."""
    low, high = _ends(estimate)
    if is_lopsided(estimate.value, low, high):
        below, above = (estimate.value - low) / size, (high - estimate.value) / size
        return f"{MINUS}{_percent(below)} to +{_percent(above)}"
    return f"±{_percent(_half_width(estimate) / size)}"


def _size(estimate: Estimate, point: PointResult) -> float:
    """Return the reference value of an interval; 0 if there is none.

    It is the value, unless that may be near zero in good health.

    Where nobody waits, a queue of 0.001 jobs is known well enough at 0.001 +/- 0.002, though its
    relative width is 200%: dividing by a value that is nothing says nothing. So a share is
    judged against its whole, a number of jobs against one job, a wait against the response time
    that it is a part of. Times and rates of a system at work are never near zero.
    """
    if estimate.low is None or estimate.high is None:
        return 0.0
    size = abs(estimate.value)
    is_bounded = is_share(estimate.metric) or estimate.metric.endswith(_NUMBERS_OF_JOBS)
    if is_bounded and estimate.unit == "1":
        return max(size, 1.0)
    if estimate.metric.endswith("wait_s_mean"):
        response = point.estimates.get("response_s_mean")
        return max(size, response.value if response else 0.0)
    return size


def _percent(share: float) -> str:
    return f"{share * 100.0:.2g}%" if share < _WHOLE else f"{share * 100.0:,.0f}%"
