"""Units, shared parts and times per byte: the limits of a device estimated from closed loops.

The throughput at depths and sizes is fitted by least squares of logarithms, each point weighted by
its own error. The closed network with exponential times is solved instantly. Simulation finds how
far the simulated device, with its true laws, is from that network; the next round takes the
difference into account (output space mapping). A limit that the sweep never reaches is not pushed
to some bound: it is left out, with the largest value that the points would still allow.

Invariant: an undetermined limit is in `Limits.bounds`, and its value has no effect in the model.

Sources: Bandler and others, *Space Mapping: the State of the Art*, IEEE Transactions on Microwave
Theory and Techniques 52 (2004); Huber's loss against single bad points; the bounds are those of
the profile of the likelihood, at the 95% quantile of chi-square with one degree of freedom.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy

from headroom.systems.storage.fit.laws import Quantiles
from headroom.systems.storage.fit.network import Floats, closed_throughputs
from headroom.systems.storage.fit.observations import Closed

SHAPE = ("s_per_byte", "shared_s", "shared_s_per_byte", "batch_s")
"""Search variables of each kind: a byte at a unit; a request, its byte, and a batch of requests at
the shared part."""
UNITS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of units that are tried first; then those between the neighbours of the best."""
_BETWEEN = {2: (3,), 4: (3, 5, 6), 8: (6, 10, 12), 16: (12, 20, 24), 32: (24, 48), 64: (48, 96)}
SURE = 3.84
"""Rise of the misfit beyond which a value is refuted (chi-square, 95%)."""
_ROBUST = 3.0
"""Standard errors beyond which a point counts linearly, not squared."""
_EVALUATIONS = 30
_LOWEST = np.log((1e-14, 1e-9, 1e-14, 1e-9))
_HIGHEST = np.log((1e-3, 1.0, 1e-3, 1.0))
_BOUND_STEPS = 12


Shape: TypeAlias = tuple[float, float, float, float]


_ALL = (True, True, True, True)
_NO_BATCHES = (True, True, True, False)
_NOTHING: Shape = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The result of the search.

    Parameters
    ----------
    units
        Requests that the device works on at once; the largest population if it is not one of the
        bounds' (see there).
    shapes
        For each kind the values of `SHAPE`, 0 if they are not determined.
    bounds
        For undetermined values, lowest and highest value that the sweep allows: ``"units"``, or the
        name of the parameter.
    misfit
        Weighted sum of squared errors.
    """

    units: int
    shapes: Mapping[str, Shape]
    bounds: Mapping[str, tuple[float, float]]
    misfit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Loops:
    """The closed points with all that is known before the search.

    Parameters
    ----------
    closed
        The points.
    alone
        Times at depth 1 of a request of `base_bytes`, for each kind.
    base_bytes, host_s
        That length (B), and the processor time of a request (s).
    ratios
        Throughput of the simulated device over that of the network, point by point.
    """

    closed: Sequence[Closed]
    alone: Mapping[str, Quantiles]
    base_bytes: int
    host_s: float
    ratios: Floats

    def of(self, kind: str) -> "Loops":
        """Return the part of one kind."""
        places = [place for place, loop in enumerate(self.closed) if loop.kind == kind]
        return replace(
            self, closed=[self.closed[place] for place in places], ratios=self.ratios[places]
        )

    def network(self, units: int, shapes: Mapping[str, Sequence[float]]) -> Floats:
        """Return the throughput (1/s) of the network at all points."""
        table = np.array([shapes[loop.kind] for loop in self.closed]).T
        per_byte, shared_s, shared_per_byte, batch_s = table
        sizes = np.array([float(loop.size) for loop in self.closed])
        alone_s = np.array([self.alone[loop.kind].mean for loop in self.closed])
        elsewhere_s = self.host_s + shared_s + self.base_bytes * shared_per_byte
        # The time of a batch is a part of the time that a request takes alone.
        batch_s = np.minimum(batch_s, np.maximum(alone_s - elsewhere_s, 0.0))
        elsewhere_s += batch_s
        at_unit_s = alone_s + (sizes - self.base_bytes) * per_byte - elsewhere_s
        single_s = np.stack([np.full(sizes.size, self.host_s), shared_s + sizes * shared_per_byte])
        populations = [loop.population for loop in self.closed]
        at_unit_s = np.maximum(at_unit_s, 1e-9)
        return closed_throughputs(single_s, at_unit_s, units, populations, batch_s)

    def errors(self, units: int, shape: Sequence[float]) -> Floats:
        """Return the errors of the logarithms of the throughput, in standard errors; one kind."""
        throughput = self.network(units, dict.fromkeys(self.kinds, shape))
        seen = np.log([loop.throughput for loop in self.closed]) - np.log(self.ratios)
        errors: Floats = (np.log(throughput) - seen) / np.array(
            [loop.error for loop in self.closed]
        )
        return errors

    def misfit(self, units: int, shape: Sequence[float]) -> float:
        """Return the sum of squared errors, large ones counted linearly (Huber)."""
        size = np.abs(self.errors(units, shape))
        return float(np.where(size <= _ROBUST, size**2, _ROBUST * (2.0 * size - _ROBUST)).sum())

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of requests, in the order of the points."""
        return tuple(dict.fromkeys(loop.kind for loop in self.closed))

    @property
    def most_outstanding(self) -> int:
        """Largest population of the sweep."""
        return max(loop.population for loop in self.closed)


