"""How wide the intervals of an experiment are, relative to their values.

If no job waits, a queue of 0.001 jobs is known well enough at 0.001 +/- 0.002, though its
relative width is 200%: dividing by a value that is nothing says nothing. So a number of jobs is
judged against one job at least, a share against a hundredth, a wait against the response time that
it is a part of. Times and rates of a system at work are never near zero.

Invariant: restates `Estimate`; a threshold decides about words only.
"""

from statistics import median

from headroom.analysis.answer.design import setting_of
from headroom.analysis.answer.numbers import bounded
from headroom.analysis.answer_evidence import Sureness
from headroom.analysis.results import Estimate, ExperimentResult, PointResult

VAGUE = 2.0
"""Reach of an interval, as a share of its value, from which a percentage no longer tells it."""

_SHARES = ("_ratio", "utilization", "utilization_max")
"""Ends of the metrics that are shares."""
_LEAST_SHARE = 0.01
"""Share below which an interval is judged against this one."""


def sureness_of(experiment: ExperimentResult) -> Sureness | None:
    """Return the typical and the widest interval of the responses; None if there is none."""
    found = [
        (reach, estimate, point)
        for point in experiment.points
        for metric in experiment.responses
        if (estimate := point.estimates.get(metric)) and (reach := _reach(estimate, point))
    ]
    if not found:
        return None
    (below, above), estimate, point = max(
        found, key=lambda row: (sum(row[0]), row[2].key, row[1].metric)
    )
    return Sureness(
        runs=max(one.count for _, one, _ in found),
        typical=median(sum(reach) / 2.0 for reach, _, _ in found),
        worst_below=below,
        worst_above=above,
        metric=estimate.metric,
        levels=setting_of(experiment, point),
        is_prediction=estimate.margin is not None,
        widest=bounded(estimate),
        count=len(found),
        vague=sum(max(reach) > VAGUE for reach, _, _ in found),
    )


def _reach(estimate: Estimate, point: PointResult) -> tuple[float, float] | None:
    """Return how far an interval reaches below and above its value, as shares of its size."""
    if estimate.low is None or estimate.high is None:
        return None
    size = _size(estimate, point)
    if not size:
        return None
    return (estimate.value - estimate.low) / size, (estimate.high - estimate.value) / size


def _size(estimate: Estimate, point: PointResult) -> float:
    """Return the reference value of an interval; 0 if there is none."""
    size = abs(estimate.value)
    if estimate.unit == "1":
        is_share = estimate.metric.endswith(_SHARES)
        return max(size, _LEAST_SHARE if is_share else 1.0)
    if estimate.metric.endswith("wait_s_mean"):
        response = point.estimates.get("response_s_mean")
        return max(size, response.value if response else 0.0)
    return size
