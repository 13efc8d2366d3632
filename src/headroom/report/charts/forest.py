"""Ratios of levels to their base: one row each, with intervals and the shaded zone of equality.

Invariant: restates `LevelsCompared`; a row without a ratio is told and not drawn.
"""

from collections.abc import Sequence

from headroom.analysis.results import ExperimentResult, LevelComparison, LevelsCompared
from headroom.quantities import format_level, format_limit
from headroom.report.charts.panel import Panel, drawn_words
from headroom.report.figures.axes import log_axis
from headroom.report.figures.inputs import Row, Rows
from headroom.report.figures.roles import Role
from headroom.report.findings.comparisons import format_level_ratio, label_level
from headroom.report.sentences.comparisons import comparison_reason
from headroom.report.words import label_metric, title_metric

_ROWS_AT_ONCE = 24
"""Rows of a figure that shows all metrics at once; beyond, one metric is chosen."""
_ROLES: dict[str, Role] = {
    "same": "data",
    "better": "better",
    "worse": "differs",
    "undecided": "context",
}


def forest_panels(experiment: ExperimentResult, *, marks: int) -> list[Panel]:
    """Return the panel of a comparison, none if nothing is compared."""
    comparison = experiment.compared
    told = [row for row in comparison.rows if row.ratio is not None] if comparison else []
    if comparison is None or not told:
        return []
    shown = told[:marks]
    labels = list(dict.fromkeys(label_level(row) for row in shown))
    metrics = list(dict.fromkeys(row.metric for row in shown))
    shown = sorted(shown, key=lambda row: metrics.index(row.metric))
    is_whole = len(shown) <= _ROWS_AT_ONCE or len(metrics) == 1
    who = f": {labels[0]}" if len(labels) == 1 else ""
    groups = {"": shown} if is_whole else {
        title_metric(metric): [row for row in shown if row.metric == metric] for metric in metrics
    }  # fmt: skip
    return [
        Panel(
            key=f"{experiment.name}-compared",
            title=f"{comparison.factor.capitalize()}{who} against {format_level(comparison.base)}",
            caption=_caption(comparison, len(shown), len(told)),
            pictures={
                ("", name): _figure(
                    rows,
                    comparison,
                    [_label(row, is_alone=len(labels) == 1, is_whole=is_whole) for row in rows],
                )
                for name, rows in groups.items()
            },
            choice="Metric",
            is_wide=True,
        )
    ]


def _label(row: LevelComparison, *, is_alone: bool, is_whole: bool) -> str:
    """Return the label of a row of a figure.

    Parameters
    ----------
    is_alone
        Whether a single level is compared, which the title names.
    is_whole
        Whether the figure shows all metrics at once.
    """
    metric, level = label_metric(row.metric), label_level(row)
    return level if not is_whole else metric if is_alone else f"{metric}: {level}"


def _caption(found: LevelsCompared, drawn: int, told: int) -> str:
    each = f"{100.0 * found.confidence:.4g}%"
    without = len(found.rows) - told
    return " ".join(
        filter(
            None,
            [
                f"Ratio to {format_level(found.base)} with its {each} interval.",
                f"Shaded: the same, within {format_limit(found.same_within)}."
                if found.same_within
                else "",
                f"{without} rows without a ratio are in the table only." if without else "",
                drawn_words(drawn, told),
            ],
        )
    )


def _figure(rows: Sequence[LevelComparison], found: LevelsCompared, labels: Sequence[str]) -> Rows:
    lowest, highest = 1.0 / (1.0 + found.same_within), 1.0 + found.same_within
    ends = [end for row in rows for end in (row.ratio, row.low, row.high) if end]
    return Rows(
        x=log_axis([*ends, lowest, highest], f"times {format_level(found.base)}"),
        rows=tuple(
            Row(
                label=label,
                value=row.ratio,
                low=row.low,
                high=row.high,
                text=f"{format_level_ratio(row)} {row.verdict}",
                role=_ROLES.get(row.verdict, "third"),
                hint=_hint(row, found),
            )
            for row, label in zip(rows, labels, strict=True)
        ),
        band=(lowest, highest),
        centre=1.0,
    )


def _hint(row: LevelComparison, found: LevelsCompared) -> str:
    why = comparison_reason(row.evidence, found.same_within)
    counts = f"n = {row.count} / {row.base_count}"
    names = f"{label_metric(row.metric)}: {label_level(row)}"
    lines = [names, f"{format_level_ratio(row)} {row.verdict}", why, counts]
    return "\n".join(filter(None, lines))
