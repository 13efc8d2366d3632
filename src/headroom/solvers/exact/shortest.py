"""Jobs that join the shortest of equal queues, or the shorter of some drawn at random.

The chain of the shortest queue and of the differences to it is endless in both. With a difference
of `most` at most, it has levels of finitely many phases: a job moves from the longest queue to a
shorter one instead (threshold jockeying: Adan, Wessels and Zijm 1993, Management Science 39(1),
107-117). That flatters the mean, by less with each step; `most` grows until it settles.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from headroom.solvers.exact.chain import Level, solved

Shape = tuple[int, ...]
"""Differences of each queue to the shortest, in rising order; the first is 0."""
MOST_SHAPES = 500
"""Shapes at most: a second."""
SETTLED = 1e-3


def shortest_response_s(
    queues: int, rate_per_s: float, service_s: float, *, sample: int | None = None
) -> tuple[float, float] | None:
    """Return the mean response of M/M/1 queues of which the shortest is joined, and its error.

    Parameters
    ----------
    queues
        How many, each with one server.
    rate_per_s, service_s
        Arrivals per second for all together, and the mean service.
    sample
        How many are looked at, without repetition; None for all.

    Returns
    -------
    tuple
        The response (s), and the relative change by the last step. None if there are too many
        queues, or if the load is 1 or more.

    Examples
    --------
    >>> round(shortest_response_s(2, 1.0, 1.0)[0], 3)
    1.426
    """
    if rate_per_s * service_s >= queues:
        return None
    before, found = math.nan, None
    for most in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48):
        if math.comb(most + queues - 1, queues - 1) > MOST_SHAPES:
            break
        response = _bounded(queues, rate_per_s * service_s, sample or queues, most) * service_s
        change = abs(response / before - 1.0)
        found = (response, change)
        if change < SETTLED / 10:
            break
        before = response
    return found


def _bounded(queues: int, load: float, sample: int, most: int) -> float:
    shapes = [
        (0, *sorted(rest))
        for rest in itertools.combinations_with_replacement(range(most + 1), queues - 1)
    ]
    place = {shape: number for number, shape in enumerate(shapes)}
    levels = [_level(place, least, load, sample, most) for least in (0, 1, 2)]
    found = solved(levels, is_endless=True)
    extra = np.array([float(sum(shape)) for shape in shapes])
    shares = sum(found.shares) + found.beyond()[0]
    jobs = queues * found.mean + float(shares @ extra)
    return jobs / load


def _level(place: dict[Shape, int], least: int, load: float, sample: int, most: int) -> Level:
    size = len(place)
    parts = {step: np.zeros((size, size)) for step in (-1, 0, 1)}
    for shape, number in place.items():
        for rate, after in _moves(shape, least, load, sample, most):
            low = after[0]
            target = tuple(value - low for value in after)
            parts[low][number, place[target]] += rate
            parts[0][number, number] -= rate
    return Level(parts[1], parts[0], parts[-1])


def _moves(
    shape: Shape, least: int, load: float, sample: int, most: int
) -> Iterator[tuple[float, Shape]]:
    """Yield the rates of arrivals and departures, and the differences to the old shortest after."""
    count = len(shape)
    ways = math.comb(count, sample)
    for index in range(count):
        # The queue with this rank is joined if it is drawn and no shorter one is.
        chance = math.comb(count - 1 - index, sample - 1) / ways
        if chance:
            yield load * chance, _within(_changed(shape, index, 1), most)
    for index, value in enumerate(shape):
        if least + value > 0:
            yield 1.0, _within(_changed(shape, index, -1), most)


def _changed(shape: Shape, index: int, by: int) -> Shape:
    return tuple(sorted(v + by * (place == index) for place, v in enumerate(shape)))


def _within(shape: Shape, most: int) -> Shape:
    """Return the shape once a job has moved from a queue that is too long to the shortest."""
    if shape[-1] - shape[0] <= most:
        return shape
    return tuple(sorted((shape[0] + 1, *shape[1:-1], shape[-1] - 1)))
