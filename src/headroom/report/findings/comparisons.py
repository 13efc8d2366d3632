"""Comparisons of levels with a base: sentences, a table, and columns of the terminal.

Invariant: restates `LevelsCompared`; nothing is computed here.
"""

from collections.abc import Sequence

from headroom.analysis.results import Crossover, ExperimentResult, LevelComparison, LevelsCompared
from headroom.experiment.study.study import SAME_WITHIN
from headroom.quantities import (
    choose_scale,
    format_bounds,
    format_level,
    format_limit,
    format_plain,
    format_quantity,
    format_ratio,
)
from headroom.report.sentences.comparisons import (
    comparison_reason,
    comparison_sentence,
    no_comparison_sentence,
    order_sentences,
)
from headroom.report.tables.tables import Cell, Head, Table, number_cell, rest_note
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import first_few, quoted, title_metric

_SENTENCES_AT_MOST = 4
_ROWS_IN_TERMINAL = 60
_SMALLEST_P = 0.001


def label_level(row: LevelComparison | Crossover) -> str:
    """Return the level that is compared with the other factors.

    Examples
    --------
    >>> from headroom.analysis.evidence import ComparisonEvidence
    >>> label_level(LevelComparison(level="ram", where={"size": 4}, metric="m", unit="s",
    ...     better="low", verdict="same", evidence=ComparisonEvidence(code="within")))
    'ram, size = 4'
    """
    others = (f"{name} = {quoted(format_level(level))}" for name, level in row.where.items())
    return ", ".join([format_level(row.level), *others])


def format_level_ratio(row: LevelComparison) -> str:
    """Return how many times the base a level is, with its interval; nothing without a ratio."""
    return "" if row.ratio is None else format_ratio(row.ratio, row.low, row.high)


def comparison_sentences(experiment: ExperimentResult) -> list[str]:
    """Return one sentence for each level that is compared with the base."""
    comparison = experiment.compared
    if comparison is None:
        return []
    if not comparison.rows:
        return [*filter(None, [no_comparison_sentence(comparison)])]
    labels = list(dict.fromkeys(label_level(row) for row in comparison.rows))
    groups = [[row for row in comparison.rows if label_level(row) == label] for label in labels]
    sentences = [comparison_sentence(comparison, rows) for rows in groups]
    return first_few(sentences, _SENTENCES_AT_MOST, "comparisons")


def design_cautions(experiment: ExperimentResult) -> list[str]:
    """Return the problem with the order of the runs, empty if they were interleaved."""
    comparison = experiment.compared
    is_apart = comparison is not None and comparison.order.code == "apart"
    return [order_sentences(comparison.order)] if comparison is not None and is_apart else []


def comparisons_table(experiment: ExperimentResult, *, at_most: int) -> Table | None:
    """Return one row for each level, metric and combination of the other factors; None without."""
    comparison = experiment.compared
    if comparison is None or not comparison.rows:
        return None
    base = format_level(comparison.base)
    others = list(dict.fromkeys(name for row in comparison.rows for name in row.where))
    heads = [
        *(Head(name) for name in (comparison.factor, *others)),
        Head("Metric"),
        Head(base, is_number=True, hint="value of the base level"),
        Head("Level", is_number=True, hint="value of the level of this row"),
        Head("Ratio", is_number=True, hint="level over base"),
        Head("Verdict"),
        Head(
            "Shift",
            is_number=True,
            hint="Hodges-Lehmann: typical difference, within blocks if there are",
        ),
        Head(
            "Cliff's delta",
            is_number=True,
            hint="how surely a run of the level is larger; p of signed ranks (blocks) or of "
            "Mann and Whitney, two-sided, not corrected for the number of metrics",
        ),
        Head("n", is_number=True, hint="runs of the level and of the base"),
    ]
    rows = [_row(row, comparison.same_within, others) for row in comparison.rows[:at_most]]
    rest = rest_note(len(rows), len(comparison.rows), "rows")
    note = " ".join(filter(None, [design_note(comparison), rest]))
    return Table(f"{comparison.factor.capitalize()} against {base}", heads, rows, note)


def design_note(found: LevelsCompared) -> str:
    """Return how the runs were ordered, what the same means, and how sure all is together."""
    each = f"{100.0 * found.confidence:.4g}%"
    together = (
        "The intervals are at 95%."
        if found.confidence < 0.9501  # noqa: PLR2004 - one metric needs no correction
        else f"Each interval is at {each}, so that those of all metrics of a comparison hold "
        "together with 95% (Bonferroni)."
    )
    zone = format_limit(found.same_within)
    return (
        f"{order_sentences(found.order)} {together} The same is within {zone} (`same_within` of "
        f"the study, {format_limit(SAME_WITHIN)} by default): better or "
        "worse needs an interval beyond it."
    )


def _row(row: LevelComparison, same_within: float, others: Sequence[str]) -> list[Cell]:
    scale = choose_scale(
        [value for value in (row.value, row.base_value) if value is not None],
        row.unit,
        metric=row.metric,
    )
    shift, delta = row.shift, row.cliffs_delta
    ends = (row.shift_low, row.shift_high)
    moved = "" if shift is None else format_bounds(
        shift, *ends, row.unit, metric=row.metric, scale=scale
    ) + scale.suffix  # fmt: skip
    return [
        *(
            Cell(format_level(level), format_level(level), is_head=True)
            for level in (row.level, *(row.where.get(name, "") for name in others))
        ),
        Cell(title_metric(row.metric), row.metric),
        _value_cell(row.base_value, row),
        _value_cell(row.value, row),
        number_cell(format_level_ratio(row), row.ratio),
        Cell(
            row.verdict,
            row.verdict,
            mark=row.verdict,
            remark=comparison_reason(row.evidence, same_within),
        ),
        Cell(moved, "" if shift is None else repr(shift), is_number=True),
        number_cell(
            "" if delta is None else format_plain(delta, decimals=2),
            delta,
            remark=", ".join(filter(None, [row.effect, format_p(row.p_value)])),
        ),
        Cell(f"{row.count} / {row.base_count}", str(row.count), is_number=True),
    ]


def _value_cell(value: float | None, row: LevelComparison) -> Cell:
    text = "" if value is None else format_quantity(value, row.unit, metric=row.metric)
    return number_cell(text, value)


def format_p(value: float | None) -> str:
    """Return a p-value.

    Examples
    --------
    >>> format_p(0.0421), format_p(1e-9), format_p(None)
    ('p = 0.042', 'p < 0.001', '')
    """
    if value is None:
        return ""
    return "p < 0.001" if value < _SMALLEST_P else f"p = {format_level(float(f'{value:.2g}'))}"


def render_comparisons(experiment: ExperimentResult, screen: Screen) -> None:
    """Print the verdicts of a comparison, nothing where the study compares no levels."""
    found = experiment.compared
    if found is None or not found.rows:
        return
    rows = found.rows[:_ROWS_IN_TERMINAL]
    screen.table(
        [
            Column(found.factor, [label_level(row) for row in rows]),
            Column("Metric", [title_metric(row.metric) for row in rows]),
            Column(f"Ratio to {format_level(found.base)}", [format_level_ratio(r) for r in rows]),
            Column("Verdict", [row.verdict for row in rows]),
            Column("n", [str(min(row.count, row.base_count)) for row in rows], is_number=True),
        ]
    )
    left = rest_note(len(rows), len(found.rows), "rows")
    screen.line(f"{design_note(found)} {left}".strip(), "dim")
