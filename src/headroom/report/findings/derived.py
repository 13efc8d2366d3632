"""Derived quantities: tables of the page and the terminal, and figures.

Invariant: restates `DerivedResult`; nothing is computed here.
"""

import msgspec

from headroom.analysis.results import (
    DerivedResult,
    DerivedValue,
    Estimate,
    ExperimentResult,
    Factor,
    PointResult,
)
from headroom.quantities import format_bounds, format_level
from headroom.report.charts.heat import heat_maps
from headroom.report.charts.panel import Panel
from headroom.report.charts.sweep import sweep_panels
from headroom.report.sentences.derived import derived_words, remark_of
from headroom.report.tables.tables import Cell, Head, Table, rest_note
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import label_factor, title_metric

_ROWS_IN_TERMINAL = 24


def _factors(experiment: ExperimentResult, found: DerivedResult) -> list[Factor]:
    return [factor for factor in experiment.factors if factor.name in found.factors]


def format_value(found: DerivedResult, one: DerivedValue) -> str:
    """Return a value with its interval, empty if it is missing."""
    if one.value is None:
        return ""
    return format_bounds(one.value, one.low, one.high, found.unit, metric=found.name)


def derived_tables(experiment: ExperimentResult, *, at_most: int) -> list[Table]:
    """Return one table for each derived quantity."""
    return [_table(experiment, found, at_most) for found in experiment.derived]


def _table(experiment: ExperimentResult, found: DerivedResult, at_most: int) -> Table:
    factors = _factors(experiment, found)
    heads = [Head(label_factor(factor), is_number=factor.is_numeric) for factor in factors]
    heads += [Head(title_metric(found.name), is_number=True), Head("Terms", is_number=True)]
    rows = [
        [
            *(
                Cell(format_level(one.levels[f.name]), format_level(one.levels[f.name]),
                     is_number=f.is_numeric)
                for f in factors
            ),
            Cell(format_value(found, one), "" if one.value is None else repr(one.value),
                 is_number=True, remark=remark_of(one)),
            Cell(str(one.count), str(one.count), is_number=True),
        ]
        for one in found.values[:at_most]
    ]  # fmt: skip
    caption = f"{title_metric(found.name)}: {derived_words(found)}, with 95% intervals"
    return Table(caption, heads, rows, rest_note(len(rows), len(found.values), "rows"))


def derived_panels(experiment: ExperimentResult, *, marks: int) -> list[Panel]:
    """Return the panels of all derived quantities, drawn like responses, and maps like theirs."""
    drawn = [_as_experiment(experiment, found) for found in experiment.derived]
    return [
        panel
        for one in drawn
        for panel in (*sweep_panels(one, marks=marks), *heat_maps(one, marks=marks))
    ]


def _as_experiment(experiment: ExperimentResult, found: DerivedResult) -> ExperimentResult:
    """Return an experiment whose points are the values of a quantity."""
    points = [
        PointResult(key="", levels=one.levels, done=one.count, failed=0,
                    estimates={found.name: _estimate(found, one)})
        for one in found.values
        if one.value is not None
    ]  # fmt: skip
    return msgspec.structs.replace(
        experiment,
        factors=_factors(experiment, found),
        points=points,
        responses=[found.name],
        knees=[],
    )


def _estimate(found: DerivedResult, one: DerivedValue) -> Estimate:
    value = one.value or 0.0
    return Estimate(
        metric=found.name, unit=found.unit, better=found.better, count=one.count, value=value,
        low=one.low, high=one.high, method="jackknife", centre="pooled", mean=value,
        median=value, stdev=0.0, minimum=value, maximum=value, reason=one.reason,
    )  # fmt: skip


def render_derived(experiment: ExperimentResult, screen: Screen) -> None:
    """Print the derived quantities, nothing where the study defines none."""
    for found in experiment.derived:
        rows = found.values[:_ROWS_IN_TERMINAL]
        columns = [
            Column(label_factor(factor), [format_level(one.levels[factor.name]) for one in rows],
                   is_number=factor.is_numeric)
            for factor in _factors(experiment, found)
        ]  # fmt: skip
        cells = [format_value(found, one) for one in rows]
        values = Column(title_metric(found.name), cells, is_number=True)
        terms = Column("Terms", [str(one.count) for one in rows], is_number=True)
        remarks = Column("Remark", [remark_of(one) for one in rows])
        screen.line(f"{title_metric(found.name)}: {derived_words(found)}", "bold")
        screen.table([*columns, values, terms, *([remarks] if any(remarks.cells) else [])])
        if rest := rest_note(len(rows), len(found.values), "rows"):
            screen.line(rest, "dim")
