"""Derived functions of records: the best of two sorts of nodes, and the mix that decides it."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

from headroom.experiment.protocol.system import Value

Levels = Mapping[str, Value]


def best_from(
    values: Sequence[float], levels: Sequence[Levels], options: Mapping[str, Any]
) -> list[float | None]:
    """Return the smallest value from a level on, less the smallest below it.

    It is negative where the large levels win. All points with the same other levels have it.

    Parameters
    ----------
    values, levels
        As `headroom.experiment.protocol.derived.DerivedFunction` has them.
    options
        `factor`, numeric, and its level `at`.

    Examples
    --------
    >>> at = [{"node_bytes": size} for size in (64, 4096, 8192)]
    >>> best_from([3.0, 1.0, 2.0], at, {"factor": "node_bytes", "at": 4096})
    [-2.0, -2.0, -2.0]
    """
    factor, limit = str(options["factor"]), float(options["at"])
    best: dict[tuple[object, ...], dict[bool, float]] = {}
    for value, at in zip(values, levels, strict=True):
        sides = best.setdefault(_rest(at, factor), {True: inf, False: inf})
        is_large = float(at[factor]) >= limit
        sides[is_large] = min(sides[is_large], value)
    found = []
    for at in levels:
        sides = best[_rest(at, factor)]
        is_known = all(map(isfinite, sides.values()))
        found.append(sides[True] - sides[False] if is_known else None)
    return found


def _rest(levels: Levels, factor: str) -> tuple[object, ...]:
    return tuple(level for name, level in levels.items() if name != factor)


def turning_mix(
    values: Sequence[float], levels: Sequence[Levels], options: Mapping[str, Any]
) -> list[float | None]:
    """Return the reads for each write above which the best node for reads is the best of all.

    A node costs reads x R + writes. Another node may be cheaper for writes; as R grows, the best
    one for reads wins. The value is the R at which it does, 0 if it is the best for writes as well.
    All points have it.

    Parameters
    ----------
    values, levels
        Times (s) of an operation, as `headroom.experiment.protocol.derived.DerivedFunction` has
        them.
    options
        `factor` is the size of a node; `of` the factor of operations, with the levels `reads` and
        `writes`, lists of which the times add up.

    Examples
    --------
    >>> at = [{"w": w, "mode": mode} for mode in ("look", "write") for w in (64, 4096)]
    >>> options = {"factor": "w", "of": "mode", "reads": ["look"], "writes": ["write"]}
    >>> turning_mix([3.0, 2.0, 100.0, 110.0], at, options)  # 4096 B from 10 reads a write on
    [10.0, 10.0, 10.0, 10.0]
    """
    factor, of = str(options["factor"]), str(options["of"])
    reads: dict[Value, float] = {}
    writes: dict[Value, float] = {}
    for value, at in zip(values, levels, strict=True):
        for names, sums in ((options["reads"], reads), (options["writes"], writes)):
            if at[of] in names:
                sums[at[factor]] = sums.get(at[factor], 0.0) + value
    if not reads or reads.keys() != writes.keys():
        return [None] * len(values)
    best = min(reads, key=lambda size: reads[size])
    mixes = [
        (writes[best] - writes[size]) / (reads[size] - reads[best])
        for size in reads
        if reads[size] > reads[best]
    ]
    return [max([0.0, *mixes])] * len(values)
