"""Sections of the page: what the processors of simulated machines spend their time on, and where.

Times of all points come from estimates. Details come from the tables of two points that differ in
nothing but their cache of far memory.

Invariant: what has no room is merged with its neighbours, or as "other". Left out is what is a
thousandth of the largest bar, and points beyond the first ones, which the caption says.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headroom.experiment.protocol.section import (
    Matrix,
    Section,
    SectionPoint,
    Span,
    StackedBars,
    Timeline,
)
from headroom.experiment.protocol.system import Value

KINDS = {
    "compute": "computing",
    "remote": "other nodes",
    "local": "own shared memory",
    "hit": "network cache",
    "waiting": "waiting for threads",
    "private": "private memory",
}
"""Names of the kinds of time on the page, in an order that gives all sections the same colours."""
MOST_POINTS = 40
MOST_GROUPS = 8
"""Groups of nodes."""
MOST_LANES, MOST_SLICES = 4, 64
"""Groups of nodes over the run, and parts of the run of all of them."""
MOST_PARTS = 5
"""Parts of a bar that have a name."""
LEAST_SHARE = 0.01
"""Share of the largest bar below which a bar has no name; a tenth of it is not drawn at all."""
MOST_LETTERS, _LINE_LETTERS, _FUNCTION_LETTERS = 30, 20, 12
"""Letters for which a page has room: of a name; if it is longer, of its line and its function."""
_PLACE = re.compile(r"(\S+) \((.*)\)(.*)")

Row = Mapping[str, str]
Entry = tuple[str, str, float]
"""Bar, part of the bar, value."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A point whose tables are shown, named by its cache."""

    name: str
    point: SectionPoint

    def rows(self, table: str) -> list[dict[str, str]]:
        """Return the rows of a table; none if the replication did not leave it."""
        found = self.point.artefacts.get(table)
        return found.rows() if found else []


@dataclass(frozen=True, slots=True)
class Detail:
    """The points whose tables are shown, without a cache first, and the levels of both."""

    shown: tuple[Shown, ...]
    kinds: tuple[str, ...]
    where: str

    def caption(self, *sentences: str) -> str:
        """Return a caption that ends with the levels of the points."""
        return " ".join([*sentences, *([f"At {self.where}."] if self.where else [])])


def machine_sections(points: Sequence[SectionPoint]) -> list[Section]:
    """Return the sections of Headroom's own programs, with details if all points run the same."""
    points = [point for point in points if point.config["program"] != "reads"]
    sections = time_section(points)
    if len({point.config["program"] for point in points}) != 1:
        return sections
    detail = detail_of(
        points, "protocol", "equal_cut", lambda point: point.config["protocol"] != "uncached"
    )
    arrays = {
        one.name: [
            (row["allocation"], KINDS["remote"], float(row["time s"]))
            for row in one.rows("allocations.csv")
        ]
        for one in detail.shown
    }
    return [
        *sections,
        *ranked_section(
            detail, arrays, title="Arrays whose accesses take long", other="other arrays",
            caption="Time of all processors in accesses to other nodes.", metric="time_s",
        ),
        *machine_details(detail),
    ]  # fmt: skip


def time_section(points: Sequence[SectionPoint]) -> list[Section]:
    """Return the time of each point by kind: relative to the fewest nodes if programs differ."""
    points = sorted(_with_times(points), key=_order_of_programs(points))
    if not points:
        return []
    kinds = _kinds(points)
    is_relative = len({point.config.get("program") for point in points}) > 1
    names = _telling(points)
    shown = points[:MOST_POINTS]
    units = [_least_nodes_s(point, points) if is_relative else 1.0 for point in shown]
    fastest = min(points, key=lambda point: point.estimates["run_s"])
    sentences = [
        "Mean of all processors.",
        "1 is the same program on the fewest nodes." if is_relative
        else f"Fastest: {_label(fastest, names)}." if len(points) > 1 else "",
        f"The first {len(shown)} of {len(points)} points." if len(shown) < len(points) else "",
    ]  # fmt: skip
    return [
        StackedBars(
            title="Time by kind",
            caption=" ".join(filter(None, sentences)),
            bars=[_label(point, names) for point in shown],
            parts=[KINDS[kind] for kind in kinds],
            values=[
                [point.estimates[f"{kind}_s"] / unit for kind in kinds]
                for point, unit in zip(shown, units, strict=True)
            ],
            metric="relative_time" if is_relative else "time_s",
            unit="1" if is_relative else "s",
        )
    ]