def limits_of(loops: Loops, known: Limits | None = None) -> Limits:
    """Return the limits that the loops determine.

    Parameters
    ----------
    loops
        The points.
    known
        Which values are determined is taken from here, and the number of units.
    """
    if known is not None:
        return _with_units(loops, known.units, known, _determined(known))
    plain = _best(loops, dict.fromkeys(loops.kinds, _NO_BATCHES))
    batched = _best(loops, dict.fromkeys(loops.kinds, _ALL))
    # One more number always fits better: it has to do so by more than chance, for each kind.
    has_batches = batched.misfit + SURE * len(loops.kinds) < plain.misfit
    chosen = batched if has_batches else plain
    pruned, more = _pruned(loops, chosen, _ALL if has_batches else _NO_BATCHES)
    return replace(pruned, bounds={**chosen.bounds, **more})


def _best(loops: Loops, free: Mapping[str, tuple[bool, ...]]) -> Limits:
    """Return the best of all numbers of units; a bound if more of them fit as well."""
    most = loops.most_outstanding
    tried: dict[int, Limits] = {}
    last = None
    for units in (*(u for u in UNITS if u < most), most):
        last = tried[units] = _with_units(loops, units, last, free)
    best = min(tried.values(), key=lambda limits: (limits.misfit, limits.units))
    for units in (u for u in _BETWEEN.get(best.units, ()) if u < most):
        tried[units] = _with_units(loops, units, best, free)
    least = min(tried.values(), key=lambda limits: (limits.misfit, limits.units))
    if tried[most].misfit > least.misfit + SURE:
        return least
    allowed = [u for u, limits in tried.items() if limits.misfit <= least.misfit + SURE]
    return replace(tried[most], bounds={"units": (float(min(allowed)), math.inf)})


def _determined(known: Limits) -> dict[str, tuple[bool, ...]]:
    return {kind: tuple(value > 0.0 for value in shape) for kind, shape in known.shapes.items()}


def _with_units(
    loops: Loops,
    units: int,
    start: Limits | None,
    free: Mapping[str, tuple[bool, ...]],
) -> Limits:
    """Return the best fit with a number of units; the search starts at a likely nearby point."""
    shapes, misfit = {}, 0.0
    for kind in loops.kinds:
        own = loops.of(kind)
        near = None if start is None else start.shapes[kind]
        shapes[kind] = _searched(own, units, free[kind], near)
        misfit += own.misfit(units, shapes[kind])
    return Limits(units=units, shapes=shapes, bounds={}, misfit=misfit)


