"""Figures of the report as Altair charts, which a notebook draws and a user may change."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec

from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.report.charts.panel import Panel
from headroom.report.charts.sweep import sweep_panels
from headroom.report.figures.axes import Axis
from headroom.report.figures.inputs import Curve, Line, Rows
from headroom.report.model_picture.style import LIGHT_SERIES

if TYPE_CHECKING:
    import altair

MARKS = 5_000
"""Marks of a chart at most, as on the page."""
_WIDTH_PX = 480
Spec: TypeAlias = dict[str, Any]
"""A part of a Vega-Lite specification."""


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
    panel = _panel(result, metric, over)
    (_, hold), figure = next(iter(panel.pictures.items()))
    spec = {
        "width": _WIDTH_PX,
        "title": panel.title,
        "config": {"range": {"category": list(LIGHT_SERIES)}},
        **(
            _curve(figure, hold) if isinstance(figure, Curve) else _rows(cast("Rows", figure), hold)
        ),
    }
    return cast("altair.Chart | altair.LayerChart", altair.Chart.from_dict(spec))


def _curve(figure: Curve, hold: str) -> Spec:
    """Return the lines of a curve with their intervals, and its limits and knees."""
    named = [line for line in figure.lines if line.label or not line.is_dashed]
    theory = [line for line in figure.lines if line not in named]
    rows = [
        {"level": dot.x, "value": dot.y, "low": dot.low, "high": dot.high, "series": line.label,
         "hold": hold, "shown": dot.hint}
        for line in named
        for dot in line.dots
    ]  # fmt: skip
    x, y = _channel("level", figure.x), _channel("value", figure.y)
    color = {"color": _series([line.label for line in named])} if len(named) > 1 else {}
    ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    guides = [
        *(("x", x, one.at, " ".join(one.lines)) for one in figure.breaks if one.at is not None),
        *(("y", y, one.y, one.label) for one in figure.references),
    ]
    return {
        "data": {"values": rows},
        "layer": [
            {"mark": {"type": "area", "opacity": 0.2}, "encoding": {"x": x, **ends, **color}},
            {"mark": {"type": "line", "point": True}, "encoding": {
                "x": x, "y": y, **color, "tooltip": {"field": "shown", "type": "nominal"}}},
            *(_theory(line, x, y) for line in theory),
            *(
                {"data": {"values": [{"at": at, "shown": words}]},
                 "mark": {"type": "rule", "strokeDash": [6, 3]},
                 "encoding": {side: {**axis, "field": "at"},
                              "tooltip": {"field": "shown", "type": "nominal"}}}
                for side, axis, at, words in guides
            ),
        ],
    }  # fmt: skip


def _theory(line: Line, x: Spec, y: Spec) -> Spec:
    rows = [{"level": dot.x, "value": dot.y} for dot in line.dots]
    mark = {"type": "line", "strokeDash": [2, 3], "color": "black"}
    return {"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": y}}


def _rows(figure: Rows, hold: str) -> Spec:
    """Return a mark with its interval for each level, side by side for each series."""
    level = ""
    rows = []
    for row in figure.rows:
        level = row.label or level
        series = "" if row.series is None else figure.key[row.series][0]
        rows.append({"level": level, "value": row.value, "low": row.low, "high": row.high,
                     "series": series, "hold": hold, "shown": row.hint})  # fmt: skip
    place: Spec = {"y": {"field": "level", "type": "nominal", "sort": None, "title": None}}
    if figure.key:
        place["yOffset"] = {"field": "series"}
        place["color"] = _series([name for name, _, _ in figure.key])
    x = _channel("value", figure.x)
    tooltip = {"field": "shown", "type": "nominal"}
    whisker = {**place, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
    return {
        "data": {"values": rows},
        "layer": [
            {"mark": "rule", "encoding": whisker},
            {"mark": {"type": "point", "filled": True, "size": 60},
             "encoding": {**place, "x": x, "tooltip": tooltip}},
        ],
    }  # fmt: skip


def _channel(field: str, axis: Axis) -> Spec:
    scale: Spec = {"domain": [axis.low, axis.high], "nice": False}
    if axis.is_log:
        scale["type"] = "log"
    return {"field": field, "type": "quantitative", "title": axis.title, "scale": scale}


def _series(labels: Sequence[str]) -> Spec:
    return {"field": "series", "type": "nominal", "sort": list(labels), "title": None}


def _panel(result: StudyResult, metric: str, over: str) -> Panel:
    for experiment in result.experiments:
        panels = sweep_panels(_asked(experiment, metric, over), marks=MARKS)
        if panels:
            return panels[0]
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
