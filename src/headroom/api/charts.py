"""Figures of the report as Altair charts, which a notebook draws and a user may change."""

from typing import TYPE_CHECKING, Any, cast

import msgspec

from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.report.charts.figure import Figure
from headroom.report.charts.sweep import sweep_figures
from headroom.report.charts.theme import themes

if TYPE_CHECKING:
    import altair

MARKS = 5_000
"""Marks of a chart at most, as on the page."""
_WIDTH_PX = 480


def chart_of(result: StudyResult, metric: str, over: str) -> "altair.Chart | altair.LayerChart":
    """Return the figure of a metric over a factor.

    Parameters
    ----------
    result
        The study, or one experiment of it.
    metric, over
        The response and the factor on the axis; empty: the first ones.

    Raises
    ------
    StudyError
        Nothing varies, or nothing is called so.
    EnvironmentUnfitError
        Altair is not installed.
    """
    try:
        import altair  # noqa: PLC0415 - heavy, and not everyone has it
    except ImportError as error:
        raise EnvironmentUnfitError(
            "a chart needs Altair, which is not installed",
            cure="install it: pip install 'headroom-lab[notebook]'; or open the page",
        ) from error
    figure = _figure(result, metric, over)
    spec = {**_without_params(figure.spec), "width": _WIDTH_PX, "title": figure.title}
    spec |= {"data": {"values": _shown_rows(figure)}, "config": themes()["light"]}
    spec.pop("autosize", None)
    return cast("altair.Chart | altair.LayerChart", altair.Chart.from_dict(spec))


def _without_params(spec: Any) -> Any:  # noqa: ANN401 - any part of a specification
    """Return a specification without its zoom and legend choice, which Altair would double.

    The caller may add Altair's own: ``chart.interactive()``.
    """
    if isinstance(spec, list):
        return [_without_params(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        key: _without_params(part)
        for key, part in spec.items()
        if key != "params" and not (isinstance(part, dict) and "param" in part.get("condition", ()))
    }


def _figure(result: StudyResult, metric: str, over: str) -> Figure:
    for experiment in result.experiments:
        figures = sweep_figures(_asked(experiment, metric, over), marks=MARKS)
        if figures:
            return figures[0]
    if not metric and not over:
        raise StudyError(
            f"study {result.name!r} has a single point, and a chart needs several",
            cure="vary a parameter: hr.simulate(shop, rate=[10.0, 20.0, 40.0])",
        )
    names = [factor.name for one in result.experiments for factor in one.factors]
    names += [name for one in result.experiments for name in _metrics(one)]
    wanted = next(name for name in (metric, over) if name)
    raise StudyError(
        f"there is no figure of {metric or 'a response'} over {over or 'a factor'}",
        cure=suggestion(wanted, dict.fromkeys(names)),
    )


def _asked(experiment: ExperimentResult, metric: str, over: str) -> ExperimentResult:
    """Return an experiment with one response, and the factor of the axis first."""
    responses = [metric] if metric else experiment.responses
    factors = sorted(experiment.factors, key=lambda factor: factor.name != over)
    is_there = not over or any(factor.name == over for factor in factors)
    has_metric = not metric or metric in _metrics(experiment)
    return msgspec.structs.replace(
        experiment,
        responses=responses if is_there and has_metric else [],
        factors=factors,
    )


def _metrics(experiment: ExperimentResult) -> set[str]:
    return {name for point in experiment.points for name in point.estimates}


def _shown_rows(figure: Figure) -> list[dict[str, Any]]:
    """Return the rows of the first choice of the factors that are on no axis."""
    rows = figure.rows or []
    return [row for row in rows if not figure.holds or row["hold"] == figure.holds[0]]