def _with_times(points: Sequence[SectionPoint]) -> list[SectionPoint]:
    needed = {"run_s", *(f"{kind}_s" for kind in KINDS)}
    return [point for point in points if needed <= point.estimates.keys()]


def _kinds(points: Sequence[SectionPoint]) -> tuple[str, ...]:
    """Return all kinds of time; the last one, which many programs lack, only if it occurs."""
    *kinds, last = KINDS
    is_there = any(point.estimates[f"{last}_s"] > 0.0 for point in points)
    return (*kinds, last) if is_there else tuple(kinds)


def _order_of_programs(points: Sequence[SectionPoint]) -> Callable[[SectionPoint], int]:
    order = list(dict.fromkeys(point.config.get("program") for point in points))
    return lambda point: order.index(point.config.get("program"))


def _least_nodes_s(point: SectionPoint, points: Sequence[SectionPoint]) -> float:
    """Return the time (s) of the point with the fewest nodes and otherwise the same levels."""
    others = _without(point.levels, "nodes")
    same = [one for one in points if _without(one.levels, "nodes") == others]
    return min(same, key=lambda one: int(one.config["nodes"])).estimates["run_s"]


def _without(levels: Mapping[str, Value], name: str) -> dict[str, Value]:
    return {key: level for key, level in levels.items() if key != name}


def _telling(points: Sequence[SectionPoint]) -> list[str]:
    """Return factors that suffice to distinguish the points: zipped ones add nothing."""
    names: list[str] = []
    count = 1
    factors = dict.fromkeys(name for point in points for name in point.levels)
    for name in sorted(factors, key=lambda name: name != "program"):
        found = len({tuple(point.levels.get(one) for one in [*names, name]) for point in points})
        if found > count:
            names, count = [*names, name], found
    return names


def _label(point: SectionPoint, names: Sequence[str]) -> str:
    levels = [(name, point.levels[name]) for name in names if name in point.levels]
    return ", ".join(_word(name, level) for name, level in levels) or "all nodes"


def _word(name: str, level: Value) -> str:
    """Return a level as a short text.

    Examples
    --------
    >>> _word("cache", False), _word("nodes", 4), _word("placement", "most"), _word("hop_s", 1e-7)
    ('no cache', '4 nodes', 'most', 'hop_s = 1e-07')
    """
    if isinstance(level, bool):
        return name if level else f"no {name}"
    if name == "nodes":
        return "1 node" if level == 1 else f"{level} nodes"
    return level if isinstance(level, str) else f"{name} = {level:g}"


def detail_of(
    points: Sequence[SectionPoint],
    factor: str,
    placement: str,
    has_cache: Callable[[SectionPoint], bool],
) -> Detail:
    """Return the points to look at closely.

    Of the points with a placement and the most nodes it is the first one, and the first one that
    differs from it in nothing but its cache.

    Parameters
    ----------
    points
        All points.
    factor
        What decides about the cache.
    placement
        The placement that is shown if any point has it.
    has_cache
        Whether a point has a cache.
    """
    points = _with_times(points)
    closely = [point for point in points if point.artefacts]
    if not closely:
        return Detail((), (), "")
    first = min(
        closely, key=lambda one: (one.config["placement"] != placement, -int(one.config["nodes"]))
    )
    same = [
        one
        for one in closely
        if _without(one.levels, factor) == _without(first.levels, factor)
    ]  # fmt: skip
    found = [
        next((one for one in same if has_cache(one) is is_cached), None)
        for is_cached in (False, True)
    ]
    names = ("no cache", "cache")
    shown = [Shown(name, one) for name, one in zip(names, found, strict=True) if one]
    telling = [name for name in _telling(points) if name != factor]
    where = _label(first, telling) if telling else ""
    return Detail(tuple(shown), _kinds(points), where)


