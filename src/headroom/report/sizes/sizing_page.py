"""The answer of `headroom size` as one static page: the sentences, a map of the search, the trail.

The first axis of the map runs to the right, the second upwards; with a single axis, the cells form
a row. Verdicts differ in their sign as well as in colour.

Invariant: reads `SizingResult` only; the page holds no script and loads nothing.
"""

from markupsafe import Markup

from headroom.quantities import format_level
from headroom.report.compared.figure import Figure
from headroom.report.figures.draw import WHOLE_PX, draw_both
from headroom.report.figures.inputs import Cell as MapCell
from headroom.report.figures.inputs import Cells
from headroom.report.figures.roles import Role
from headroom.report.layout import static_page
from headroom.report.sizes.sizing import answer_sentences, effort_words, figure_of, reasons_of
from headroom.report.tables.tables import Cell, Head, Table
from headroom.report.words import join_words, title_metric
from headroom.sizing.conclusion import cost_words
from headroom.sizing.result import AxisUsed, SizingResult, Trial

_MARKS = {"meets": "verdict holds", "fails": "bad", "undecided": "warn"}
_SIGNS: dict[str, tuple[str, Role]] = {
    "meets": ("\N{CHECK MARK}", "better"),
    "fails": ("\N{MULTIPLICATION X}", "differs"),
    "undecided": ("?", "context"),
}
_CAPTION = (
    "Configurations that were looked at: a tick meets every target, a cross fails, a question mark "
    "is undecided. Configurations without a mark follow from those with one."
)


def render_sizing_page(result: SizingResult) -> str:
    """Return the page of a search for the smallest configuration."""
    about = {"Cost": cost_words(result.axes), "Seed": str(result.seed)}
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
        figures=[Figure("How it was found", _map(result), _CAPTION)],
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


def _map(result: SizingResult) -> Markup:
    """Return the map of a search as SVG, at the width of a page and for phones."""
    label = f"Configurations over {join_words([one.name for one in result.axes])}, and verdicts"
    return draw_both(_cells(result), WHOLE_PX, label).svg


def _cells(result: SizingResult) -> Cells:
    across = result.axes[0]
    upwards = result.axes[1] if len(result.axes) > 1 else None
    # Where a third axis hides in a cell, the best configuration there is shown.
    trials = sorted(result.trail, key=lambda one: one.verdict == "meets")
    trials += [result.best] if result.best else []
    found = {_place(trial, across, upwards): _map_cell(trial, result) for trial in trials}
    rows = list(reversed(upwards.levels)) if upwards else [""]
    return Cells(
        columns=tuple(map(format_level, across.levels)),
        rows=tuple(format_level(level) if level != "" else "" for level in rows),
        column_title=across.name,
        row_title=upwards.name if upwards else "",
        cells=tuple(tuple(found.get((level, row)) for level in across.levels) for row in rows),
    )


def _place(trial: Trial, across: AxisUsed, upwards: AxisUsed | None) -> tuple[object, object]:
    return trial.levels[across.name], trial.levels[upwards.name] if upwards else ""


def _map_cell(trial: Trial, result: SizingResult) -> MapCell:
    sign, role = _SIGNS[trial.verdict]
    is_best = result.best is not None and trial.number == result.best.number
    return MapCell(
        text=sign,
        word="answer" if is_best else "",
        role=role,
        hint=f"No. {trial.number}: {trial.verdict} ({trial.how})",
    )
