"""A response over two numeric factors: a map with one cell for each pair of levels.

Lines show one factor well and the other only as a legend. If two factors must be in balance, the
map shows the border. Each cell states its value and its bottleneck, so colour never carries
information alone.

Invariant: a cell is a point; nothing is interpolated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.quantities import Scale
from headroom.report.charts.limits import saturated_caption, saturated_hint
from headroom.report.charts.panel import Panel, hint_of, panel_key
from headroom.report.dimensions import Dimension, dimensions_of, hold_label
from headroom.report.figures.inputs import Cell, Cells
from headroom.report.first_screen.scales import digits, scale_of
from headroom.report.notes.saturation import is_unbounded
from headroom.report.sentences.intervals import describe_interval
from headroom.report.words import axis_title, direction_phrase, join_words, title_metric

_FEWEST_CELLS = 6
"""Below, the lines say all."""
_COLUMNS_WITH_LIMITS = 10
_COLUMNS_IN_A_PANEL = 5
_WITHOUT_BOUND = "\N{INFINITY}"


def heat_maps(experiment: ExperimentResult, *, marks: int) -> list[Panel]:
    """Return the map of the first response, where two numeric factors span one.

    Parameters
    ----------
    marks
        Cells at most; a map with more is left out, because one with holes would mislead.
    """
    numeric = [dimension for dimension in dimensions_of(experiment) if dimension.is_numeric]
    if len(numeric) < 2 or not experiment.responses:  # noqa: PLR2004 - two axes
        return []
    up, across = sorted(numeric[:2], key=lambda one: len(one.labels))
    metric = experiment.responses[0]
    estimates = [p.estimates[metric] for p in experiment.points if metric in p.estimates]
    saturated = [point for point in experiment.points if is_unbounded(point, metric)]
    is_few = len(up.labels) * len(across.labels) < _FEWEST_CELLS
    if is_few or not estimates or len(estimates) + len(saturated) > marks:
        return []
    return [_panel(experiment, estimates, len(saturated), across=across, up=up)]


def _panel(
    experiment: ExperimentResult,
    estimates: Sequence[Estimate],
    saturated: int,
    *,
    across: Dimension,
    up: Dimension,
) -> Panel:
    metric = experiment.responses[0]
    held = [dimension for dimension in dimensions_of(experiment) if dimension not in (across, up)]
    holds: dict[str, list[PointResult]] = {}
    for point in experiment.points:
        if metric in point.estimates or is_unbounded(point, metric):
            holds.setdefault(hold_label(point, held), []).append(point)
    values = [one.value for one in estimates]
    map_ = _Map(
        experiment=experiment,
        metric=metric,
        scale=scale_of(estimates),
        ends=(min(values), max(values)),
        across=across,
        up=up,
    )
    return Panel(
        key=panel_key(experiment.name, metric, "map"),
        title=f"{title_metric(metric)} by {across.name} and {up.name}",
        caption=" ".join(
            filter(
                None,
                [
                    describe_interval(estimates),
                    "Each cell: the value and what limits there; the stronger its colour, the "
                    "higher the value.",
                    saturated_caption(saturated, f"Dashed cells ({_WITHOUT_BOUND})"),
                ],
            )
        ),
        direction=direction_phrase(estimates[0].better),
        pictures={("", hold): map_.cells(points) for hold, points in holds.items()},
        choice=join_words([one.name for one in held]),
        is_wide=len(across.labels) > _COLUMNS_IN_A_PANEL,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Map:
    """The cells of a metric over two factors; `ends` are its lowest and highest value."""

    experiment: ExperimentResult
    metric: str
    scale: Scale
    ends: tuple[float, float]
    across: Dimension
    up: Dimension

    def cells(self, points: Sequence[PointResult]) -> Cells:
        """Return a cell for each point, None for a pair without a point."""
        found = {(self.up.label_of(p), self.across.label_of(p)): self._cell(p) for p in points}
        return Cells(
            columns=tuple(self.across.labels),
            rows=tuple(self.up.labels[::-1]),
            column_title=self.across.title,
            row_title=f"{axis_title(self.metric, self.scale)}, by {self.up.title}",
            cells=tuple(
                tuple(found.get((row, column)) for column in self.across.labels)
                for row in self.up.labels[::-1]
            ),
        )

    def _cell(self, point: PointResult) -> Cell:
        limit = point.limiter
        has_word = len(self.across.labels) <= _COLUMNS_WITH_LIMITS
        estimate = point.estimates.get(self.metric)
        if estimate is None:
            return Cell(
                text=_WITHOUT_BOUND,
                word=limit if has_word else "",
                role="limit",
                hint=saturated_hint(point, self.experiment),
                is_unbounded=True,
            )
        low, high = self.ends
        hint = hint_of(point, estimate)
        return Cell(
            text=digits(estimate.value, self.scale),
            word=limit if has_word else "",
            strength=0.1 + 0.9 * (estimate.value - low) / ((high - low) or 1.0),
            hint=f"{hint}\nlimit: {limit}" if limit else hint,
        )
