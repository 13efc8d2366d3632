"""One result of a load that several processes generated.

The load driver records on a grid of times that doubles, the same in every process, so the results
of several processes have moments in common. At these, and at the end, cumulative statistics add
up; so do the counts of equal bins and the exact totals between them.

Invariant: no operation is lost or counted twice; the order of the processes changes nothing but the
order of equal times.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Result = Mapping[str, Any]
"""What the load driver returns of a run; `conversion` of storage reads it."""
_LARGEST = frozenset({"end_s", "load_s"})
_SUMS = ("outstanding_count", "waiting_count", "continued_count")


def merged(results: Sequence[Result]) -> dict[str, Any]:
    """Return the result of all processes together.

    Parameters
    ----------
    results
        One for each process, of loads that began at the same moment and verify nothing.

    Returns
    -------
    dict
        As one process would have returned it. Reasons why a run is not sound name their process.
    """
    first = results[0]
    problems = [
        f"load process {number}: {one['problem']}"
        for number, one in enumerate(results, start=1)
        if one["problem"]
    ]
    return {
        **first,
        **{name: max(one[name] for one in results) for name in _LARGEST},
        **{name: sum(one[name] for one in results) for name in _SUMS},
        "problem": "; ".join(problems) or None,
        "facts": {
            **first["facts"],
            "threads": str(sum(int(one["facts"].get("threads", 1)) for one in results)),
            "processes": str(len(results)),
        },
        "classes": _by_name(results, "classes", _class),
        "counters": _added([one["counters"] for one in results]),
        "workload_counters": _added([one["workload_counters"] for one in results]),
        "failures": [failure for one in results for failure in one["failures"]],
        "histograms": {
            quantity: _by_name([one["histograms"] for one in results], quantity, merged_histogram)
            for quantity in first["histograms"]
        },
        "series": _by_name(results, "series", _series),
        "snapshots": _rows([one["snapshots"] for one in results]),
        "samples": None
        if any(one["samples"] is None for one in results)
        else _rows([one["samples"] for one in results]),
    }


def _by_name(
    results: Sequence[Result], part: str, merge: Callable[[list[Result]], dict[str, Any]]
) -> dict[str, Any]:
    names = dict.fromkeys(name for one in results for name in one[part])
    return {
        name: merge([one[part][name] for one in results if name in one[part]]) for name in names
    }


def _added(tables: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for table in tables:
        for name, value in table.items():
            total[name] = total.get(name, 0) + value
    return total


def _class(tables: list[Result]) -> dict[str, Any]:
    """Return the counts of a class: sums, and extremes of those that are known."""
    found = {}
    for name in tables[0]:
        values = [one[name] for one in tables]
        if name.endswith(("_max", "_min")):
            known = [value for value in values if value == value]  # noqa: PLR0124 - not a number
            pick = max if name.endswith("_max") else min
            found[name] = pick(known) if known else values[0]
        else:
            found[name] = sum(values)
    return found


def common_times(times: Sequence[FloatArray]) -> FloatArray:
    """Return the moments that all have, and the latest end.

    Parameters
    ----------
    times
        Shapes (rows,). Moments (s), ascending; each ends with the end of its own process.

    Examples
    --------
    >>> common_times([np.array([1.0, 2.0, 3.0, 3.5]), np.array([2.0, 3.2])]).tolist()
    [2.0, 3.5]
    """
    shared = times[0][:-1]
    for one in times[1:]:
        shared = np.intersect1d(shared, one[:-1])
    return np.append(shared, max(one[-1] for one in times))


def _places(times: FloatArray, wanted: FloatArray) -> npt.NDArray[np.int64]:
    """Return the row of each wanted moment; the last row stands for all that follows."""
    return np.asarray(np.minimum(np.searchsorted(times, wanted), len(times) - 1))


def _rows(tables: Sequence[Result]) -> dict[str, Any]:
    """Return tables at the common moments: what a process has at its end it keeps."""
    known = [one for one in tables if len(one["times_s"])]
    if not known:
        return dict(tables[0])
    wanted = common_times([one["times_s"] for one in known])
    places = [_places(one["times_s"], wanted) for one in known]
    return {
        "times_s": wanted,
        **{
            kind: _resources([one[kind] for one in known], places)
            for kind in ("stations", "classes")
        },
    }


def _resources(tables: Sequence[Result], places: Sequence[npt.NDArray[np.int64]]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for one in tables for name in one["names"]))
    count = len(places[0])
    columns = {name: np.zeros((count, len(names))) for name in tables[0]["columns"]}
    maxima = {name: np.zeros(len(names)) for name in tables[0]["maxima"]}
    capacity = np.zeros(len(names))
    for table, rows in zip(tables, places, strict=True):
        to = [names.index(name) for name in table["names"]]
        capacity[to] += table["capacity"]
        for name, values in table["columns"].items():
            columns[name][:, to] += values[rows]
        for name, values in table["maxima"].items():
            # The lines of processes need not have been longest at one moment: an upper bound.
            maxima[name][to] += values
    return {"names": names, "capacity": capacity, "columns": columns, "maxima": maxima}


def merged_histogram(tables: Sequence[Result], *, of_classes: bool = False) -> dict[str, Any]:
    """Return the histogram of all observations.

    Parameters
    ----------
    of_classes
        False: tables of processes, whose segments end at common moments; others are joined to the
        next. True: tables of the classes of a load, whose segments end with operations of their
        own: each end is one, so a segment may hold what another class did a little earlier.
    """
    known = [one for one in tables if one["bin_low"].size]
    if not known:
        return dict(tables[0])
    ends = [one["segment_end_times_s"] for one in known]
    wanted = np.unique(np.concatenate(ends)) if of_classes else common_times(ends)
    low = np.unique(np.concatenate([one["bin_low"] for one in known]))
    high = np.zeros_like(low)
    counts = np.zeros((len(wanted), len(low)), dtype=np.int64)
    totals = {
        "sums": np.zeros(len(wanted)),
        "square_sums": np.zeros(len(wanted)),
        "minima": np.full(len(wanted), np.inf),
        "maxima": np.full(len(wanted), -np.inf),
    }
    for one in known:
        bins = np.searchsorted(low, one["bin_low"])
        high[bins] = one["bin_high"]
        # The common segment of each of its own.
        segment = np.searchsorted(wanted, one["segment_end_times_s"])
        np.add.at(counts, np.ix_(segment, bins), one["counts"])
        own = one["totals"]
        np.add.at(totals["sums"], segment, own["sums"])
        np.add.at(totals["square_sums"], segment, own["square_sums"])
        np.minimum.at(totals["minima"], segment, own["minima"])
        np.maximum.at(totals["maxima"], segment, own["maxima"])
    return {
        "bin_low": low,
        "bin_high": high,
        "counts": counts,
        "segment_end_times_s": wanted,
        "totals": totals,
    }


def _series(tables: list[Result]) -> dict[str, Any]:
    """Return batches in the order of their ends; the longest batches decide how many are joined."""
    size = max(one["batch_size"] for one in tables)
    joined = [_joined(one, size) for one in tables]
    times, values = (np.concatenate([one[place] for one in joined]) for place in (0, 1))
    order = np.argsort(times, kind="stable")
    return {"batch_size": size, "end_times_s": times[order], "values": values[order]}


def _joined(table: Result, size: int) -> tuple[FloatArray, FloatArray]:
    """Return ends and means of batches of `size`; a rest that fills none is left out, as ever."""
    ratio = max(size // table["batch_size"], 1)
    count = len(table["values"]) // ratio
    values = table["values"][: count * ratio].reshape(count, ratio).mean(axis=1)
    return table["end_times_s"][ratio - 1 : count * ratio : ratio], values
