"""Whether a numeric factor is a resource or a load, read from what its points show.

A resource is what a system has: more servers or tokens. A load is the work that it gets: more
of it raises the throughput, and no time falls for it. Any other factor is a setting.
"""

from collections.abc import Sequence
from itertools import pairwise

from headroom.analysis.results import Estimate, PointResult
from headroom.experiment.study.asks import Direction


def is_resource(
    factor: str,
    points: Sequence[PointResult],
    *,
    moves_alone: bool = True,
    declared: Direction | None = None,
) -> bool:
    """Return whether servers or tokens grow with a factor.

    Parameters
    ----------
    factor, points
        Name of the factor, and the points of one curve over it.
    moves_alone
        Whether no other factor moves with it: else that one may be the resource.
    declared
        What the study says of it; None: what the points show.
    """
    if declared is not None:
        return declared == "resource"
    if not moves_alone:
        return False
    sizes = [_sizes(point) for point in _in_order(factor, points) if point.resources]
    if len(sizes) < 2:  # noqa: PLR2004 - one size does not grow
        return False
    common = set(sizes[0]).intersection(*sizes[1:])
    grown = {name for name in common if sizes[0][name] < sizes[-1][name]}
    falls = any(a[name] > b[name] for name in common for a, b in pairwise(sizes))
    return bool(grown) and not falls


def is_load(
    factor: str, points: Sequence[PointResult], *, declared: Direction | None = None
) -> bool:
    """Return whether more of a factor is more work: throughput surely rises, and no time falls."""
    if declared is not None:
        return declared == "load"
    told = [point for point in _in_order(factor, points) if "throughput" in point.estimates]
    if len(told) < 2 or is_resource(factor, points):  # noqa: PLR2004
        return False
    first, last = told[0].estimates, told[-1].estimates
    times = [name for name in first if "response_s" in name and name in last]
    rises = _is_below(first["throughput"], last["throughput"])
    return rises and not any(_is_below(last[name], first[name]) for name in times)


def _in_order(factor: str, points: Sequence[PointResult]) -> list[PointResult]:
    return sorted(points, key=lambda point: float(point.levels[factor]))


def _sizes(point: PointResult) -> dict[tuple[str, str], float]:
    known = [one for one in point.resources if one.capacity is not None]
    return {(one.kind, one.name): one.capacity or 0.0 for one in known}


def _is_below(one: Estimate, other: Estimate) -> bool:
    """Return whether the whole interval of an estimate is below that of another."""
    return one.high is not None and other.low is not None and one.high < other.low
