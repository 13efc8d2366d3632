"""Evidence of verdicts on points, for synthetic results."""

from headroom.analysis.evidence import LimitEvidence, Limiting, NotLimited, UsedResource


def limit_evidence(name: str, utilization: float, *, limits: bool) -> LimitEvidence:
    """Return the evidence that a station with this utilization limits, or that none does."""
    used = UsedResource(
        kind="station",
        name=name,
        utilization=utilization,
        low=None,
        high=None,
        waiting=10.0 * utilization,
        capacity=4.0,
        is_saturated=limits,
    )
    return Limiting(why="busy", cause=used) if limits else NotLimited(fullest=used, by="think_time")
