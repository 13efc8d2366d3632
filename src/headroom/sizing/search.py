"""Choose the next configuration to examine, and detect when the cheapest one is found.

More of everything is assumed to be no worse. A configuration that fails excludes all configurations
that have no more of anything; one that meets the targets excludes all that cost more. Each step
takes the configuration that is expected to exclude most. On one axis without a forecast, that is
bisection. On several axes, it is also a configuration with the maximum of all axes except one. The
consequences of that assumption are checked before the search ends: the neighbours below the answer
are examined themselves, and after a single contradiction nothing is inferred any more.

Invariants: pure and deterministic, no simulation and no clock; the answer was looked at itself.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from headroom.sizing.space import Place, Space

Verdict: TypeAlias = Literal["meets", "fails", "undecided"]
SURE = 0.99
"""Probability given to a forecast: it guides and never decides. The first one that turns out
wrong ends the belief in all of them, so that bad forecasts cost one look and not a walk."""


class Search:
    """A search for the cheapest configuration that meets the targets.

    Parameters
    ----------
    space
        The configurations.

    Examples
    --------
    >>> from headroom.sizing.space import parse_axis
    >>> search = Search(Space((parse_axis("servers=1..64"),), {"servers": 1.0}))
    >>> while (place := search.next()) is not None:
    ...     search.record(place, "meets" if place[0] + 1 >= 17 else "fails")
    >>> search.best, len(search.looked)
    ((16,), 6)
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self.looked: dict[Place, Verdict] = {}
        self.is_trusted = True
        self._excluded = np.zeros(space.shape, dtype=bool)
        self._included = np.zeros(space.shape, dtype=bool)
        self._chance = np.full(space.shape, 0.5)

    @property
    def best(self) -> Place | None:
        """The cheapest configuration that meets the targets; of equally cheap ones the first."""
        met = [place for place, verdict in self.looked.items() if verdict == "meets"]
        return min(met, key=lambda place: (self._space.cost(place), place), default=None)

    def equally_cheap(self) -> list[Place]:
        """Return the others that meet the targets at the cost of the best."""
        best = self.best
        if best is None:
            return []
        cost = self._space.cost(best)
        return sorted(
            place
            for place, verdict in self.looked.items()
            if verdict == "meets" and place != best and self._space.cost(place) == cost
        )

    @property
    def is_believing(self) -> bool:
        """True where forecasts were given and none of them has been wrong since."""
        return bool((self._chance != 0.5).any())  # noqa: PLR2004 - nothing is known

    def expect(self, place: Place, *, meets: bool) -> None:
        """Take a forecast into account: it changes the order, never the answer."""
        region = _above(place) if meets else _up_to(place)
        self._chance[region] = SURE if meets else 1.0 - SURE

    def record(self, place: Place, verdict: Verdict) -> None:
        """Record the verdict on a configuration."""
        self.looked[place] = verdict
        self._infer(place, verdict)
        if abs(self._chance[place] - (verdict == "meets")) > 0.5:  # noqa: PLR2004 - more wrong than right
            self._chance[:] = 0.5

    def _infer(self, place: Place, verdict: Verdict) -> None:
        if self.is_trusted:
            region = _above(place) if verdict == "meets" else _up_to(place)
            (self._included if verdict == "meets" else self._excluded)[region] = True

    def forget(self, places: Iterable[Place]) -> None:
        """Take verdicts back, and all that followed from them."""
        for place in places:
            self.looked.pop(place, None)
        self._excluded[:] = False
        self._included[:] = False
        for place, verdict in self.looked.items():
            self._infer(place, verdict)

    def distrust(self) -> None:
        """Infer nothing any more: more of something was seen to be worse."""
        self.is_trusted = False
        self._excluded[:] = False

    def open_places(self) -> npt.NDArray[np.bool_]:
        """Return which configurations could still be the answer or equal it."""
        mask = ~self._excluded
        best = self.best
        if best is not None:
            mask &= self._space.costs <= self._space.cost(best)
        for place in self.looked:
            mask[place] = False
        return mask

    def next(self) -> Place | None:
        """Return the configuration to look at next, None if the search is at its end."""
        mask = self.open_places()
        if mask.any():
            return self._most_telling(mask) if self.is_trusted else self._nearest(mask)
        return next(iter(self.unchecked()), None)

    def unchecked(self) -> list[Place]:
        """Return the neighbours below the answer (or the top) that were only inferred.

        Without an answer the top is what the conclusion rests on.
        """
        base = self.best or self._space.top
        return [place for place in self._space.below(base) if place not in self.looked]

    def contradictions(self) -> list[tuple[Place, Place]]:
        """Return pairs: the first meets the targets, the second has no less and fails."""
        met = [place for place, verdict in self.looked.items() if verdict == "meets"]
        failed = [place for place, verdict in self.looked.items() if verdict == "fails"]
        return [(less, more) for less in met for more in failed if _is_below(less, more)]

    def supports(self, is_counted: Callable[[Place], bool]) -> list[Place]:
        """Return what the answer rests on: itself, and failures that exclude all that is cheaper.

        Parameters
        ----------
        is_counted
            Whether the verdict about a place can be wrong.
        """
        best = self.best
        if best is None:
            open_costs = np.ones(self._space.shape, dtype=bool)
        else:
            open_costs = self._space.costs < self._space.cost(best)
        failed = [place for place, verdict in self.looked.items() if verdict != "meets"]
        chosen = [] if best is None else [best]
        for place in failed:
            if not is_counted(place):
                open_costs[self._excluded_by(place)] = False
        while failed and open_costs.any():
            place = max(failed, key=partial(self._count, open_costs))
            if self._count(open_costs, place) == 0:
                break
            open_costs[self._excluded_by(place)] = False
            chosen.append(place)
        return chosen

    def _excluded_by(self, place: Place) -> tuple[slice, ...] | Place:
        return _up_to(place) if self.is_trusted else place

    def _count(self, mask: npt.NDArray[np.bool_], place: Place) -> int:
        return int(np.count_nonzero(mask[self._excluded_by(place)]))

    def _most_telling(self, mask: npt.NDArray[np.bool_]) -> Place:
        """Return the place that is expected to exclude most of what is open.

        A place that is too expensive to be the answer is worth a look where its failure would
        exclude many: with too few disks no number of processors helps.
        """
        if_fails = mask.astype(np.float64)
        for axis in range(mask.ndim):
            if_fails = np.cumsum(if_fails, axis=axis)
        ordered = np.sort(self._space.costs[mask])
        if_meets = mask.sum() - np.searchsorted(ordered, self._space.costs, side="right") + 1.0
        gain = self._chance * if_meets + (1.0 - self._chance) * if_fails
        even = self._chance == 0.5  # noqa: PLR2004 - without a forecast both must exclude much
        gain[even] = np.sqrt(if_meets * if_fails)[even]
        # A place that is too expensive excludes nothing when it meets the targets.
        if_too_dear = np.where(even, np.sqrt(if_fails), (1.0 - self._chance) * if_fails)
        gain = np.where(mask, gain, if_too_dear)
        gain[self._excluded | self._included] = 0.0
        for place in self.looked:
            gain[place] = 0.0
        equal = np.argwhere(gain >= gain.max() * (1.0 - 1e-12))
        places = [tuple(int(number) for number in row) for row in equal]
        return min(places, key=lambda place: (self._space.cost(place), place))

    def _nearest(self, mask: npt.NDArray[np.bool_]) -> Place:
        """Return the most expensive open place: without inference the search walks down in cost."""
        places = [tuple(int(number) for number in row) for row in np.argwhere(mask)]
        return min(places, key=lambda place: (-self._space.cost(place), place))


def _up_to(place: Place) -> tuple[slice, ...]:
    return tuple(slice(0, number + 1) for number in place)


def _above(place: Place) -> tuple[slice, ...]:
    return tuple(slice(number, None) for number in place)


def _is_below(less: Place, more: Place) -> bool:
    return less != more and all(a <= b for a, b in zip(less, more, strict=True))
