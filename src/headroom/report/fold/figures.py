"""Every figure of an experiment: a few of all points, and those of one chosen point.

Invariant: a figure that fails leaves a caution in its place.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from headroom.analysis.results import ClaimResult, ExperimentResult, PointResult
from headroom.defects import fallback
from headroom.report.charts.detail import detail_panels
from headroom.report.charts.forest import forest_panels
from headroom.report.charts.heat import heat_maps
from headroom.report.charts.panel import Panel
from headroom.report.charts.sections import section_panels
from headroom.report.charts.sweep import sweep_panels
from headroom.report.charts.tradeoff import tradeoff_panels
from headroom.report.findings.derived import derived_panels
from headroom.report.findings.profiles import profile_panels
from headroom.report.fold.panels import PanelView, Pictures, fewer, panel_views
from headroom.report.model_figure import ModelFigure, model_figure

T = TypeVar("T")


class Figures:
    """The figures of one experiment as a page shows them.

    Parameters
    ----------
    known
        Pictures of single points that were drawn before, for a page with more of them.
    """

    def __init__(self, experiment: ExperimentResult, known: Pictures) -> None:
        self._experiment = experiment
        self._known = known
        self.cautions: list[str] = []

    def model(self) -> ModelFigure | None:
        """Return the picture of the model, None if the experiment has none."""
        return self._part("the picture of the model", lambda: model_figure(self._experiment))

    def of_all_points(self, claims: Sequence[ClaimResult], marks: int) -> list[PanelView]:
        """Return the figures of all points; each has `marks` marks at most."""
        one = self._experiment
        made: Mapping[str, Callable[[], Sequence[Panel]]] = {
            "forest": lambda: forest_panels(one, marks=marks),
            "trade-off": lambda: tradeoff_panels(one, marks=marks),
            "sweep": lambda: sweep_panels(one, marks=marks, claims=claims),
            "derived": lambda: derived_panels(one, marks=marks),
            "map": lambda: heat_maps(one, marks=marks),
            "section": lambda: section_panels(one),
            "profile": lambda: profile_panels(one),
        }
        return [view for kind, make in made.items() for view in self._panels(kind, make)]

    def closer(
        self, points: Sequence[PointResult], first: str, choices: int | None
    ) -> list[PanelView]:
        """Return the figures of one point, at first of `first`, each with its first `choices`."""

        def made() -> list[Panel]:
            return [fewer(panel, choices) for panel in detail_panels(self._experiment, points)]

        return self._panels("detail", made, first)

    def _panels(
        self, kind: str, make: Callable[[], Sequence[Panel]], point: str = ""
    ) -> list[PanelView]:
        chosen = self._experiment.name if kind == "detail" else ""

        def drawn() -> list[PanelView]:
            return panel_views(make(), self._known, experiment=chosen, point=point)

        return self._part(f"the {kind} figures", drawn) or []

    def _part(self, what: str, draw: Callable[[], T | None]) -> T | None:
        def note(reason: str) -> None:
            self.cautions.append(f"This page lacks {what}: {reason}.")

        return fallback(draw, note)
