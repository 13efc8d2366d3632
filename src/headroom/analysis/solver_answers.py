"""Results of formulas for a point, stored with the results of its runs.

Invariant: the answer is a function of the system and the point; it never sees a run. Values are
kept to `DIGITS` digits, so that the order of additions in a library does not show.
"""

from collections.abc import Collection

import msgspec

from headroom.analysis.formulas import forecast_at
from headroom.analysis.results import PointResult, SolverAnswer
from headroom.analysis.verdicts.nature import is_terminating
from headroom.defects import fallback
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.forecasts import Forecast

SOLVED_AT_MOST = 200
"""Points of an experiment for which formulas are asked, evenly chosen: milliseconds each, but a
large approximation may take a tenth of a second."""
DIGITS = 10


def solver_answer(
    experiment: PlannedExperiment, point: Point, estimates: Collection[str]
) -> SolverAnswer | None:
    """Return the results of formulas for a point, None if its system has no formulas.

    Parameters
    ----------
    experiment, point
        The point.
    estimates
        Metrics that the point reports; the answer keeps those.
    """
    forecast = forecast_at(experiment.system, point.config, point.changes)
    if forecast is None:
        return None
    values = {
        metric: float(f"{value:.{DIGITS}g}")
        for metric, value in forecast.values.items()
        if metric in estimates
    }
    return SolverAnswer(
        method=forecast.method,
        is_exact=forecast.is_exact,
        reasons=[forecast.overload] if forecast.overload else list(forecast.reasons),
        refused=list(forecast.refused),
        values=values,
        knee=_knee(forecast),
    )


def with_solver_answer(
    result: PointResult, experiment: PlannedExperiment, point: Point
) -> PointResult:
    """Return the result of a point with the answer of the solvers, where it has a steady state."""
    if not result.estimates or is_terminating(result):
        return result
    answer = fallback(
        lambda: solver_answer(experiment, point, result.estimates),
        lambda reason: SolverAnswer(method="", is_exact=False, reasons=[reason]),
    )
    return msgspec.structs.replace(result, solver=answer)


def _knee(found: Forecast) -> float | None:
    knees = [limits.knee for limits in found.limits]
    return knees[0] if len(knees) == 1 else None
