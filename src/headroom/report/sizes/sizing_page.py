"""The answer of `headroom size` as one static page: the sentences, a map of the search, the trail.

Invariant: reads `SizingResult` only; the page holds no script and loads nothing.
"""

from headroom.quantities import format_level
from headroom.report.compared.figure import Figure
from headroom.report.layout import static_page
from headroom.report.sizes.sizing import answer_sentences, effort_words, figure_of, reasons_of
from headroom.report.sizes.sizing_map import draw_map
from headroom.report.tables.tables import Cell, Head, Table
from headroom.report.words import title_metric
from headroom.sizing.conclusion import cost_words
from headroom.sizing.result import SizingResult, Trial

_MARKS = {"meets": "verdict holds", "fails": "bad", "undecided": "warn"}
_CAPTION = (
    "Configurations that were looked at: a tick meets every target, a cross fails, a question mark "
    "is undecided. Configurations without a mark follow from those with one."
)


def render_sizing_page(result: SizingResult) -> str:
    """Return the page of a search for the smallest configuration."""
    about = {"Cost": cost_words(result), "Seed": str(result.seed)}
    about["Seeds of the replications, shared by all"] = _seeds(result)
    fixed = [(name, format_level(value)) for name, value in result.fixed.items()]
    reasons = [(f"No. {numbers}", why) for why, numbers in reasons_of(result).items()]
    return static_page(
        "static.html",
        title=f"The smallest {result.subject} that meets its targets",
        question=", ".join(target.text for target in result.targets),
        answer=answer_sentences(result),
        runs=effort_words(result),
        cautions=[],
        figures=[Figure("How it was found", draw_map(result), _CAPTION)],
        tables=[_trail(result)],
        records=[("Why they were looked at", reasons), ("Question", [*about.items(), *fixed])],
        command=result.command,
        version=result.headroom_version,
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
