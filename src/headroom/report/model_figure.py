"""The picture of an experiment's model, annotated with the results of one point.

Invariant: drawn when the page is written; it needs no script and is complete without one.
"""

from dataclasses import dataclass

from markupsafe import Markup

from headroom.analysis.results import ExperimentResult, PointResult
from headroom.quantities import format_percent
from headroom.report.model_picture import Mark, Marks, draw_model, list_model
from headroom.report.words import label_point

LISTED_LINES = 120
"""Lines of a model as text that a page shows at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigure:
    """The picture, what it shows, and the model as text."""

    key: str
    svg: Markup
    caption: str
    listing: str


def model_figure(experiment: ExperimentResult) -> ModelFigure | None:
    """Return the picture of an experiment's model, None if it has none."""
    model = experiment.model
    if model is None:
        return None
    point = next((one for one in experiment.points if one.key == model.point), None)
    key = f"{experiment.name}-model"
    marks = Marks() if point is None else marks_of(point)
    return ModelFigure(
        key=key,
        svg=Markup(draw_model(model.data, marks=marks, key=key)),  # noqa: S704 - it escapes texts
        caption=_caption(experiment, point, marks),
        listing=_shortened(list_model(model.data)),
    )


def _shortened(listing: str) -> str:
    """Return the lines of a listing that a reader needs, and where the others are."""
    lines = listing.splitlines()
    if len(lines) <= LISTED_LINES:
        return listing
    left = f"... {len(lines) - LISTED_LINES:,} more lines; headroom model show prints all"
    return "\n".join([*lines[:LISTED_LINES], left])


def marks_of(point: PointResult) -> Marks:
    """Return how busy each station and pool of a point is, and which one limits."""
    busy = {}
    for resource in point.resources:
        used = resource.estimates_among(point.estimates).get("utilization")
        if used is not None:
            mark = Mark(used.value, format_percent(used.value))
            busy[f"{resource.kind} {resource.name}"] = mark
    bottleneck = point.bottleneck
    limits = f"{bottleneck.kind} {bottleneck.name}" if bottleneck and bottleneck.limits else ""
    return Marks(busy=busy, limiting=limits)


def _caption(experiment: ExperimentResult, point: PointResult | None, marks: Marks) -> str:
    parts = []
    if point is not None and experiment.factors:
        parts.append(f"The model at {label_point(point, experiment.factors)}.")
    if marks.busy:
        parts.append("Servers and token boxes are filled as far as they are busy.")
    if marks.limiting:
        parts.append("The bottleneck is drawn in red.")
    if experiment.model is not None and experiment.model.data.get("pools"):
        parts.append("Stations used while tokens are held have a dashed frame, or say so.")
    return " ".join(parts)
