"""The tables of the page: strings and sort keys, so that the templates only lay out.

Invariant: a cell's `sort` is the base-unit number behind its text, never the text of a number.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headroom.analysis.results import Estimate, ExperimentResult, ParameterUsed, PointResult
from headroom.experiment.machine.machine_identity import ROLES
from headroom.experiment.protocol.roles import LOAD
from headroom.quantities import Scale, choose_scale, format_level, format_quantity, format_with_unit
from headroom.report.notes.saturation import SATURATED, is_unbounded
from headroom.report.numbers import format_estimate
from headroom.report.words import direction_phrase, label_factor, title_metric, why_no_figures

_COMMON_SCALE_SPAN = 100.0
_NUMBER = re.compile(r"-?[\d,]*\.?\d+")
NO_SOURCE = "no source stated"
"""Source of a parameter whose model says nothing about it."""
_ESSENTIALS = (
    ("processor", "cpu", "model"),
    ("usable processors", "cpu", "usable_count"),
    ("virtual machine", "cpu", "is_virtual"),
    ("memory", "memory", "total_bytes"),
    ("host", "host", "name"),
    ("system", "host", "distribution"),
    ("kernel", "host", "kernel"),
    ("Python", "software", "python"),
    ("Headroom", "software", "headroom"),
    ("Headroom core", "software", "core_build_profile"),
    ("commit", "repository", "commit"),
    ("uncommitted changes", "repository", "is_dirty"),
)
_UNITS_IN_NAMES = {"s": "s", "bytes": "B"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, its sort key, its alignment, a remark in small print."""

    text: str
    sort: str = ""
    is_number: bool = False
    remark: str = ""
    is_head: bool = False
    mark: str = ""

    def short_key(self) -> str:
        """Return the sort key with four digits if it is a number."""
        try:
            return f"{float(self.sort):.4g}"
        except ValueError:
            return self.sort

    def is_in_text(self) -> bool:
        """Return whether a script finds the sort key in the text: words, or no key at all."""
        return self.sort in {"", self.text} or not (self.is_number or self.is_head)


