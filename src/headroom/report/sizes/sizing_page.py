"""The answer of `headroom size` as one static page: the sentences, a map of the search, the trail.

Invariant: reads `SizingResult` only; the page holds no script and loads nothing.
"""

from markupsafe import Markup

from headroom.quantities import format_level
from headroom.report.figures.roles import page_rules as figure_rules
from headroom.report.layout import environment, template_text
from headroom.report.sizes.sizing import answer_sentences, effort_words, figure_of, reasons_of
from headroom.report.sizes.sizing_map import draw_map
from headroom.report.tables.tables import Cell, Head, Table
from headroom.report.words import title_metric
from headroom.sizing.conclusion import cost_words
from headroom.sizing.result import SizingResult, Trial

_MARKS = {"meets": "verdict holds", "fails": "bad", "undecided": "warn"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def render_sizing_page(result: SizingResult) -> str:
    """Return the page of a search for the smallest configuration."""
    return (
        environment()
        .get_template("sizing.html")
        .render(
            result=result,
            answer=answer_sentences(result),
            policy=_POLICY,
            style=Markup(template_text("page.css") + figure_rules()),  # noqa: S704 - of this package
            effort=effort_words(result),
            cost=cost_words(result),
            fixed=[(name, format_level(value)) for name, value in result.fixed.items()],
            picture=draw_map(result),
            trail=_trail(result),
            reasons=[(f"No. {numbers}", why) for why, numbers in reasons_of(result).items()],
            seeds=_seeds(result),
        )
    )


def _trail(result: SizingResult) -> Table:
    heads = [Head("No.", is_number=True)]
    heads += [Head(axis.name, is_number=True) for axis in result.axes]
    heads += [Head("Cost", is_number=True), Head("Verdict")]
    heads += [Head(title_metric(target.metric), is_number=True) for target in result.targets]
    heads += [Head("What limits"), Head("n", is_number=True, hint="replications")]
    rows = [_row(result, trial) for trial in result.trail]
    return Table("Configurations in the order in which they were looked at", heads, rows)


def _row(result: SizingResult, trial: Trial) -> list[Cell]:
    levels = [format_level(trial.levels[axis.name]) for axis in result.axes]
    limit = trial.bottleneck
    return [
        Cell(str(trial.number), str(trial.number), is_number=True, is_head=True),
        *(Cell(level, level, is_number=True) for level in levels),
        Cell(format_level(trial.cost), repr(trial.cost), is_number=True),
        Cell(trial.verdict, trial.verdict, mark=_MARKS[trial.verdict]),
        *(Cell(figure_of(trial, target.metric), is_number=True) for target in result.targets),
        Cell("" if limit is None else limit.name or "nothing"),
        Cell(
            str(trial.replications) if trial.how == "simulation" else trial.how,
            str(trial.replications),
            is_number=True,
        ),
    ]


def _seeds(result: SizingResult) -> str:
    """Return the seeds, which all configurations share: the longest list holds the others."""
    longest = max((trial.seeds for trial in result.trail), key=len, default=[])
    return ", ".join(map(str, longest))
