"""Match the points of two experiments that predict each other: equal levels of shared factors.

Invariant: a point is matched with at most one other; if several match, none is taken.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from headroom.experiment.protocol.system import Value

Levels: TypeAlias = Mapping[str, Value]
_Index: TypeAlias = dict[tuple[Value, ...], list[int]]


class Partners:
    """The points of an experiment, found by the levels of those of another one.

    Examples
    --------
    >>> ramp = [{"load": 0.5, "target": "disk"}, {"load": 0.9, "target": "disk"}]
    >>> Partners(ramp, to={"target": "disk"}).of({"load": 0.9, "disks": 4})
    [1]
    """

    def __init__(self, candidates: Sequence[Levels], *, to: Levels) -> None:
        """Take the points.

        Parameters
        ----------
        candidates
            Levels of the points to be found.
        to
            Levels that correspond to those of the other experiment, and levels of factors that it
            does not have.
        """
        self._candidates = candidates
        self._to = to
        self._by_names: dict[frozenset[str], list[int]] = {}
        for place, one in enumerate(candidates):
            if all(one.get(name) == level for name, level in to.items()):
                self._by_names.setdefault(frozenset(one), []).append(place)
        self._indices: dict[tuple[frozenset[str], tuple[str, ...]], _Index] = {}

    def of(self, levels: Levels) -> list[int]:
        """Return the places of the candidates that have these levels of the factors of both."""
        found: list[int] = []
        for names in self._by_names:
            shared = tuple(name for name in levels if name in names and name not in self._to)
            index = self._index(names, shared)
            found += index.get(tuple(levels[name] for name in shared), ())
        return sorted(found)

    def _index(self, names: frozenset[str], shared: tuple[str, ...]) -> "_Index":
        """Return places by the levels of shared factors: one look-up for each point."""
        found = self._indices.get((names, shared))
        if found is None:
            found = self._indices[names, shared] = {}
            for place in self._by_names[names]:
                one = self._candidates[place]
                found.setdefault(tuple(one[name] for name in shared), []).append(place)
        return found