def ranked_section(
    detail: Detail,
    entries: Mapping[str, Sequence[Entry]],
    *,
    title: str,
    caption: str,
    other: str,
    metric: str,
    unit: str = "s",
    most: int = 6,
) -> list[Section]:
    """Return the bars with the largest sums, one for each point, and a bar of all others.

    Parameters
    ----------
    detail
        The points.
    entries
        What the bars are made of, by the name of the point.
    title, caption, metric, unit
        Of the section.
    other
        Name of all other bars, and of all other parts.
    most
        Bars of a point besides the others.
    """
    every = [entry for found in entries.values() for entry in found]
    bars = _largest(((bar, value) for bar, _, value in every), most, other)
    parts = _largest(((part, value) for _, part, value in every), MOST_PARTS, other)
    sums: dict[tuple[str, str, str], float] = defaultdict(float)
    for point, found in entries.items():
        for bar, part, value in found:
            key = point, bar if bar in bars else other, part if part in parts else other
            sums[key] += value
    if not any(sums.values()):
        return []
    rows = [(point, bar) for bar in bars for point in entries]
    return [
        StackedBars(
            title=title,
            caption=detail.caption(caption),
            bars=_labels(rows, len(entries)),
            parts=_short(parts),
            values=[[sums[point, bar, part] for part in parts] for point, bar in rows],
            metric=metric,
            unit=unit,
        )
    ]


def _labels(rows: Sequence[tuple[str, str]], points: int) -> list[str]:
    """Return the labels of bars, with the name of their point if there are several points."""
    short = _short([bar for _, bar in rows])
    return [
        f"{name}, {point}" if points > 1 else name
        for (point, _), name in zip(rows, short, strict=True)
    ]


def _short(names: Sequence[str]) -> list[str]:
    r"""Return names for which a page has room, or the names themselves if two became one.

    Examples
    --------
    >>> _short(["a.c:3 (work)", "folder/of/many/sources.c:12 (a_long_function) + 8 B"])
    ['a.c:3 (work)', '\u2026f/many/sources.c:12 (a_long_func\u2026) + 8 B']
    """
    short = {name: _shortened(name) for name in names}
    is_clear = len(set(short.values())) == len(short)
    return [short[name] if is_clear else name for name in names]


def _shortened(name: str) -> str:
    """Return a name with the end of its line and the start of its function."""
    match = _PLACE.fullmatch(name)
    if len(name) <= MOST_LETTERS or match is None:
        return name
    line, function, rest = match.groups()
    line = line if len(line) <= _LINE_LETTERS else f"\u2026{line[1 - _LINE_LETTERS :]}"
    if len(function) > _FUNCTION_LETTERS:
        function = f"{function[: _FUNCTION_LETTERS - 1]}\u2026"
    return f"{line} ({function}){rest}"


def _largest(values: Iterator[tuple[str, float]], most: int, other: str) -> list[str]:
    """Return the names with the largest sums, then `other` if the others count."""
    sums: dict[str, float] = defaultdict(float)
    for name, value in values:
        sums[name] += value
    rest = sums.pop(other, 0.0)
    ranked = sorted(sums, key=lambda name: -sums[name])
    least = LEAST_SHARE * sums[ranked[0]] if ranked else 0.0
    named = [name for name in ranked[:most] if sums[name] > 0.0 and sums[name] >= least]
    rest += sum(sums[name] for name in ranked[len(named) :])
    return [*named, *([other] if rest > least / 10.0 else [])]


def machine_details(detail: Detail) -> list[Section]:
    """Return what any program has: the run in time, its nodes, and who uses whose memory."""
    return [*_over_time(detail), *_by_node(detail), *_sharing(detail)]


