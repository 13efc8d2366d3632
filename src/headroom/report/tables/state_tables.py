"""Tables for each class: its results, its states, and each station and pool that it uses.

Invariant: nothing is computed here; a table without rows is not shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.report.states import class_names, shares_of
from headroom.report.tables.tables import (
    Cell,
    Head,
    Table,
    estimate_cell,
    factor_heads,
    level_cells,
)

_CLASS_COLUMNS = {
    "throughput": "Throughput",
    "response_s_mean": "Mean response time",
    "response_s_p95": "Response time p95",
    "jobs_mean": "Mean jobs",
    "goodput": "Goodput",
    "lost_ratio": "Lost",
    "reject_ratio": "Rejected",
    "abandon_ratio": "Abandoned",
    "fail_ratio": "Failed",
    "late_ratio": "Late",
    "failed_tries_mean": "Failed tries per job",
}
_LOST = {"lost_ratio", "late_ratio", "failed_tries_mean"}
_VISIT_COLUMNS = {
    "throughput": "Throughput",
    "wait_s_mean": "Mean wait",
    "response_s_mean": "Mean response time",
    "jobs_mean": "Mean jobs",
}


def class_tables(experiment: ExperimentResult, *, at_most: int) -> list[Table]:
    """Return the tables of classes, of their states and of their visits, those with rows."""
    points = experiment.points
    kinds = [
        _Kind("Classes", ["Class"], _CLASS_COLUMNS, _class_rows(points)),
        _Kind("Time by state", ["Class", "State"], {"share": "Share"}, _state_rows(points)),
        _Kind("Classes at each part", ["Part", "Class"], _VISIT_COLUMNS, _visit_rows(points)),
    ]
    return [_table(experiment, kind, at_most=at_most) for kind in kinds if kind.rows]


_Found: TypeAlias = tuple[PointResult, list[str], dict[str, Estimate]]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of table: its caption, the heads of its names and of its figures, and its rows."""

    caption: str
    words: list[str]
    columns: dict[str, str]
    rows: list[_Found]


def _class_rows(points: Sequence[PointResult]) -> list[_Found]:
    """Return the figures of each class; a class that is alone and loses nothing is left out."""
    class_rows = []
    for point in points:
        names = class_names(point)
        for name in names:
            figures = _figures(point, f"class.{name}.", _CLASS_COLUMNS)
            if len(names) > 1 or _LOST & figures.keys():
                class_rows.append((point, [name], figures))
    return class_rows


def _state_rows(points: Sequence[PointResult]) -> list[_Found]:
    return [
        (point, [name, state], {"share": estimate})
        for point in points
        for name in class_names(point)
        for state, estimate in shares_of(point, name).items()
    ]


def _visit_rows(points: Sequence[PointResult]) -> list[_Found]:
    return [
        (point, [resource.name, name], figures)
        for point in points
        for resource in point.resources
        for name in class_names(point)
        if (figures := _figures(point, f"{resource.kind}.{resource.name}.class.{name}.",
                                _VISIT_COLUMNS))
    ]  # fmt: skip


def _figures(point: PointResult, prefix: str, columns: dict[str, str]) -> dict[str, Estimate]:
    return {
        column: point.estimates[prefix + column]
        for column in columns
        if prefix + column in point.estimates
    }


def _table(experiment: ExperimentResult, kind: _Kind, *, at_most: int) -> Table:
    columns, rows = kind.columns, kind.rows
    shown = [column for column in columns if any(column in figures for _, _, figures in rows)]
    heads = factor_heads(experiment)
    heads += [Head(word) for word in kind.words]
    heads += [Head(columns[one], is_number=True) for one in shown]
    cells = [
        [
            *level_cells(experiment, point),
            *(Cell(name, name, is_head=True) for name in names),
            *(estimate_cell(figures.get(one)) for one in shown),
        ]
        for point, names, figures in rows[:at_most]
    ]
    is_cut = len(rows) > at_most
    note = f"{len(cells):,} of {len(rows):,} rows; headroom export writes all as CSV."
    return Table(kind.caption, heads, cells, note if is_cut else "")
