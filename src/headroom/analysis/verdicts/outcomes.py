"""What became of the work of a point: how much was offered, done in time, and lost to which cause.

Every job ends in one way: completed, rejected for want of room, abandoned for want of patience, or
failed with its last try; a completed one may be late. What is still inside has not ended, and the
shares are those of what has. A load generator that counts failed requests says the same words.

Invariant: nothing is said where nothing was lost or late.
"""

from collections.abc import Iterable, Mapping

from headroom.analysis.evidence import LossCause, LostShare, Outcome
from headroom.analysis.results import Estimate

_CAUSES: dict[str, LossCause] = {
    "reject_ratio": "rejected",
    "abandon_ratio": "abandoned",
    "fail_ratio": "failed",
    "late_ratio": "late",
}


def outcomes_of(estimates: Mapping[str, Estimate], classes: Iterable[str]) -> list[Outcome]:
    """Return what became of all work, then of each of several classes; empty if all was done.

    Parameters
    ----------
    estimates
        Those of a point, by metric.
    classes
        Names of its classes.
    """
    whole = _outcome(estimates, "")
    names = list(classes)
    if whole is None or len(names) < 2:  # noqa: PLR2004 - one class is all
        return [] if whole is None else [whole]
    found = [_outcome(estimates, name) for name in names]
    return [whole, *(one for one in found if one is not None)]


def _outcome(estimates: Mapping[str, Estimate], name: str) -> Outcome | None:
    prefix = f"class.{name}." if name else ""

    def value(metric: str) -> float | None:
        found = estimates.get(prefix + metric)
        return None if found is None else found.value

    lost = [
        LostShare(cause=cause, share=one.value, low=one.low, high=one.high)
        for metric, cause in (*_CAUSES.items(), ("lost_ratio", "lost"))
        if (one := estimates.get(prefix + metric)) is not None and one.value > 0.0
    ]
    if any(one.cause in {"rejected", "abandoned", "failed"} for one in lost):
        lost = [one for one in lost if one.cause != "lost"]  # It is their sum.
    done, count = value("throughput"), value("error_count")
    if done is None or not (lost or count):
        return None
    share = sum(one.share for one in lost if one.cause != "late")
    offered, goodput = value("offered"), value("goodput")
    return Outcome(
        name=name,
        offered=done / max(1.0 - share, 1e-9) if offered is None else offered,
        goodput=done if goodput is None else goodput,
        is_late=any(one.cause == "late" for one in lost),
        lost=sorted(lost, key=lambda one: -one.share),
        count=count,
    )
