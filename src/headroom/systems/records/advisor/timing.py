"""The time of a mix on one configuration: each operation by itself, on one table.

Invariant: the configurations of a comparison do the same operations, on records of the same
numbers and in the same order (common seeds).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from headroom.errors import EnvironmentUnfitError
from headroom.systems.records import native
from headroom.systems.records.advisor.configurations import Configuration, table_config
from headroom.systems.records.advisor.question import Question
from headroom.systems.records.parameters import table_spec

BATCHES = (1, 8, 16, 32, 64)
AHEADS = (0, 2, 8)
_CHANGES = ("insert", "update", "delete")
_MOST_CHANGED = 0.25
"""Share of a small table that a run changes at most."""
_MOST_BYTES = 16 << 20
"""Memory (B) of the records that a run visits: large ones need fewer visits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How closely a configuration is timed.

    Parameters
    ----------
    visits
        Records that a run of an operation visits.
    rounds
        Rounds; their median counts.
    batches, aheads
        Levels of look-ups at once and of nodes that scans ask for ahead; the fastest counts.
    """

    visits: int
    rounds: int
    batches: Sequence[int] = BATCHES
    aheads: Sequence[int] = AHEADS


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The time of a configuration.

    Parameters
    ----------
    operation_s
        Mean time (s) of an operation of the mix.
    each_s
        Operation to its time (s).
    batch, ahead
        The fastest levels.
    alone_s, lookup_alone_s
        Time (s) of an operation of the mix, and of a look-up, if look-ups come one at a time; None
        if that was not timed.
    build_s
        Time (s) that it took to make the table.
    """

    operation_s: float
    each_s: Mapping[str, float]
    batch: int
    ahead: int
    alone_s: float | None
    build_s: float
    lookup_alone_s: float | None = None


def time_mix(
    question: Question,
    configuration: Configuration,
    effort: Effort,
    *,
    seed: int,
    clock: Callable[[], float],
) -> Timing:
    """Make the table of a configuration, and time the operations of the mix on it.

    Raises
    ------
    EnvironmentUnfitError
        There is no memory for it.
    """
    start = clock()
    spec = msgspec.json.encode(table_spec(table_config(question, configuration), seed))
    try:
        table = native.Table(spec)
    except MemoryError as error:
        cure = "set more huge pages aside" if configuration.pages == "huge" else "free some memory"
        raise EnvironmentUnfitError(f"{error} for {configuration}", cure=cure) from error
    build_s = clock() - start
    each: dict[str, float] = {}
    batches: dict[int, float] = {}
    aheads: dict[int, float] = {}
    for name in question.shares:
        if name == "lookup":
            levels = [size for size in effort.batches if size <= question.most_batch] or [1]
            batches = {
                size: _time(table, question, name, size, effort=effort, seed=seed)
                for size in levels
            }
            each[name] = min(batches.values())
        elif name == "scan":
            aheads = {
                far: _time(table, question, name, far, effort=effort, seed=seed)
                for far in effort.aheads
            }
            each[name] = min(aheads.values())
        else:
            each[name] = _time(table, question, name, 0, effort=effort, seed=seed)
    total = sum(question.shares[name] * taken for name, taken in each.items())
    alone = None
    if 1 in batches:
        alone = total + question.shares["lookup"] * (batches[1] - each["lookup"])
    return Timing(
        operation_s=total, each_s=each, alone_s=alone, build_s=build_s,
        lookup_alone_s=batches.get(1),
        batch=min(batches, key=batches.__getitem__, default=1),
        ahead=min(aheads, key=aheads.__getitem__, default=0),
    )  # fmt: skip


def _time(
    table: native.Table, question: Question, name: str, level: int, *, effort: Effort, seed: int
) -> float:
    """Return the time (s) of an operation; `level` is its batch, or how far it asks ahead."""
    cell = cell_of(question, name, effort.visits, level)
    found = table.measure(
        cell=msgspec.json.encode(cell), rounds=effort.rounds, round_s=0.0005, most_s=0.5,
        warm_up=1, is_cold=False, seed=seed,
    )  # fmt: skip
    operations = found["visits"] if name != "scan" else cell["scans"]
    return float(np.median(found["cpu_s"])) / float(operations)


def cell_of(question: Question, name: str, visits: int, level: int) -> dict[str, Any]:
    """Return the query of an operation as the compiled part takes it."""
    cell = {
        "mode": name, "operation": "retrieve", "share": 0.0, "scans": 1, "batch": 1, "ahead": 0,
        "lookups": 1, "keeps_all": False, "from_first": False,
    }  # fmt: skip
    visits = max(min(visits, _MOST_BYTES // question.record_bytes), 1)
    if name in _CHANGES:
        count = max(min(visits, int(_MOST_CHANGED * question.records)), 1)
        return cell | {"share": _share(count, question.records)}
    if name == "lookup":
        share = _share(1, question.records)
        return cell | {"mode": "idx_ran", "share": share, "lookups": visits, "batch": level}
    length = min(question.scan_records, question.records)
    scans = max(visits // length, 1)
    share = _share(length, question.records)
    return cell | {"mode": "idx_seq", "share": share, "scans": scans, "ahead": level}


def _share(count: int, records: int) -> float:
    """Return the share of a table that is exactly `count` records.

    Examples
    --------
    >>> int(_share(7, 1000) * 1000)
    7
    """
    return min((count + 0.5) / records, 1.0)
