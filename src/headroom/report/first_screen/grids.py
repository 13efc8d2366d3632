"""Figures of two factors, of sections that systems add, and of what happens over time."""

from collections.abc import Sequence

from headroom.analysis.answer_evidence import FigureChoice
from headroom.analysis.results import ExperimentResult
from headroom.experiment.protocol.section import Matrix, Section, StackedBars, Timeline
from headroom.quantities import choose_scale, format_level, format_quantity
from headroom.report.figures.axes import linear_axis
from headroom.report.figures.inputs import (
    Cell,
    Cells,
    Figure,
    Key,
    Lane,
    Lanes,
    Stack,
    Stacks,
)
from headroom.report.figures.roles import Role
from headroom.report.first_screen.scales import (
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
PARTS: tuple[tuple[Role, bool], ...] = (
    ("data", False),
    ("limit", False),
    ("third", False),
    ("better", False),
    ("data", True),
    ("limit", True),
    ("third", True),
    ("context", False),
    ("better", True),
    ("differs", False),
    ("context", True),
    ("differs", True),
    ("published", False),
    ("published", True),
)
"""Colours of parts and states that look different."""
_PARTS_ON_SCREEN = 8
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
    names = list(dict.fromkeys(point.limiter for point in found.values() if point.limiter))
    return Cells(
        columns=tuple(map(format_level, columns)),
        rows=tuple(map(format_level, rows)),
        column_title=factor_title(experiment, choice.factor),
        row_title=f"{title_of([metric], scale)}, by {factor_title(experiment, choice.series)}",
        cells=tuple(
            tuple(
                Cell(
                    text=digits(point.estimates[metric].value, scale),
                    word=point.limiter,
                    role=_limit_role(point.limiter, names),
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


def _limit_role(name: str, names: Sequence[str]) -> Role:
    roles: tuple[Role, ...] = ("data", "limit", "third", "better")
    return roles[min(names.index(name), len(roles) - 1)] if name else "context"


def has_room(section: Section) -> bool:
    """Return whether a first screen has room for what a system adds."""
    if isinstance(section, StackedBars):
        return len(section.bars) <= _MOST_STACKS and len(section.parts) <= _PARTS_ON_SCREEN
    if isinstance(section, Matrix):
        return max(len(section.rows), len(section.columns)) <= _MOST_MATRIX
    lanes = {span.lane for span in section.spans}
    return len(lanes) <= _MOST_STACKS and len(section.ordered_states()) <= _PARTS_ON_SCREEN


def section_of(section: Section) -> Figure | None:
    """Return the figure of what a system adds; None if there is nothing to draw."""
    if isinstance(section, StackedBars):
        return _stacks(section) if section.bars else None
    if isinstance(section, Matrix):
        return _matrix(section)
    return _lanes(section) if section.spans else None


def _parts(names: Sequence[str]) -> Key:
    """Return the colours of parts; beyond those that look different, they begin again."""
    return tuple((name, *PARTS[place % len(PARTS)]) for place, name in enumerate(names))


def _stacks(section: StackedBars) -> Stacks:
    totals = [sum(row) for row in section.values]
    scale = choose_scale(totals, section.unit, metric=section.metric)
    return Stacks(
        x=value_axis([t * scale.factor for t in totals], axis_title(section.metric, scale), scale),
        parts=_parts(section.parts),
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
    if not known:
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
                    hint=f"{row}, {column}: "
                    f"{format_quantity(value, section.unit, metric=section.metric)}",
                    strength=0.1 + 0.9 * (value - low) / ((high - low) or 1.0),
                )
                for column, value in zip(section.columns, values, strict=True)
            )
            for row, values in zip(section.rows, section.values, strict=True)
        ),
    )


def _lanes(section: Timeline) -> Lanes:
    states = section.ordered_states()
    names = list(dict.fromkeys(span.lane for span in section.spans))
    ends = [span.end_s for span in section.spans]
    scale = choose_scale(ends, "s")
    return Lanes(
        x=linear_axis([end * scale.factor for end in ends], f"time ({scale.label})"),
        states=_parts(states),
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
