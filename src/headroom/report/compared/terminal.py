"""Comparisons in the terminal: the answer first, then the table, at any width.

Invariant: prints what `ComparisonResult` holds.
"""

import re

from rich.console import Console

from headroom.gate.result import ComparisonResult, Row
from headroom.quantities import format_quantity
from headroom.report.compared.sentences import (
    answer_sentences,
    asked_sentences,
    caution_sentences,
    gate_sentences,
    label_place,
    noise_sentences,
    ratio_text,
    verdict_word,
)
from headroom.report.tables.tables import rest_note
from headroom.report.terminal.columns import Column
from headroom.report.terminal.screen import Screen
from headroom.report.words import count_noun, title_metric

ROWS_AT_MOST = 60


def render_comparison(result: ComparisonResult, console: Console) -> None:
    """Print a comparison."""
    screen = Screen(console)
    parts = {
        "Gate": gate_sentences(result),
        "Answer": answer_sentences(result),
        "Asked": asked_sentences(result),
        "Noise": noise_sentences(result),
        "Differs": difference_sentences(result),
        "Caution": caution_sentences(result),
        "Runs": [runs_sentence(result)],
    }
    for head, sentences in parts.items():
        for number, sentence in enumerate(sentences):
            screen.item(
                "" if number else head, sentence, "" if number or head != "Gate" else "bold"
            )
    _render_rows(result, screen)


def difference_sentences(result: ComparisonResult) -> list[str]:
    """Return the differences between two results apart from their metrics."""
    return [
        f"{one.what}: {_short(one.base)} in the base, {_short(one.other)}"
        f"{' (not comparable)' if one.forbids else ''}"
        for one in result.differences
    ]


def _short(text: str) -> str:
    """Return a value; of a hash its beginning."""
    return text[:12] if re.fullmatch("[0-9a-f]{40}", text) else text or "unknown"


def runs_sentence(result: ComparisonResult) -> str:
    """Return how much was run, and how sure each interval is."""
    if result.kind == "results":
        return "Intervals at 95% each; verdicts corrected for the number of rows (Holm)."
    order = "" if result.seed is None else f", in random order (seed {result.seed})"
    return (
        f"{count_noun(result.blocks, 'block')} of one run each{order}. Intervals at 95% each; "
        "verdicts corrected for the number of rows (Holm)."
    )


def _render_rows(result: ComparisonResult, screen: Screen) -> None:
    rows = result.rows[:ROWS_AT_MOST]
    if not rows:
        return
    labels = {arm.name: arm.label for arm in result.arms}
    columns = []
    if result.kind != "commands":
        columns.append(Column("Point", [label_place(row) or "all" for row in rows]))
    if len(result.arms) > 2:  # noqa: PLR2004 - with two arms the heads name both
        columns.append(Column("Compared", [labels[row.arm] for row in rows]))
    columns += [
        Column("Metric", [title_metric(row.metric) for row in rows]),
        Column("Base", [value_text(row, row.base_value) for row in rows], is_number=True),
        Column("Other", [value_text(row, row.value) for row in rows], is_number=True),
        Column("Ratio", [ratio_text(row) for row in rows]),
        Column("Verdict", [verdict_word(row) for row in rows]),
        Column("n", [str(row.pairs or row.count) for row in rows], is_number=True),
    ]
    screen.table(columns)
    if rest := rest_note(len(rows), len(result.rows), "rows"):
        screen.line(rest, "dim")


def value_text(row: Row, value: float | None) -> str:
    """Return one side of a row with its unit."""
    return "" if value is None else format_quantity(value, row.unit, metric=row.metric)
