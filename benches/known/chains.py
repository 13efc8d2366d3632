"""Continuous-time Markov chains, solved directly: answers where no formula exists.

States are any hashable values. An infinite chain is truncated where its states are too rare to
matter.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

State = TypeVar("State", bound=Hashable)


def stationary(
    start: State, moves: Callable[[State], Iterable[tuple[float, State]]]
) -> dict[State, float]:
    """Return the share of time in each state that is reached from `start`.

    Parameters
    ----------
    start
        A state that is visited again and again.
    moves
        Rate and target of every move out of a state; a move into its own state changes nothing.

    Examples
    --------
    >>> shares = stationary(0, lambda n: [(1.0, n + 1)] if n == 0 else [(3.0, n - 1)])
    >>> [round(share, 6) for share in shares.values()]
    [0.75, 0.25]
    """
    places = {start: 0}
    sources, targets, rates = [], [], []
    waiting = [start]
    while waiting:
        state = waiting.pop()
        for rate, target in moves(state):
            if target not in places:
                places[target] = len(places)
                waiting.append(target)
            sources.append(places[state])
            targets.append(places[target])
            rates.append(rate)
    return dict(zip(places, _solved(sources, targets, rates, len(places)), strict=True))


def _solved(sources: list[int], targets: list[int], rates: list[float], size: int) -> list[float]:
    """Return the stationary distribution: balance equations with the first state's share at 1."""
    flows = sparse.csc_matrix((rates, (targets, sources)), shape=(size, size))
    balance = flows - sparse.diags(np.asarray(flows.sum(axis=0)).ravel())
    balance = balance.tocsc()
    others = spsolve(balance[1:, 1:], -balance[1:, [0]].toarray().ravel())
    shares = np.append(1.0, np.atleast_1d(others))
    if shares.min() < -1e-9 * shares.max():
        raise ArithmeticError("the balance equations have a negative share")
    return [float(share) for share in shares / shares.sum()]


def expected(shares: Mapping[State, float], value: Callable[[State], float]) -> float:
    """Return the mean of `value` over time."""
    return float(sum(share * value(state) for state, share in shares.items()))


def birth_death(
    birth: Callable[[int], float], death: Callable[[int], float], last: int
) -> list[float]:
    """Return the stationary distribution of a birth-death process on 0 to `last`.

    Examples
    --------
    >>> [round(share, 6) for share in birth_death(lambda n: 1.0, lambda n: 2.0, 2)]
    [0.571429, 0.285714, 0.142857]
    """
    shares = [1.0]
    for number in range(last):
        shares.append(shares[-1] * birth(number) / death(number + 1))
    total = sum(shares)
    return [share / total for share in shares]