def _pruned(
    loops: Loops, limits: Limits, wanted: Sequence[bool]
) -> tuple[Limits, dict[str, tuple[float, float]]]:
    """Leave out limits one by one if not missed, and report how large each could have been."""
    shapes, bounds, total = dict(limits.shapes), {}, 0.0
    for kind in loops.kinds:
        own = loops.of(kind)
        free = [*wanted]
        misfit = own.misfit(limits.units, shapes[kind])
        dropped = [place for place, is_wanted in enumerate(wanted) if not is_wanted]
        while any(free):
            trials = []
            for place in (place for place in range(len(SHAPE)) if free[place]):
                fewer = tuple(is_free and index != place for index, is_free in enumerate(free))
                shape = _searched(own, limits.units, fewer, shapes[kind])
                trials.append((own.misfit(limits.units, shape), place, shape))
            least, place, shape = min(trials)
            if least > misfit + SURE:
                break
            free[place], shapes[kind], misfit = False, shape, min(least, misfit)
            dropped.append(place)
        total += own.misfit(limits.units, shapes[kind])
        for place in dropped:
            bounds[f"{kind}_{SHAPE[place]}"] = (0.0, _bound(own, limits.units, shapes[kind], place))
    return replace(limits, shapes=shapes, misfit=total), bounds


def _bound(loops: Loops, units: int, shape: Shape, place: int) -> float:
    """Return the largest value of a left-out limit that the points do not refute."""
    most = loops.misfit(units, shape) + SURE
    low, high = float(_LOWEST[place]), float(_HIGHEST[place])
    for _ in range(_BOUND_STEPS):
        middle = 0.5 * (low + high)
        tried = [*shape]
        tried[place] = math.exp(middle)
        if loops.misfit(units, tried) > most:
            high = middle
        else:
            low = middle
    return math.exp(high)


def _searched(loops: Loops, units: int, free: Sequence[bool], near: Shape | None) -> Shape:
    """Return the values that answer best, those that are not free being 0."""
    places = [place for place, is_free in enumerate(free) if is_free]
    if not places:
        return _NOTHING
    guess = np.log(_first_guess(loops))
    if near is not None:
        known = [
            math.log(value) if value > 0.0 else at for value, at in zip(near, guess, strict=True)
        ]
        # A batch that takes all of the time alone could be any longer: no search leaves that.
        guess = np.array([*known[:-1], guess[-1]])
    longest = math.log(max(loops.alone[kind].mean for kind in loops.kinds))
    lowest, highest = _LOWEST[places], np.minimum(_HIGHEST[places], longest)

    def shape(logarithms: Floats) -> list[float]:
        values = [*_NOTHING]
        for place, value in zip(places, np.exp(logarithms), strict=True):
            values[place] = float(value)
        return values

    least_squares = scipy.optimize.least_squares(
        lambda logarithms: loops.errors(units, shape(logarithms)),
        np.clip(guess[places], lowest + 1e-6, highest - 1e-6),
        bounds=(lowest, highest),
        loss="huber",
        f_scale=_ROBUST,
        diff_step=1e-3,
        ftol=1e-5,
        xtol=1e-5,
        max_nfev=_EVALUATIONS,
    )
    per_byte, shared_s, shared_per_byte, batch_s = shape(least_squares.x)
    return per_byte, shared_s, shared_per_byte, batch_s


def _first_guess(loops: Loops) -> Shape:
    """Return a guess from the ends of the sweep: depth 1, and the largest throughputs."""
    alone = sorted(
        (loop.size, 1.0 / loop.throughput) for loop in loops.closed if loop.population == 1
    )
    (small, first_s), (large, last_s) = alone[0], alone[-1]
    per_byte = max(last_s - first_s, 1e-9) / max(large - small, 1)
    most_per_s = max(loop.throughput for loop in loops.closed)
    most_bytes_per_s = max(loop.throughput * loop.size for loop in loops.closed)
    return per_byte, 0.5 / most_per_s, 0.5 / most_bytes_per_s, 0.3 * first_s
