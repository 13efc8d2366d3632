"""Results of `headroom memory`, for the terminal and for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from headroom.memory import Distances, Level, Result
from headroom.quantities import format_quantity
from headroom.systems.memory_probe.levels import Curve
from headroom.systems.memory_probe.model import PAGE_BYTES
from headroom.systems.memory_probe.survey import DISTURBED, PAGES, Survey, Value

_BAR = 40
_MARK = " *"
_NEAR = 2.5
"""Ratio of a measured to a stated capacity up to which both are the same cache."""


def map_data(found: Survey) -> dict[str, Any]:
    """Return the map for programs, in base units."""
    caches, tlbs = found.curves()
    return {
        "cpu": found.cpu,
        "levels": [] if caches is None else list(_levels(found, caches)),
        "tlbs": None
        if tlbs is None
        else [
            {"bytes": step.bytes, "low": step.low, "high": step.high, "step_s": step.height}
            for step in tlbs.steps
        ],
        "latency_s": {
            pages: [{"bytes": size, **one.to_data()} for size, one in sorted(values.items())]
            for pages, values in found.latency.items()
            if pages != PAGES
        },
        "latency_by_page_s": [
            {"pages": count, **one.to_data()}
            for count, one in sorted(found.latency.get(PAGES, {}).items())
        ],
        "chains": [{"chains": n, "access_s": one.to_data()} for n, one in found.chains.items()],
        "parallel": _parallel(found),
        "bandwidth": [
            {"operation": operation, "threads": threads, "bytes_per_s": one.to_data()}
            for (operation, threads), one in found.bandwidth.items()
        ],
        "hand_over": [
            {"cpus": list(pair), "s": one.to_data()} for pair, one in found.hand_over.items()
        ],
        "counters": found.counters,
        "missing": found.missing,
        "taken_s": found.taken_s,
    }


def _levels(found: Survey, caches: Curve) -> Iterator[dict[str, Any]]:
    """Yield caches, then memory, with what the system states of each."""
    latency = caches.first
    stated = list(found.stated)
    for number, step in enumerate(caches.steps, start=1):
        near = [one for one in stated if 1 / _NEAR < one.bytes / step.bytes < _NEAR]
        yield {
            "name": f"L{near[0].level}" if near else f"level {number}",
            "latency_s": latency, "bytes": step.bytes, "low": step.low, "high": step.high,
            "stated_bytes": near[0].bytes if near else None,
            "shared_by": near[0].shared_by if near else None,
        }  # fmt: skip
        latency += step.height
    largest = max((cache.bytes for cache in stated), default=0)
    sizes = found.curve("huge") or found.curve("small")
    reached = not largest or max(sizes) >= 2 * largest
    name = "memory" if reached else "beyond"
    yield {"name": name, "latency_s": latency, "bytes": None, "low": None, "high": None,
           "stated_bytes": None, "shared_by": None}  # fmt: skip


def _parallel(found: Survey) -> float | None:
    if 1 not in found.chains:
        return None
    return found.chains[1].best / min(one.best for one in found.chains.values())


def show_map(found: Survey, console: Console) -> None:
    """Print the map in 80 columns."""
    caches, tlbs = found.curves()
    console.print(f"Memory map of processor {found.cpu}, measured in {found.taken_s:.0f} s\n")
    if caches is None:
        console.print("Levels     undetermined: too few sizes could be measured")
    else:
        console.print(_level_table(found, caches))
    console.print(_curve_table(found))
    console.print(_in_words_of_tlbs(tlbs), soft_wrap=False)
    parallel = _parallel(found)
    if parallel is not None and parallel > 1.0:
        size = format_size(max(found.curve("huge") or found.curve("small")))
        console.print(f"At once    {parallel:.1f} loads are in flight, of chases over {size}")
    for line in _moves(found):
        console.print(line, markup=False)
    for line in _pairs(found):
        console.print(line, markup=False)
    for line in _counted(found):
        console.print(line, markup=False)
    for what, why in found.missing.items():
        console.print(f"Missing    {what}: {why}", markup=False)
    if any(one.is_disturbed for one in _values(found)):
        share = f"{DISTURBED - 1:.0%}"
        console.print(
            f"\n* most passes took over {share} longer than the best: the machine is busy"
        )


def _level_table(found: Survey, caches: Curve) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("Level", "Latency", "Size", "between", "stated", "shared by"):
        table.add_column(name, justify="left" if name == "Level" else "right")
    for row in _levels(found, caches):
        has_end = row["bytes"] is not None
        table.add_row(
            row["name"],
            format_quantity(row["latency_s"], "s"),
            format_size(row["bytes"]) if has_end else "",
            f"{format_size(row['low'])} to {format_size(row['high'])}" if has_end else "",
            format_size(row["stated_bytes"]) if row["stated_bytes"] else "-",
            f"{row['shared_by']} cpu" if row["shared_by"] else "-",
        )
    return table


def _curve_table(found: Survey) -> Table:
    """Return latency over size, one size per doubling, as bars on a logarithmic scale."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("\nSize", justify="right")
    kinds = [pages for pages in ("small", "huge") if found.latency.get(pages)]
    for pages in kinds:
        table.add_column(f"\n{pages} pages", justify="right")
    table.add_column(f"\nlatency ({kinds[-1]} pages)" if kinds else "")
    values = [one.best for pages in kinds for one in found.latency[pages].values()]
    sizes = sorted({size for pages in kinds for size in found.latency[pages]})
    for size in sizes:
        if size & (size - 1):
            continue
        row = [found.latency[pages].get(size) for pages in kinds]
        shown = [_text(one) if one else "-" for one in row]
        last = row[-1] or row[0]
        bar = _bar(last.best, min(values), max(values)) if last else ""
        table.add_row(format_size(size), *shown, bar)
    return table


