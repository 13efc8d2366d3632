"""The overheads over direct access as stacked bars, split as the paper splits them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from headroom.experiment.protocol.section import Section, SectionPoint, StackedBars
from headroom.experiment.protocol.system import Value
from headroom.systems.catalogue.measured.parameters import DATABASE_ALONE, POOL, PROCESS
from headroom.systems.catalogue.model import DIRECT, LASTING, TCP, TLS

_CASES = {DIRECT, LASTING, TCP, TLS}
_OF = {
    POOL: "with a pool of connections",
    PROCESS: "with a process for each client",
    DATABASE_ALONE: "without a catalogue",
}


def overheads(points: Sequence[SectionPoint]) -> list[Section]:
    """Return one bar for each group of four cases that differ in nothing else.

    A bar is the throughput of direct access over that of case 1. Its parts are direct access
    itself, which is 1, and what each case adds to the one after it; a part below 0 is drawn as 0.
    Each architecture has a section.
    """
    found: dict[Value, dict[tuple[tuple[str, Value], ...], dict[Value, float]]] = {}
    for point in points:
        if throughput := point.estimates.get("throughput"):
            groups = found.setdefault(point.config["architecture"], {})
            cases = groups.setdefault(_others(point.levels), {})
            cases[point.config["case"]] = throughput
    sections: list[Section] = []
    for architecture, groups in found.items():
        bars = {}
        for others, cases in groups.items():
            if architecture == DATABASE_ALONE and DIRECT in cases:
                cases[LASTING] = cases[DIRECT]
            if cases.keys() >= _CASES:
                bars[_label(others)] = _parts(cases)
        if bars:
            sections.append(_section(str(architecture), bars))
    return sections


def _section(architecture: str, bars: Mapping[str, list[float]]) -> StackedBars:
    return StackedBars(
        title=f"What an operation costs over direct access, {_OF[architecture]}",
        caption="Throughput of case 4 over that of case 1; medians of the replications.",
        bars=list(bars),
        parts=["direct access", "the rest of the catalogue", "new connections", "TLS"],
        values=list(bars.values()),
        metric="slowdown",
        unit="1",
    )


def _others(levels: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple(
        (name, level) for name, level in levels.items() if name not in ("case", "architecture")
    )


def _label(others: tuple[tuple[str, Value], ...]) -> str:
    return ", ".join(f"{name} {level}" for name, level in others) or "all"


def _parts(throughput: Mapping[Value, float]) -> list[float]:
    slowdown = {case: throughput[DIRECT] / throughput[case] for case in _CASES}
    steps = pairwise(slowdown[case] for case in (DIRECT, LASTING, TCP, TLS))
    return [1.0, *(max(after - before, 0.0) for before, after in steps)]
