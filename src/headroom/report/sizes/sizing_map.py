"""A map of a search: the configurations examined, and the verdict on each.

The first axis runs to the right, the second upwards. With a single axis, the cells form a row.
Verdicts differ in their sign as well as in colour.
"""

from markupsafe import Markup

from headroom.quantities import format_level
from headroom.report.figures.draw import WHOLE_PX, draw_both
from headroom.report.figures.inputs import Cell, Cells
from headroom.report.figures.roles import Role
from headroom.report.words import join_words
from headroom.sizing.result import AxisUsed, SizingResult, Trial

_SIGNS: dict[str, tuple[str, Role]] = {
    "meets": ("\N{CHECK MARK}", "better"),
    "fails": ("\N{MULTIPLICATION X}", "differs"),
    "undecided": ("?", "context"),
}


def draw_map(result: SizingResult) -> Markup:
    """Return the map of a search as SVG, at the width of a page and for phones."""
    label = f"Configurations over {join_words([one.name for one in result.axes])}, and verdicts"
    return draw_both(_cells(result), WHOLE_PX, label).svg


def _cells(result: SizingResult) -> Cells:
    across = result.axes[0]
    upwards = result.axes[1] if len(result.axes) > 1 else None
    # Where a third axis hides in a cell, the best configuration there is shown.
    trials = sorted(result.trail, key=lambda one: one.verdict == "meets")
    trials += [result.best] if result.best else []
    found = {_place(trial, across, upwards): _cell(trial, result) for trial in trials}
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


def _cell(trial: Trial, result: SizingResult) -> Cell:
    sign, role = _SIGNS[trial.verdict]
    is_best = result.best is not None and trial.number == result.best.number
    return Cell(
        text=sign,
        word="answer" if is_best else "",
        role=role,
        hint=f"No. {trial.number}: {trial.verdict} ({trial.how})",
    )
