"""Whether a numeric factor is a resource or a load, read from what its points show.

A resource is what a system has: more servers or tokens. A load is the work that it gets: more
of it raises the throughput, and no time falls for it. Any other factor is a setting.
"""

from collections.abc import Sequence
from itertools import pairwise

from headroom.analysis.results import PointResult


def is_resource(factor: str, points: Sequence[PointResult], *, moves_alone: bool = True) -> bool:
    """Return whether servers, tokens or stations grow with a factor.

    Parameters
    ----------
    factor
        Name of the factor.
    points
        Points of one curve over it.
    moves_alone
        Whether no other factor moves with it: else that one may be the resource.
    """
    if not moves_alone:
        return False
    ordered = sorted(points, key=lambda point: float(point.levels[factor]))
    sizes = [_sizes(point) for point in ordered if point.resources]
    if len(sizes) < 2:  # noqa: PLR2004 - one size does not grow
        return False
    common = set(sizes[0]).intersection(*sizes[1:])
    grown = {name for name in common if sizes[0][name] < sizes[-1][name]}
    falls = any(a[name] > b[name] for name in common for a, b in pairwise(sizes))
    return bool(grown) and not falls


def _sizes(point: PointResult) -> dict[tuple[str, str], float]:
    known = [one for one in point.resources if one.capacity is not None]
    return {(one.kind, one.name): one.capacity or 0.0 for one in known}


def is_load(factor: str, points: Sequence[PointResult]) -> bool:
    """Return whether more of a factor is more work: throughput surely rises, and no time falls.

    Parameters
    ----------
    factor
        Name of the factor.
    points
        Points of one curve over it.
    """
    ordered = sorted(points, key=lambda point: float(point.levels[factor]))
    told = [point for point in ordered if "throughput" in point.estimates]
    if len(told) < 2 or is_resource(factor, points):  # noqa: PLR2004
        return False
    first, last = told[0].estimates, told[-1].estimates
    low, high = last["throughput"].low, first["throughput"].high
    times = [name for name in first if "response_s" in name and name in last]
    falls = any(
        (high_now := last[name].high) is not None
        and (low_then := first[name].low) is not None
        and high_now < low_then
        for name in times
    )
    return low is not None and high is not None and low > high and not falls