def _bar(value: float, low: float, high: float) -> str:
    share = np.log(value / low) / np.log(high / low) if high > low else 0.0
    return "█" * (1 + round((_BAR - 1) * float(share)))


def _text(one: Value, unit: str = "s") -> str:
    return format_quantity(one.best, unit) + (_MARK if one.is_disturbed else "")


def _in_words_of_tlbs(tlbs: Curve | None) -> str:
    if tlbs is None:
        return "\nTLBs       undetermined: too few chases over pages could be measured"
    if not tlbs.steps:
        return "\nTLBs       one line in each page takes no longer than lines side by side"
    parts = [
        f"beyond {step.bytes / PAGE_BYTES:,.0f} pages, {format_size(step.bytes)} "
        f"({format_size(step.low)} to {format_size(step.high)}): "
        f"{format_quantity(step.height, 's')} more"
        for step in tlbs.steps
    ]
    return "\nTLBs       " + ";\n           ".join(parts)


def _moves(found: Survey) -> Iterator[str]:
    for threads in dict.fromkeys(threads for _, threads in found.bandwidth):
        shown = [
            f"{operation} {_text(one, 'B/s')}"
            for (operation, number), one in found.bandwidth.items()
            if number == threads and one.passes
        ]
        yield f"{threads} thread{'s' * (threads > 1)}".ljust(11) + ", ".join(shown)


def _pairs(found: Survey) -> Iterator[str]:
    times = {pair: one for pair, one in found.hand_over.items() if one.passes}
    if not times:
        return
    ordered = sorted(times, key=lambda pair: times[pair].best)
    ends = dict.fromkeys((ordered[0], ordered[-1]))
    shown = [f"processors {a} and {b} {_text(times[a, b])}" for a, b in ends]
    yield "Hand-over  " + ", at most ".join(shown)


def _counted(found: Survey) -> Iterator[str]:
    known = {name: one for name, one in found.counters.items() if not isinstance(one, str)}
    if known:
        shown = ", ".join(f"{name.replace('_', ' ')} {one:.2f}" for name, one in known.items())
        yield f"Counters   in an access of the largest chase: {shown}"
    absent: dict[str, list[str]] = {}
    for name, why in found.counters.items():
        if isinstance(why, str):
            absent.setdefault(why, []).append(name.replace("_", " "))
    for why, names in absent.items():
        yield f"No counter {', '.join(names)}: {why}"


def _values(found: Survey) -> Iterator[Value]:
    for values in found.latency.values():
        yield from values.values()
    for table in (found.chains, found.bandwidth, found.hand_over):
        yield from (one for one in table.values() if one.passes)


def format_size(size: float) -> str:
    """Return bytes in binary units.

    Examples
    --------
    >>> format_size(49152), format_size(1.5 * 2**30), format_size(float("inf"))
    ('48 KiB', '1.5 GiB', 'more')
    """
    if np.isinf(size):
        return "more"
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} B"


def trace_data(levels: Sequence[Level], result: Result, distances: Distances) -> dict[str, Any]:
    """Return a stream's results for programs."""
    sizes = curve_sizes(distances)
    ratios = distances.miss_ratio(np.array(sizes) // distances.line_bytes)
    return {
        "caches": levels,
        "result": result,
        "lines": distances.first_count,
        "miss_ratio": [
            {"bytes": size, "ratio": float(ratio)}
            for size, ratio in zip(sizes, ratios, strict=True)
        ],
    }


def curve_sizes(distances: Distances) -> list[int]:
    """Return sizes (B) of caches, by doubling, from one line until only first uses miss."""
    longest = max(len(distances.histogram), 1) / distances.rate
    count = int(np.ceil(np.log2(longest))) + 1
    return [distances.line_bytes << power for power in range(count + 1)]


def show_trace(
    levels: Sequence[Level], result: Result, distances: Distances, console: Console
) -> None:
    """Print a stream's results in 80 columns."""
    console.print(
        f"{result.accesses - result.fetches:,} accesses of data, {result.fetches:,} fetches; "
        f"{round(distances.first_count / distances.rate):,} lines of {distances.line_bytes} B\n"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("Cache", "size", "accesses", "misses", "ratio", "write-backs"):
        table.add_column(name, justify="left" if name == "Cache" else "right")
    rows = list(zip(levels, result.levels, strict=True))
    if result.instructions is not None:
        rows.insert(0, (levels[0], result.instructions))
    for level, counts in rows:
        table.add_row(
            counts.name, format_size(level.bytes), f"{counts.reads + counts.writes:,}",
            f"{counts.misses:,}", f"{counts.miss_ratio:.2%}", f"{counts.write_backs:,}",
        )  # fmt: skip
    console.print(table)
    near = result.levels[0]
    console.print(
        f"{levels[0].name} misses: {near.compulsory_misses:,} first uses, "
        f"{near.capacity_misses:,} by capacity, {near.conflict_misses:,} by conflict\n"
    )
    chart = Table(box=None, pad_edge=False, header_style="bold")
    chart.add_column("LRU of", justify="right")
    chart.add_column("misses", justify="right")
    chart.add_column("")
    sizes = curve_sizes(distances)
    ratios = distances.miss_ratio(np.array(sizes) // distances.line_bytes)
    for size, ratio in zip(sizes, ratios, strict=True):
        chart.add_row(format_size(size), f"{ratio:.2%}", "█" * round(_BAR * float(ratio)))
    console.print(chart)
