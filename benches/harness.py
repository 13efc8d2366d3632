"""Benchmarks of Headroom and its peers: cases, fair measurement, result rows.

Headroom and its peers take turns, so drift of the machine affects all of them alike. Each value is
the median over the rounds; each ratio is the median of the ratios within a round. The benchmarks
measure processor time of this process and its children, because wall time on a shared machine also
measures the neighbours.

A part is one module `benches/<part>.py` with a function ``cases() -> list[Case]``; it starts with
``from benches.harness import Case``. An optional ``long_cases()`` returns the cases that run only
with ``--long``.
"""

import gc
import json
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Work: TypeAlias = Callable[[], float | None]
"""Does the work once; returns the amount of work if the metric is a rate, or its own value."""

Measure: TypeAlias = Literal["cpu_rate", "cpu_s", "wall_rate", "wall_s", "returned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One comparison: the same work by Headroom and by its peers.

    Parameters
    ----------
    name
        The work, e.g. ``"M/M/1, 200,000 customers"``.
    metric, unit
        The quantity compared, e.g. ``"customers per processor second"`` in ``"1/s"``.
    headroom
        Does the work with Headroom.
    peers
        Name (with version) of each peer to the function that does the same work with it.
    measure
        ``cpu_rate`` (default): amount returned / processor seconds; ``cpu_s``: processor
        seconds; ``wall_rate`` and ``wall_s`` likewise with elapsed time; ``returned``: the
        number that the function returns.
    better
        Which direction is better; times are better low regardless of this setting.
    repeats
        Measured rounds, >= 1. Six are the fewest whose smallest and largest ratio are an interval
        of at least 95% (96.9%) for the median ratio.
    unmeasured
        Rounds before those, which warm up the machine.
    cannot
        Name of each peer that cannot do the work to the reason; a row reports it.
    """

    name: str
    metric: str
    unit: str
    headroom: Work
    peers: Mapping[str, Work]
    measure: Measure = "cpu_rate"
    better: Literal["high", "low"] = "high"
    repeats: int = 6
    unmeasured: int = 1
    cannot: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of `benches/results/<part>.json`; a `ratio` above 1 means Headroom is better.

    A peer that cannot do the work has a `reason` and no results; one whose cost is too small to
    measure has a `reason` and no ratio.
    """

    case: str
    metric: str
    unit: str
    headroom: float
    peer: str
    peer_value: float | None
    ratio: float | None
    ratio_range: tuple[float, float] | None
    headroom_range: tuple[float, float]
    peer_range: tuple[float, float] | None
    repeats: int
    machine: str
    reason: str = ""


def measure_case(case: Case) -> list[Row]:
    """Return one row per peer, measured in turns.

    Examples
    --------
    >>> case = Case(
    ...     name="nothing", metric="answers", unit="1", measure="returned",
    ...     headroom=lambda: 6.0, peers={"half": lambda: 3.0}, repeats=3,
    ... )
    >>> [(row.peer, row.headroom, row.peer_value, row.ratio) for row in measure_case(case)]
    [('half', 6.0, 3.0, 2.0)]
    """
    contenders = {"": case.headroom, **case.peers}
    figures: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(case.unmeasured + case.repeats):
        for name, work in contenders.items():
            figure = _measured(work, case)
            if number >= case.unmeasured:
                figures[name].append(figure)
    rows = [_row(case, figures[""], peer, figures[peer]) for peer in case.peers]
    return rows + [_row(case, figures[""], peer, [], why) for peer, why in case.cannot.items()]


def _measured(work: Work, case: Case) -> float:
    gc.collect()
    cpu_before, wall_before = _processor_s(), time.perf_counter()
    returned = work()
    wall_s = time.perf_counter() - wall_before
    cpu_s = _processor_s() - cpu_before
    if case.measure == "cpu_s":
        return cpu_s
    if case.measure == "wall_s":
        return wall_s
    if returned is None:
        raise TypeError(
            f"case {case.name!r} measures {case.measure}: its work must return a number"
        )
    if case.measure == "returned":
        return returned
    return returned / (cpu_s if case.measure == "cpu_rate" else wall_s)


def _processor_s() -> float:
    """Return user and system seconds of this process, its threads and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _row(case: Case, ours: list[float], peer: str, theirs: list[float], reason: str = "") -> Row:
    is_better_high = case.better == "high" and case.measure not in {"cpu_s", "wall_s"}
    # The kernel counts short times in ticks: of a contender that no tick has met, nothing is known.
    ratios = [
        own / other if is_better_high else other / own
        for own, other in zip(ours, theirs, strict=False)
        if own > 0.0 and other > 0.0
    ]
    if theirs and not ratios:
        reason = "too short a time for the kernel to count"
    return Row(
        case=case.name,
        metric=case.metric,
        unit=case.unit,
        headroom=statistics.median(ours),
        peer=peer,
        peer_value=statistics.median(theirs) if theirs else None,
        ratio=statistics.median(ratios) if ratios else None,
        ratio_range=(min(ratios), max(ratios)) if ratios else None,
        headroom_range=(min(ours), max(ours)),
        peer_range=(min(theirs), max(theirs)) if theirs else None,
        repeats=case.repeats,
        machine=machine(),
        reason=reason,
    )


def machine() -> str:
    """Return processor, cores and interpreter in one line, for the rows."""
    return (
        f"{_processor_name()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def _processor_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def table(rows: list[Row]) -> str:
    """Return the rows as a text table; if a peer cannot do the work, the reason replaces its value.

    Examples
    --------
    >>> row = Row(
    ...     case="sort", metric="items", unit="1/s", headroom=2e6, peer="other", peer_value=1e6,
    ...     ratio=2.0, ratio_range=(1.9, 2.1), headroom_range=(2e6, 2e6), peer_range=(1e6, 1e6),
    ...     repeats=1, machine="m",
    ... )
    >>> print(table([row]))
    case  metric       headroom  peer   peer value  ratio  from  to
    sort  items (1/s)  2.00e+06  other  1.00e+06    2.00   1.90  2.10
    """
    lines = [("case", "metric", "headroom", "peer", "peer value", "ratio", "from", "to")]
    lines += [
        (
            row.case,
            f"{row.metric} ({row.unit})",
            figure(row.headroom),
            row.peer,
            *_peer_cells(row),
        )
        for row in rows
    ]
    return aligned(lines)


def _peer_cells(row: Row) -> tuple[str, str, str, str]:
    if row.peer_value is None:
        return (f"cannot: {row.reason}", "", "", "")
    if row.ratio is None or row.ratio_range is None:
        return (figure(row.peer_value), row.reason, "", "")
    low, high = row.ratio_range
    return (figure(row.peer_value), figure(row.ratio), figure(low), figure(high))


def figure(value: float) -> str:
    """Return a measured value with three digits, and without an exponent up to a million.

    Examples
    --------
    >>> figure(2.0), figure(121.4), figure(4328.0)
    ('2.00', '121', '4,330')
    """
    short = f"{value:#.3g}".rstrip(".")
    is_in_thousands = short.endswith(("e+03", "e+04", "e+05"))
    return f"{float(short):,.0f}" if is_in_thousands else short


def ratio_cell(row: Row) -> str:
    """Return the ratio of a row with its range, or why there is none."""
    if row.ratio is None or row.ratio_range is None:
        return row.reason if row.peer_value is not None else f"cannot: {row.reason}"
    low, high = row.ratio_range
    return f"{figure(row.ratio)} ({figure(low)} to {figure(high)})"


def verdict_cell(row: Row, asked: float, *, is_limit: bool = False) -> str:
    """Return whether all ratios meet what is asked; undecided if only some do.

    Examples
    --------
    >>> row = Row(
    ...     case="c", metric="m", unit="1", headroom=1.0, peer="p", peer_value=1.0, ratio=1.4,
    ...     ratio_range=(1.2, 1.5), headroom_range=(1.0, 1.0), peer_range=(1.0, 1.0), repeats=6,
    ...     machine="",
    ... )
    >>> [verdict_cell(row, asked) for asked in (1.1, 1.3, 1.6)]
    ['met', 'undecided', 'missed']
    >>> [verdict_cell(row, asked, is_limit=True) for asked in (1.1, 1.3, 1.6)]
    ['missed', 'undecided', 'met']
    """
    if row.ratio_range is None:
        return ""
    met = [(ratio <= asked) if is_limit else (ratio >= asked) for ratio in row.ratio_range]
    if all(met):
        return "met"
    return "undecided" if any(met) else "missed"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    r"""Return the lines with their cells in columns.

    Examples
    --------
    >>> aligned([("a", "b"), ("long", "c")])
    'a     b\nlong  c'
    """
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def write_rows(rows: Sequence[Any], path: Path) -> None:
    """Write dataclasses as one JSON list, a line each; the file is replaced whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    text = ",\n".join(json.dumps(asdict(row)) for row in rows)
    unfinished.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    unfinished.replace(path)


def read_rows(path: Path) -> list[Row]:
    """Return the rows that `write_rows` wrote."""
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def print_stored(path: Path, shown: Callable[[list[Row]], str], arguments: Sequence[str]) -> int:
    """Print the stored table of a part; measuring is the business of `benches.run`."""
    if arguments != ["--table"]:
        print(f"python -m benches.{path.stem} --table prints the stored results;")
        print(f"make bench PART={path.stem} measures anew")
        return 2
    if not path.is_file():
        print(f"no results are stored: make bench PART={path.stem} measures", file=sys.stderr)
        return 2
    print(shown(read_rows(path)))
    return 0
