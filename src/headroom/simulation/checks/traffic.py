"""Traffic equations: visit ratios where routes are known."""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from headroom.simulation.checks.structure import Choice


def chosen_shares(kind: str, choices: Sequence[Choice]) -> list[float]:
    """Return how often each of several ways is taken; evenly if no probabilities are given."""
    if kind == "probability":
        return [choice.probability or 0.0 for choice in choices]
    return [1 / len(choices)] * len(choices)


def passages(ways: Mapping[int, Sequence[tuple[int, float]]]) -> list[float]:
    """Return how often each state is visited from the first: v = e + v P, by a sparse system.

    Parameters
    ----------
    ways
        State -> the states that follow it, each with its share; the missing share leaves.

    Examples
    --------
    >>> [round(visits, 9) for visits in passages({0: [(1, 0.8)], 1: [(0, 1.0)], 2: []})]
    [5.0, 4.0, 0.0]
    """
    from scipy.sparse.linalg import spsolve  # noqa: PLC0415

    reached = _closure(ways)
    place = {state: number for number, state in enumerate(reached)}
    pairs = [(place[b], place[a], share) for a in reached for b, share in ways[a]]
    rows, columns, shares = zip(*pairs, strict=True) if pairs else ((), (), ())
    size = len(reached)
    routing = scipy.sparse.csc_matrix((shares, (rows, columns)), shape=(size, size))
    entry = np.zeros(size)
    entry[0] = 1.0
    solution = np.atleast_1d(spsolve(scipy.sparse.identity(size, format="csc") - routing, entry))
    visits = [0.0] * len(ways)
    for state, number in place.items():
        visits[state] = float(solution[number])
    return visits


def _closure(ways: Mapping[int, Sequence[tuple[int, float]]]) -> list[int]:
    reached = {0: None}
    waiting = [0]
    while waiting:
        for target, _share in ways[waiting.pop()]:
            if target not in reached:
                reached[target] = None
                waiting.append(target)
    return list(reached)
