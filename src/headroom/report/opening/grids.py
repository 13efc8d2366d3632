"""Figures of two factors, of sections that systems add, and of what happens over time."""

from collections.abc import Sequence

from headroom.analysis.answer_evidence import FigureChoice
from headroom.analysis.results import ExperimentResult, PointResult
from headroom.experiment.protocol.section import Matrix, Section, StackedBars, Timeline
from headroom.quantities import choose_scale, format_level
from headroom.report.figures.axes import linear_axis
from headroom.report.figures.inputs import (
    Cell,
    Cells,
    Figure,
    Lane,
    Lanes,
    Stack,
    Stacks,
)
from headroom.report.figures.roles import Role
from headroom.report.opening.scales import (
    digits,
    factor_of,
    factor_title,
    is_at,
    scale_of,
    title_of,
    value_axis,
    where_of,
)
from headroom.report.words import axis_title

_MOST_COLUMNS, _MOST_CELL_ROWS = 8, 8
_PARTS: tuple[tuple[Role, bool], ...] = (
    ("data", False),
    ("limit", False),
    ("third", False),
    ("better", False),
    ("data", True),
    ("limit", True),
    ("third", True),
    ("context", False),
)
_MOST_STACKS = 16
_MOST_MATRIX = 32


def cells_of(choice: FigureChoice, experiment: ExperimentResult) -> Cells | None:
    """Return values by two factors, each with the part that limits there."""
    columns = sorted(set(factor_of(experiment, choice.factor).levels), key=_order)
    rows = sorted(set(factor_of(experiment, choice.series).levels), key=_order, reverse=True)
    metric = choice.metrics[0]
    if not 1 < len(columns) <= _MOST_COLUMNS or not 1 < len(rows) <= _MOST_CELL_ROWS:
        return None
    found = {
        (point.levels[choice.series], point.levels[choice.factor]): point
        for point in experiment.points
        if metric in point.estimates and is_at(point, where_of(choice, experiment))
    }
    if len(found) < 2:  # noqa: PLR2004
        return None
    scale = scale_of([point.estimates[metric] for point in found.values()])
    names = list(dict.fromkeys(filter(None, map(_limiter, found.values()))))
    return Cells(
        columns=tuple(map(format_level, columns)),
        rows=tuple(map(format_level, rows)),
        column_title=factor_title(experiment, choice.factor),
        row_title=f"{title_of([metric], scale)}, by {factor_title(experiment, choice.series)}",
        cells=tuple(
            tuple(
                Cell(
                    text=digits(point.estimates[metric].value, scale),
                    word=_limiter(point),
                    role=_limit_role(_limiter(point), names),
                )
                if (point := found.get((row, column))) is not None
                else None
                for column in columns
            )
            for row in rows
        ),
    )


def _order(level: object) -> tuple[bool, float, str]:
    is_number = isinstance(level, int | float)
    return (not is_number, float(level) if isinstance(level, int | float) else 0.0, str(level))


def _limiter(point: PointResult) -> str:
    return point.bottleneck.name if point.bottleneck and point.bottleneck.limits else ""


def _limit_role(name: str, names: Sequence[str]) -> Role:
    roles: tuple[Role, ...] = ("data", "limit", "third", "better")
    return roles[min(names.index(name), len(roles) - 1)] if name else "context"


def section_of(section: Section) -> Figure | None:
    """Return the figure of what a system adds; None if it has no room on a first screen."""
    if isinstance(section, StackedBars):
        return _stacks(section)
    return _matrix(section) if isinstance(section, Matrix) else _lanes(section)


def _stacks(section: StackedBars) -> Stacks | None:
    if not section.bars or len(section.bars) > _MOST_STACKS or len(section.parts) > len(_PARTS):
        return None
    totals = [sum(row) for row in section.values]
    scale = choose_scale(totals, section.unit, metric=section.metric)
    return Stacks(
        x=value_axis([t * scale.factor for t in totals], axis_title(section.metric, scale), scale),
        parts=tuple(
            (name, role, is_faint)
            for name, (role, is_faint) in zip(section.parts, _PARTS, strict=False)
        ),
        stacks=tuple(
            Stack(
                label=bar,
                parts=tuple(value * scale.factor for value in row),
                text=digits(total, scale),
            )
            for bar, row, total in zip(section.bars, section.values, totals, strict=True)
        ),
        title=section.bar_title,
    )


def _matrix(section: Matrix) -> Cells | None:
    known = [value for row in section.values for value in row if value is not None]
    if not known or max(len(section.rows), len(section.columns)) > _MOST_MATRIX:
        return None
    scale = choose_scale(known, section.unit, metric=section.metric)
    low, high = min(known), max(known)
    return Cells(
        columns=tuple(section.columns),
        rows=tuple(section.rows),
        column_title=section.column_title,
        row_title=f"{axis_title(section.metric, scale)}, by {section.row_title or 'row'}",
        cells=tuple(
            tuple(
                None
                if value is None
                else Cell(
                    text=digits(value, scale),
                    strength=0.1 + 0.9 * (value - low) / ((high - low) or 1.0),
                )
                for value in row
            )
            for row in section.values
        ),
    )


def _lanes(section: Timeline) -> Lanes | None:
    states = section.ordered_states()
    names = list(dict.fromkeys(span.lane for span in section.spans))
    if not names or len(states) > len(_PARTS) or len(names) > _MOST_STACKS:
        return None
    ends = [span.end_s for span in section.spans]
    scale = choose_scale(ends, "s")
    return Lanes(
        x=linear_axis([end * scale.factor for end in ends], f"time ({scale.label})"),
        states=tuple(
            (name, role, is_faint) for name, (role, is_faint) in zip(states, _PARTS, strict=False)
        ),
        lanes=tuple(
            Lane(
                label=name,
                spans=tuple(
                    (one.start_s * scale.factor, one.end_s * scale.factor, states.index(one.state))
                    for one in section.spans
                    if one.lane == name
                ),
            )
            for name in names
        ),
    )
