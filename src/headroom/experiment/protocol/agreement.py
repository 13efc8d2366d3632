"""Match the points of two experiments that predict each other: equal levels of shared factors.

Invariant: a point is matched with at most one other; if several match, none is taken.
"""

from collections.abc import Mapping, Sequence

from headroom.experiment.protocol.system import Value

Levels = Mapping[str, Value]


def matching(levels: Levels, candidates: Sequence[Levels], *, to: Levels) -> list[int]:
    """Return the places of the candidates that have the levels of a point.

    Parameters
    ----------
    levels
        Levels of the predicting point.
    candidates
        Levels of the candidate points.
    to
        Levels that correspond to those of the point, and levels of factors that it does not have.

    Examples
    --------
    >>> ramp = [{"load": 0.5, "target": "disk"}, {"load": 0.9, "target": "disk"}]
    >>> matching({"load": 0.9, "disks": 4}, ramp, to={"target": "disk"})
    [1]
    """
    return [
        place
        for place, candidate in enumerate(candidates)
        if all(candidate.get(name) == level for name, level in to.items())
        and all(
            candidate[name] == level
            for name, level in levels.items()
            if name in candidate and name not in to
        )
    ]
