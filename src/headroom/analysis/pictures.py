"""Which points keep their plots: distributions, raw samples, and the warm-up curve.

The plots take about 7 kB of a point that otherwise takes 10 kB, and no reader looks at the plots of
ten thousand points.

Invariant: estimates, verdicts and checks are kept for every point; only pictures are spared, and
only where an experiment has more than `PICTURES_AT_MOST` points.
"""

from collections.abc import Sequence

from headroom.analysis.results import PointResult

PICTURES_AT_MOST = 500
"""Points of an experiment whose pictures are stored."""
SERIES_AT_MOST = 50
"""Points of an experiment whose time series are stored: some 20 kB each, at most 50."""


def evenly(count: int, at_most: int) -> list[int]:
    """Return at most `at_most` of the places 0 to `count` - 1, first and last among them.

    Examples
    --------
    >>> evenly(3, 5), evenly(11, 3), evenly(11, 1), evenly(0, 3)
    ([0, 1, 2], [0, 5, 10], [0], [])
    """
    if count <= at_most:
        return list(range(count))
    if at_most <= 1:
        return [0][:at_most]
    return [place * (count - 1) // (at_most - 1) for place in range(at_most)]


def has_pictures(point: PointResult) -> bool:
    """Return whether a point kept its distributions or its warm-up curve."""
    return bool(point.distributions or (point.warm_up and point.warm_up.values))


def best_pictured(points: Sequence[PointResult]) -> list[PointResult]:
    """Return the points with time series, else those with other pictures, else all."""
    with_series = [point for point in points if point.series is not None]
    return with_series or [point for point in points if has_pictures(point)] or list(points)


def first_point(points: Sequence[PointResult]) -> PointResult | None:
    """Return the point to look at first: the first one that something limits.

    Points with the most pictures come before others; if there is no bottleneck it is the last one.

    Examples
    --------
    >>> first_point([]) is None
    True
    """
    done = [point for point in points if point.estimates]
    shown = best_pictured(done)
    limited = [point for point in shown if point.bottleneck and point.bottleneck.limits]
    return next(iter([*limited[:1], *shown[-1:]]), None)
