"""Sections that layers add, as panels and as tables.

Invariant: a figure and its table have the same numbers; nothing is computed but scales.
"""

from typing import TYPE_CHECKING

from headroom.analysis.results import ExperimentResult
from headroom.experiment.protocol.section import Matrix, Section, Timeline
from headroom.quantities import format_quantity
from headroom.report.charts.panel import Panel
from headroom.report.first_screen.grids import section_of
from headroom.report.tables.tables import Cell, Head, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

_TABLE_ROWS = 200
_COLUMNS_IN_A_PANEL = 6


def section_panels(experiment: ExperimentResult) -> list[Panel]:
    """Return a panel for each section of an experiment that has anything to show."""
    return [
        Panel(
            key=f"{experiment.name}-section-{place}",
            title=section.title,
            caption=section.caption,
            pictures={("", ""): figure},
            is_wide=not isinstance(section, Matrix) or len(section.columns) > _COLUMNS_IN_A_PANEL,
        )
        for place, section in enumerate(experiment.sections)
        if (figure := section_of(section)) is not None
    ]


def section_tables(experiment: ExperimentResult) -> list[Table]:
    """Return the rows that a system wrote of its own, a table for each kind."""
    return [_table(section) for section in experiment.sections]


def sections_left_out(experiment: ExperimentResult) -> list[str]:
    """Return a sentence for each section that is not shown."""
    return [
        f"Section {one.title!r} of {experiment.system} is not shown: {one.problem}."
        if one.title
        else f"The sections of {experiment.system} are not shown: {one.problem}."
        for one in experiment.sections_left_out
    ]


def _table(section: Section) -> Table:
    if isinstance(section, Timeline):
        heads = ["Lane", "State", "From", "To"]
        texts = [
            [span.lane, span.state, format_quantity(span.start_s, "s"),
             format_quantity(span.end_s, "s")]
            for span in section.spans
        ]  # fmt: skip
        words = 2
    else:
        rows: list[tuple[str, Sequence[float | None]]]
        if isinstance(section, Matrix):
            heads = [section.row_title or "Row", *section.columns]
            rows = list(zip(section.rows, section.values, strict=True))
        else:
            heads = [section.bar_title or "Bar", *section.parts]
            rows = list(zip(section.bars, section.values, strict=True))
        unit, metric = section.unit, section.metric
        texts = [
            [label, *("" if one is None else format_quantity(one, unit, metric=metric)
                      for one in values)]
            for label, values in rows
        ]  # fmt: skip
        words = 1
    left_out = len(texts) - _TABLE_ROWS
    return Table(
        caption=section.title,
        heads=[Head(head, is_number=place >= words) for place, head in enumerate(heads)],
        rows=[
            [Cell(text, text, is_number=place >= words) for place, text in enumerate(row)]
            for row in texts[:_TABLE_ROWS]
        ],
        note=f"{left_out} more rows are in results.json." if left_out > 0 else "",
        is_sortable=False,
    )
