"""Tables of a simulated run: where misses come from, who uses whose memory, the phases in time."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headroom.experiment.protocol.artefact import Artefact
from headroom.systems.shared_memory import native

MOST_ROWS, LEAST_PARTS = 400, 16
"""Rows of the table of phases, and parts of the run that it has all the same.

More phases are merged, neighbour by neighbour.
"""


def tables(found: Mapping[str, Any]) -> tuple[Artefact, ...]:
    """Return the tables of a run as the compiled part reports it."""
    allocations: list[tuple[str, int, int, float, int]] = found["allocations"]
    by_time = sorted(allocations, key=lambda row: -row[3])
    return (
        table(
            "allocations.csv",
            ("allocation", "bytes", "accesses to other nodes", "time s", "copies taken away"),
            by_time,
        ),
        *common_tables(found),
    )


def common_tables(found: Mapping[str, Any]) -> tuple[Artefact, ...]:
    """Return the tables that any program has: who uses whose memory, the nodes, the phases."""
    homes = range(len(found["sharing"]))
    return (
        table(
            "sharing.csv",
            ("accesses of node", *(f"memory of node {home}" for home in homes)),
            ([node, *row] for node, row in enumerate(found["sharing"])),
        ),
        table(
            "nodes.csv",
            ("node", *native.TIME_KINDS),
            ([node, *times] for node, times in enumerate(_of_nodes(found["spent_s"], len(homes)))),
        ),
        table("phases.csv", ("end s", "node", *native.TIME_KINDS), phases(found["moments"])),
    )


def _of_nodes(spent_s: Sequence[Sequence[float]], nodes: int) -> Iterator[list[float]]:
    """Yield the mean time (s) of the processors of each node by kind."""
    each = len(spent_s) // nodes
    for node in range(nodes):
        own = spent_s[node * each : (node + 1) * each]
        yield [sum(times) / each for times in zip(*own, strict=True)]


def phases(
    moments: Sequence[tuple[float, Sequence[Sequence[float]]]],
) -> list[tuple[float, ...]]:
    """Return the end of each phase, each node, and the time (s) of its processors by kind.

    Examples
    --------
    >>> phases([(1.0, [[0.5, 0.5]]), (2.0, [[1.0, 0.0]])])
    [(1.0, 0, 0.5, 0.5), (2.0, 0, 1.0, 0.0)]
    >>> len(phases([(float(end), [[1.0], [1.0]]) for end in range(1000)]))
    400
    """
    nodes = len(moments[0][1]) if moments else 1
    step = max(-(-len(moments) // max(MOST_ROWS // nodes, LEAST_PARTS)), 1)
    merged = []
    for first in range(0, len(moments), step):
        part = moments[first : first + step]
        for node in range(nodes):
            of_node = (times[node] for _, times in part)
            sums = (sum(times) for times in zip(*of_node, strict=True))
            merged.append((part[-1][0], node, *sums))
    return merged


def table(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Artefact:
    """Return rows as CSV under the name of an artefact, numbers with six digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
    return Artefact(name=name, kind="table", content=text.getvalue().encode())