@dataclass(frozen=True, slots=True)
class Head:
    """One column head: words, unit, alignment."""

    text: str
    unit: str = ""
    is_number: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that the template lays out."""

    caption: str
    heads: list[Head]
    rows: list[list[Cell]]
    note: str = ""
    is_sortable: bool = True

    def keyed_columns(self) -> set[int]:
        """Return the columns whose texts do not have the order of their keys: units differ."""
        columns = enumerate(zip(*self.rows, strict=True)) if self.rows else ()
        return {place for place, cells in columns if self.is_sortable and not _in_order(cells)}


def _in_order(cells: Sequence[Cell]) -> bool:
    """Return whether the numbers at the start of texts are in the order of their sort keys."""
    keyed = [cell for cell in cells if not cell.is_in_text()]
    try:
        found = sorted((float(one.sort), float(_number_of(one.text))) for one in keyed)
    except ValueError:
        return False
    leads = [lead for _, lead in found]
    return leads == sorted(leads)


def _number_of(text: str) -> str:
    found = _NUMBER.match(text)
    return found[0].replace(",", "") if found else ""


def column_scale(estimates: Iterable[Estimate]) -> Scale | None:
    """Return one scale for a column, None if its values span too much for one unit."""
    found = list(estimates)
    sizes = [abs(estimate.value) for estimate in found if estimate.value]
    if not sizes or max(sizes) / min(sizes) > _COMMON_SCALE_SPAN:
        return None
    return choose_scale(sizes, found[0].unit, metric=found[0].metric)


def points_table(experiment: ExperimentResult, *, at_most: int) -> Table:
    """Return the table of the points: levels, responses with intervals, what limits, state.

    Parameters
    ----------
    at_most
        Rows at most; a note then says how many more there are, and where.
    """
    points = experiment.points
    metrics = [
        m
        for m in experiment.responses
        if any(m in p.estimates or is_unbounded(p, m) for p in points)
    ]
    scales = {m: column_scale(p.estimates[m] for p in points if m in p.estimates) for m in metrics}
    has_limits = any(point.bottleneck for point in points)
    heads = factor_heads(experiment)
    heads += [_metric_head(metric, scales[metric], points) for metric in metrics]
    heads += [Head("What limits")] if has_limits else []
    heads += [Head("n", is_number=True, hint="replications done"), Head("State")]
    rows = [
        [
            *level_cells(experiment, point),
            *(_response_cell(point, m, scales[m]) for m in metrics),
            *([_limit_cell(point)] if has_limits else []),
            Cell(str(point.done), str(point.done), is_number=True),
            _state_cell(point),
        ]
        for point in points[:at_most]
    ]
    caption = "All points" if len(rows) == len(points) else "Points"
    note = rest_note(len(rows), len(points), "points")
    is_predicted = any(e.margin is not None for p in points for e in p.estimates.values())
    kind = "prediction intervals" if is_predicted else "intervals"
    return Table(f"{caption}, with 95% {kind} in brackets", heads, rows, note)


def rest_note(shown: int, total: int, noun: str) -> str:
    """Return how many rows are missing and where they are; nothing if none is."""
    if shown >= total:
        return ""
    return (
        f"The first {shown:,} of {total:,} {noun}, {total - shown:,} more are left out; "
        "headroom export writes all as CSV."
    )


def _metric_head(metric: str, scale: Scale | None, points: Iterable[PointResult]) -> Head:
    better = next((p.estimates[metric].better for p in points if metric in p.estimates), "none")
    hint = ", ".join(filter(None, [metric, direction_phrase(better)]))
    return Head(title_metric(metric), scale.label if scale else "", is_number=True, hint=hint)


def factor_heads(experiment: ExperimentResult) -> list[Head]:
    """Return a head for each factor."""
    return [Head(label_factor(one), is_number=one.is_numeric) for one in experiment.factors]


def level_cells(experiment: ExperimentResult, point: PointResult) -> list[Cell]:
    """Return the levels of a point under `factor_heads`."""
    return [
        Cell(text, text, is_number=factor.is_numeric, is_head=True)
        for factor in experiment.factors
        for text in [format_level(point.levels.get(factor.name))]
    ]


def number_cell(text: str, value: float | None, *, remark: str = "") -> Cell:
    """Return a number; if its text ends with an interval, that is in small print."""
    shown, _, bounds = text.partition(" (")
    key = "" if value is None else repr(value)
    return Cell(shown, key, is_number=True, remark=f"({bounds}" if bounds else remark)


def estimate_cell(estimate: Estimate | None, scale: Scale | None = None) -> Cell:
    """Return an estimate with its interval, empty if it is missing."""
    if estimate is None:
        return number_cell("", None)
    return number_cell(format_estimate(estimate, scale=scale), estimate.value)


def _response_cell(point: PointResult, metric: str, scale: Scale | None) -> Cell:
    if is_unbounded(point, metric):
        return Cell(SATURATED, "inf", is_number=True, remark="without bound")
    return estimate_cell(point.estimates.get(metric), scale)


def _limit_cell(point: PointResult) -> Cell:
    bottleneck = point.bottleneck
    if bottleneck is None:
        return Cell("")
    if not bottleneck.limits:
        return Cell("nothing" if point.estimates else "", "")
    return Cell(bottleneck.name, bottleneck.name, remark=f"{bottleneck.utilization * 100.0:.1f}%")


def _state_cell(point: PointResult) -> Cell:
    states = (
        (point.failed > 0 and not point.done, Cell("failed", "3", mark="bad")),
        (point.saturation is not None, Cell(SATURATED, "2", mark="warn")),
        (bool(why_no_figures(point)), Cell("no figures", "3", mark="bad")),
        (bool(point.faults), Cell("fault", "2", mark="bad")),
        (not point.done, Cell("not run", "2", mark="warn")),
        (point.failed > 0, Cell(f"{point.failed} failed", "1", mark="warn")),
        (_is_unsteady(point), Cell("not steady", "1", mark="warn")),
        (point.precision_reached is False, Cell("not precise", "1", mark="warn")),
    )
    found = next((cell for applies, cell in states if applies), Cell("done", "0"))
    return replace(found, remark="added") if point.is_added else found


def _is_unsteady(point: PointResult) -> bool:
    return point.warm_up is not None and not point.warm_up.is_steady


def resources_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return one row per point and station or pool, None if there is none."""
    placed = [(point, found) for point in experiment.points for found in point.resources]
    if not placed:
        return None
    shown = [
        (point, found, found.estimates_among(point.estimates)) for point, found in placed[:at_most]
    ]
    metrics = list(dict.fromkeys(metric for _, _, estimates in shown for metric in estimates))
    rows = [
        [
            *level_cells(experiment, point),
            Cell(resource.name, resource.name, is_head=True, remark=resource.kind),
            *(estimate_cell(estimates.get(metric)) for metric in metrics),
        ]
        for point, resource, estimates in shown
    ]
    heads = factor_heads(experiment)
    heads += [Head("Part"), *(Head(title_metric(m), is_number=True, hint=m) for m in metrics)]
    note = rest_note(len(rows), len(placed), "rows")
    return Table("Stations and pools", heads, rows, note)