def _over_time(detail: Detail) -> list[Section]:
    rows = {one.name: one.rows("phases.csv") for one in detail.shown}
    lanes = [
        (name, f"node {group}", [row for row in found if int(row["node"]) in members])
        for name, found in rows.items()
        for group, members in _groups(len({row["node"] for row in found}), MOST_LANES)
    ]
    labels = _labels([(point, node) for point, node, _ in lanes], len(detail.shown))
    count = MOST_SLICES // max(len(lanes), 1)
    spans = [
        span
        for label, (_, _, of_lane) in zip(labels, lanes, strict=True)
        for span in _spans(detail.kinds, label, _slices(of_lane, detail.kinds, count))
    ]
    if not spans:
        return []
    caption = detail.caption(
        "Each part of the run is split by the time of the node; the order in it means nothing."
    )
    return [
        Timeline(
            title="Each node over the run",
            caption=caption,
            spans=spans,
            states=[KINDS[kind] for kind in detail.kinds],
        )
    ]


def _spans(
    kinds: Sequence[str], lane: str, slices: Sequence[tuple[float, list[float]]]
) -> Iterator[Span]:
    start = 0.0
    for end, spent in slices:
        share = (end - start) / (sum(spent) or 1.0)
        for kind, time in zip(kinds, spent, strict=True):
            if time > 0.0:
                until = min(start + share * time, end)
                yield Span(lane=lane, start_s=start, end_s=until, state=KINDS[kind])
                start = until
        start = end


def _slices(
    rows: Sequence[Row], kinds: Sequence[str], count: int
) -> list[tuple[float, list[float]]]:
    """Return the ends (s) of parts of about the same length, and the times in each by kind."""
    ends = [float(row["end s"]) for row in rows]
    merged: dict[int, tuple[float, list[float]]] = {}
    for row, end in zip(rows, ends, strict=True):
        place = min(int(count * end / (ends[-1] or 1.0)), count - 1)
        _, before = merged.get(place, (0.0, [0.0] * len(kinds)))
        times = [float(row[kind]) for kind in kinds]
        merged[place] = end, [sum(pair) for pair in zip(before, times, strict=True)]
    return list(merged.values())


def _by_node(detail: Detail) -> list[Section]:
    names, values = [], []
    for one in detail.shown:
        rows = one.rows("nodes.csv")
        for name, group in _groups(len(rows)):
            names.append((one.name, f"node {name}"))
            values.append([_mean(rows, group, kind) for kind in detail.kinds])
    if len(names) <= len(detail.shown):
        return []
    return [
        StackedBars(
            title="Time of each node",
            caption=detail.caption("Mean of its processors."),
            bars=_labels(names, len(detail.shown)),
            parts=[KINDS[kind] for kind in detail.kinds],
            values=values,
            metric="time_s",
            unit="s",
        )
    ]


def _mean(rows: Sequence[Row], group: range, kind: str) -> float:
    return sum(float(rows[node][kind]) for node in group) / len(group)


def _sharing(detail: Detail) -> list[Section]:
    """Return accesses by node and home; where caches answer them changes nothing."""
    rows = detail.shown[0].rows("sharing.csv") if detail.shown else []
    groups = list(_groups(len(rows)))
    if len(groups) < 2:  # noqa: PLR2004 - a node alone shares nothing
        return []
    names = [name for name, _ in groups]
    everything = range(len(rows))
    total = _accesses(rows, everything, everything) or 1.0
    return [
        Matrix(
            title="Whose shared memory each node uses",
            caption=detail.caption("Of all accesses of shared memory, cached ones included."),
            rows=names,
            columns=names,
            row_title="accesses of node",
            column_title="memory of node",
            values=[
                [_accesses(rows, group, homes) / total for _, homes in groups]
                for _, group in groups
            ],
            metric="access_share",
            unit="1",
        )
    ]


def _accesses(rows: Sequence[Row], nodes: range, homes: range) -> float:
    names = [f"memory of node {home}" for home in homes]
    return float(sum(int(rows[node][name]) for node in nodes for name in names))


def _groups(count: int, most: int = MOST_GROUPS) -> Iterator[tuple[str, range]]:
    """Yield the name and the members of at most `most` groups of nodes.

    Examples
    --------
    >>> [name for name, _ in _groups(2)], [name for name, _ in _groups(64)][-1]
    (['0', '1'], '56-63')
    """
    step = -(-count // most)
    for first in range(0, count, max(step, 1)):
        last = min(first + step, count) - 1
        yield (f"{first}" if first == last else f"{first}-{last}"), range(first, last + 1)
