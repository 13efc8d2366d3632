"""Tables of a recorded program on a machine: where in its source its misses come from."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from headroom.experiment.protocol.artefact import Artefact
from headroom.systems.shared_memory.far_memory.variables import Variable, variable_at
from headroom.systems.shared_memory.hook.sites import Place
from headroom.systems.shared_memory.simulated.tables import common_tables, table

OTHER = "other memory: variables, stacks, mapped files"
"""Memory that no call allocated."""
SYNCHRONISING = "written back when threads synchronise"
"""What belongs to no line of code."""
OTHER_LINES = "other"
"""Lines and memory that have no row of their own."""
MOST_ROWS = 200
"""Lines of code that are listed."""


def tables(
    found: Mapping[str, Any],
    places: Mapping[int, Place],
    known: Sequence[Variable] = (),
    *,
    line_bytes: int = 64,
) -> tuple[Artefact, ...]:
    """Return the tables of a run.

    Parameters
    ----------
    found
        The run as the compiled part reports it.
    places
        Where sites are in the sources.
    known
        Variables of the program, by address.
    line_bytes
        Size (B) of a line of the machine.
    """
    names = group_names(found["groups"], places)
    return (
        table(
            "lines.csv",
            ("line", "function", "accesses to other nodes", "time s", "memory"),
            _lines(found["code"], names, places)[:MOST_ROWS],
        ),
        table(
            "allocations.csv",
            ("allocation", "allocations", "bytes", "accesses to other nodes", "time s"),
            _allocations(found, names)[:MOST_ROWS],
        ),
        table(
            "hot_lines.csv",
            ("memory", "offset", "copies taken from nodes", "from processors"),
            (_hot_line(row, names, known, line_bytes) for row in found["hot"]),
        ),
        table(
            "misses.csv",
            ("line", "function", "memory", "accesses to other nodes", "time s"),
            _misses(found["code"], names, places),
        ),
        *common_tables(found),
    )


def group_names(groups: Sequence[tuple[int, int, int]], places: Mapping[int, Place]) -> list[str]:
    """Return the name of each group of allocations: the line that allocates.

    Examples
    --------
    >>> group_names([(0, 0, 0), (7, 1, 64)], {7: Place("main", "a.c:3")})[1]
    'a.c:3 (main)'
    """
    return [OTHER, *(_named(places.get(site, Place("", hex(site)))) for site, _, _ in groups[1:])]


def _hot_line(
    row: tuple[int, int, int, int, int],
    names: Sequence[str],
    known: Sequence[Variable],
    line_bytes: int,
) -> tuple[object, ...]:
    address, group, offset, *lost = row
    if group:
        return (names[group], offset, *lost)
    variable = variable_at(known, address, size=line_bytes)
    if variable is None:
        return (OTHER, f"{address:#x}", *lost)
    return (variable.name, max(address - variable.start, 0), *lost)


def _named(place: Place) -> str:
    return f"{place.line} ({place.function})" if place.function else place.line


def _place(site: int, places: Mapping[int, Place]) -> Place:
    return places.get(site, Place("", hex(site))) if site else Place("", SYNCHRONISING)


def _misses(
    code: Sequence[tuple[int, int, int, float]], names: Sequence[str], places: Mapping[int, Place]
) -> list[tuple[object, ...]]:
    """Return one row for each line of code and the memory it accesses, and one for all others."""
    sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0, 0.0])
    for site, group, count, time_s in code:
        place = _place(site, places)
        pair = sums[place.line, place.function, names[group]]
        pair[0] += count
        pair[1] += time_s
    pairs = sorted(sums.items(), key=lambda row: (-row[1][1], row[0]))
    others = [values for _, values in pairs[MOST_ROWS:]]
    rest = [sum(values) for values in zip(*others, strict=True)]
    rows = [(*pair, *values) for pair, values in pairs[:MOST_ROWS]]
    return [*rows, *([(OTHER_LINES, "", OTHER_LINES, *rest)] if others else [])]


def _lines(
    code: Sequence[tuple[int, int, int, float]], names: Sequence[str], places: Mapping[int, Place]
) -> list[tuple[object, ...]]:
    """Return one row for each line of code, the longest time first."""
    counts: dict[Place, int] = defaultdict(int)
    times: dict[Place, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for site, group, count, time_s in code:
        place = _place(site, places)
        counts[place] += count
        times[place][group] += time_s
    rows = []
    for place, by_group in times.items():
        most = max(by_group, key=lambda group: by_group[group])
        total = sum(by_group.values())
        rows.append((total, (place.line, place.function, counts[place], total, names[most])))
    rows.sort(key=lambda row: (-row[0], str(row[1][0])))
    return [row for _, row in rows]


def _allocations(found: Mapping[str, Any], names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return one row for each allocating line, the longest time first."""
    counts: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0.0])
    for name, (_, number, size) in zip(names, found["groups"], strict=True):
        counts[name][0] += number
        counts[name][1] += size
    for _, group, count, time_s in found["code"]:
        counts[names[group]][2] += count
        counts[names[group]][3] += time_s
    rows = sorted(counts.items(), key=lambda row: (-row[1][3], row[0]))
    return [(name, *values) for name, values in rows]
