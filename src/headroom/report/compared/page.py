"""A comparison as one static page: the answer, the ratios, the runs, the table.

Invariant: reads `ComparisonResult` only; the page holds no script and loads nothing.
"""

from headroom.gate.result import ComparisonResult, Row
from headroom.report.compared.figure import (
    LINES,
    ROWS_AT_MOST,
    Figure,
    draw_lines,
    draw_ratios,
)
from headroom.report.compared.sentences import (
    DOUBTS,
    answer_sentences,
    asked_sentences,
    caution_sentences,
    gate_sentences,
    label_place,
    noise_sentences,
    ratio_text,
    verdict_word,
)
from headroom.report.compared.terminal import (
    difference_sentences,
    runs_sentence,
    value_text,
)
from headroom.report.layout import static_page
from headroom.report.tables.tables import Cell, Head, Table, rest_note
from headroom.report.words import title_metric

TABLE_ROWS = 500


def render_comparison_page(result: ComparisonResult) -> str:
    """Return the HTML of a comparison: the verdict on top, then the evidence."""
    cautions = [*difference_sentences(result), *caution_sentences(result)]
    return static_page(
        "static.html",
        title=result.title,
        answer=[
            *gate_sentences(result),
            *answer_sentences(result),
            *asked_sentences(result),
            *noise_sentences(result),
        ],
        runs=runs_sentence(result),
        cautions=cautions,
        figures=_figures(result),
        tables=[_table(result)],
        records=[(arm.label, list(arm.about.items())) for arm in result.arms],
        command=result.command,
        version=result.headroom_version,
    )


def _figures(result: ComparisonResult) -> list[Figure]:
    labels = {arm.name: arm.label for arm in result.arms}
    figures = []
    drawn = [row for row in result.rows if row.ratio is not None and row.low]
    if drawn:
        rest = rest_note(min(len(drawn), ROWS_AT_MOST), len(drawn), "rows")
        figures.append(
            Figure(
                "Change against the base",
                draw_ratios(drawn, labels, same_within=result.same_within),
                f"Dots are ratios of other to base, lines their 95% intervals. {rest}".rstrip(),
            )
        )
    timed = {arm.label: arm.times_s for arm in result.arms if arm.times_s}
    if result.kind == "commands" and timed:
        figures.append(
            Figure(
                "Wall time of each run, block by block",
                draw_lines(timed, "s", "wall_s", title="block"),
                "Within a block the order is random, so a drift of the machine meets all alike. "
                f"{rest_note(min(len(timed), len(LINES)), len(timed), 'commands')}".rstrip(),
            )
        )
    return figures


def _table(result: ComparisonResult) -> Table:
    labels = {arm.name: arm.label for arm in result.arms}
    heads = [
        Head("Compared"),
        Head("Point"),
        Head("Metric"),
        Head("Base", is_number=True),
        Head("Other", is_number=True),
        Head("Ratio", is_number=True, hint="other over base, 95% interval"),
        Head("p", is_number=True, hint="two-sided, corrected for the number of rows (Holm)"),
        Head("Verdict"),
        Head("n", is_number=True, hint="blocks, or runs of the side with fewer"),
    ]
    rows = [_cells(row, labels) for row in result.rows[:TABLE_ROWS]]
    note = rest_note(len(rows), len(result.rows), "rows")
    return Table("All rows", heads, rows, note)


def _cells(row: Row, labels: dict[str, str]) -> list[Cell]:
    return [
        Cell(labels.get(row.arm, row.arm), is_head=True),
        Cell(label_place(row)),
        Cell(title_metric(row.metric), row.metric),
        Cell(value_text(row, row.base_value), repr(row.base_value), is_number=True),
        Cell(value_text(row, row.value), repr(row.value), is_number=True),
        Cell(ratio_text(row), repr(row.ratio), is_number=True),
        Cell("" if row.adjusted is None else f"{row.adjusted:.2g}", is_number=True),
        Cell(verdict_word(row), mark=row.verdict, remark=DOUBTS.get(row.doubt, "")),
        Cell(str(row.pairs or row.count), is_number=True),
    ]
