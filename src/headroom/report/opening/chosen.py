"""The figure of a choice: its typed input, made from the results."""

from headroom.analysis.answer_evidence import FigureChoice
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.report.figures.inputs import Figure
from headroom.report.opening.curves import curve_of
from headroom.report.opening.evidence import errors_of, predicted_of, printed_of, squares_of
from headroom.report.opening.grids import cells_of
from headroom.report.opening.settings import bars_of, changes_of, rows_of, trade_off_of


def figure_of(choice: FigureChoice, result: StudyResult) -> Figure | None:
    """Return the input of a chosen figure; None if its points have too few results for a figure."""
    if choice.kind == "claims":
        return printed_of(result) if choice.question == "printed" else squares_of(result)
    if choice.kind == "errors":
        return errors_of(choice, result)
    if choice.kind == "predicted":
        return predicted_of(choice, result)
    if choice.kind == "changes":
        return changes_of(choice)
    found = next((one for one in result.experiments if one.name == choice.experiment), None)
    return None if found is None or not choice.metrics else _of_experiment(choice, found, result)


def _of_experiment(
    choice: FigureChoice, experiment: ExperimentResult, result: StudyResult
) -> Figure | None:
    is_reproduction = result.answer is not None and result.answer.kind == "reproduction"
    published = result.claims if is_reproduction else []
    if choice.kind == "trade_off" and len(choice.metrics) > 1:
        return trade_off_of(choice, experiment)
    if choice.kind == "cells":
        cells = cells_of(choice, experiment) if choice.series else None
        return cells or curve_of(choice, experiment, published)
    if choice.kind == "curve":
        return curve_of(choice, experiment, published)
    return bars_of(choice, experiment) if choice.kind == "bars" else rows_of(choice, experiment)
