"""The derived function `records.weighted`: points of some levels count several times."""

from collections.abc import Mapping, Sequence
from typing import Any

from headroom.experiment.protocol.system import Value


def weighted(
    values: Sequence[float], levels: Sequence[Mapping[str, Value]], options: Mapping[str, Any]
) -> list[float]:
    """Return each value times the weights of its levels.

    The paper enters its one value of a random mode once for each share of a scan, so that the modes
    weigh the same.

    Parameters
    ----------
    values, levels
        As `headroom.experiment.protocol.derived.DerivedFunction` has them.
    options
        Factor to level to weight; a level that is not named has weight 1.

    Examples
    --------
    >>> weighted([1.0, 2.0], [{"mode": "a"}, {"mode": "b"}], {"mode": {"b": 4}})
    [1.0, 8.0]
    """
    found = []
    for value, at in zip(values, levels, strict=True):
        weight = 1.0
        for factor, weights in options.items():
            weight *= weights.get(str(at.get(factor)), 1.0)
        found.append(value * weight)
    return found