def parameters_table(
    experiment: ExperimentResult, before: ExperimentResult | None = None
) -> Table | None:
    """Return the parameters with value, range, origin and source, None if there is none.

    Parameters
    ----------
    experiment
        The experiment whose parameters are listed.
    before
        An experiment whose table the reader has: parameters that are the same there are counted.
    """
    known = before.parameters if before is not None else []
    listed = [used for used in experiment.parameters if used not in known]
    same = len(experiment.parameters) - len(listed)
    if not experiment.parameters:
        return None
    heads = [Head("Parameter"), Head("Value", is_number=True), Head("Range"), Head("Set by")]
    heads += [Head("Source of the default or value"), Head("Meaning")]
    caption = f"Parameters: {experiment.title or experiment.name}"
    note = f"{same} others as in: {before.title or before.name}." if before and same else ""
    return Table(caption, heads, [_parameter_row(used) for used in listed], note)


def _parameter_row(used: ParameterUsed) -> list[Cell]:
    value = _value_words(used)
    return [
        Cell(used.name, used.name, is_head=True),
        Cell(value, format_level(used.value), is_number=True),
        Cell(_range_words(used)),
        Cell(used.origin, used.origin),
        Cell(used.source or NO_SOURCE, used.source),
        Cell(used.description),
    ]


def _value_words(used: ParameterUsed) -> str:
    if used.origin == "factor":
        return "varied"
    if used.origin == "fitted" and used.value is None:
        return "not known, or one by level"
    return format_with_unit(used.value, used.unit)


def _range_words(used: ParameterUsed) -> str:
    if used.low is None and used.high is None:
        return ""
    if used.high is None:
        return f"at least {format_with_unit(used.low, '')}"
    if used.low is None:
        return f"at most {format_with_unit(used.high, '')}"
    return " to ".join(format_with_unit(bound, "") for bound in (used.low, used.high))


def flatten(record: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return a nested record as rows of name and text, in its own order.

    Examples
    --------
    >>> flatten({"cpu": {"model": "x", "cores": 2}, "versions": ["a", "b"], "dirty": False})
    [('cpu model', 'x'), ('cpu cores', '2'), ('versions', 'a; b'), ('dirty', 'false')]
    >>> flatten({"overhead_s_max": 0.0012, "memory": {"total_bytes": 16e9}})
    [('overhead max', '1.20 ms'), ('memory total', '16.0 GB')]
    """
    rows: list[tuple[str, str]] = []
    for name, value in record.items():
        label = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            rows += flatten(value, f"{label} ")
        elif isinstance(value, (list, tuple)):
            rows.append((label, "; ".join(_item(item) for item in value)))
        else:
            rows.append(_fact(label, value))
    return rows


def _item(item: object) -> str:
    if isinstance(item, Mapping):
        return ", ".join(f"{name} {text}" for name, text in flatten(item))
    return format_level(item)


def essentials(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the few facts of an environment that a reader looks for first.

    Examples
    --------
    >>> essentials({"cpu": {"model": "x", "microcode": "0x1"}, "host": {"kernel": "6.1"}})
    [('processor', 'x'), ('kernel', '6.1')]
    >>> load, server = ({"host": {"measured_as": n, "name": "vm"}} for n in ("gen1", "db1"))
    >>> essentials({**load, "roles": {"server": {**server, "cpu": {"model": "x"}}}})[:2]
    [('role load', 'gen1 (vm)'), ('role server', 'db1 (vm): x')]
    """
    found = [
        (words, dict(flatten({name: table[name]})))
        for words, part, name in _ESSENTIALS
        if name in (table := environment.get(part) or {})
    ]
    return [*_roles(environment), *((words, " ".join(texts.values())) for words, texts in found)]


def _roles(environment: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return which machine had which role, if an experiment used several."""
    if not (others := environment.get(ROLES)):
        return []
    return [
        (f"role {role}", _machine(facts)) for role, facts in {LOAD: environment, **others}.items()
    ]


def _machine(facts: Mapping[str, Any]) -> str:
    host, cpu = facts.get("host", {}), facts.get("cpu", {})
    size_bytes = facts.get("memory", {}).get("total_bytes")
    parts = [
        cpu.get("model"),
        f"{cpu['usable_count']} processors" if "usable_count" in cpu else None,
        format_quantity(float(size_bytes), "B") if size_bytes else None,
        f"kernel {host['kernel']}" if "kernel" in host else None,
    ]
    name = f"{host.get('measured_as')} ({host.get('name')})"
    return ": ".join(filter(None, [name, ", ".join(filter(None, parts))]))


def _fact(label: str, value: object) -> tuple[str, str]:
    """Return a fact whose name says its unit as a quantity, others as they are."""
    words = label.split()
    unit_word = next((word for word in words if word in _UNITS_IN_NAMES), None)
    if unit_word is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return label, format_level(value)
    name = " ".join(word for word in words if word != unit_word)
    return name, format_quantity(float(value), _UNITS_IN_NAMES[unit_word])
