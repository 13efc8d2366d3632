"""Sections of the page of a recorded program: where its far accesses come from, and hot lines.

Invariant: sums are those of the tables; lines and memory without a bar of their own are "other".
"""

from collections.abc import Mapping, Sequence

from headroom.experiment.protocol.section import Section, SectionPoint
from headroom.systems.shared_memory.far_memory.tables import OTHER_LINES, SYNCHRONISING
from headroom.systems.shared_memory.simulated.sections import (
    Detail,
    Entry,
    detail_of,
    machine_details,
    ranked_section,
    time_section,
)

_MOST_HOT = 8


def program_sections(points: Sequence[SectionPoint]) -> list[Section]:
    """Return the sections of an experiment with a recorded program."""
    detail = detail_of(points, "cache", "first_touch", lambda point: bool(point.config["cache"]))
    return [*time_section(points), *_misses(detail), *machine_details(detail), *_hot_lines(detail)]


def _misses(detail: Detail) -> list[Section]:
    entries = {one.name: list(map(_miss, one.rows("misses.csv"))) for one in detail.shown}
    return ranked_section(
        detail, entries, title="Where far accesses come from", other=OTHER_LINES,
        caption="Time of all processors in other nodes, by line of code and by the line that "
        "allocates what it accesses.", metric="time_s",
    )  # fmt: skip


def _miss(row: Mapping[str, str]) -> Entry:
    line, function = row["line"], row["function"]
    if line == SYNCHRONISING:
        line = "synchronisation"
    return f"{line} ({function})" if function else line, row["memory"], float(row["time s"])


def _hot_lines(detail: Detail) -> list[Section]:
    """Return the hot lines of the point with a cache: without one, no node has copies."""
    entries = {
        one.name: [entry for row in one.rows("hot_lines.csv")[:_MOST_HOT] for entry in _hot(row)]
        for one in detail.shown[-1:]
    }
    name = "".join(entries)
    return ranked_section(
        detail, entries, title="Memory that writes of others take away", other=OTHER_LINES,
        caption=f"Copies that each hot line lost ({name}).", metric="copies", unit="1",
        most=_MOST_HOT,
    )  # fmt: skip


def _hot(row: Mapping[str, str]) -> list[Entry]:
    at = row["offset"]
    name = f"{row['memory']} at {at}" if at.startswith("0x") else f"{row['memory']} + {at} B"
    return [
        (name, "from caches of nodes", float(row["copies taken from nodes"])),
        (name, "from caches of processors", float(row["from processors"])),
    ]
