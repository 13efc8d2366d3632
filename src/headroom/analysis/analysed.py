"""An experiment while its points pass by: what claims, knees and limits need of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headroom.analysis.derived.quantity import Cell, measured_cell
from headroom.analysis.fits.prediction import margin_of
from headroom.analysis.results import PointResult
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.statistics.pairing import RunOfPoint
from headroom.analysis.verdicts.level_comparison import ComparedPoint
from headroom.experiment.protocol.system import Column, Metric, Replays
from headroom.experiment.study.plan import PlannedExperiment
from headroom.experiment.study.study import Statistic


@dataclass(slots=True)
class Analysed:
    """An experiment; `samples` has one entry per point."""

    experiment: PlannedExperiment
    metrics: tuple[Metric, ...]
    responses: list[str]
    needed: frozenset[str]
    has_claims: bool
    """Whether claims are about it, which need the runs of its points."""
    points: list[PointResult] = field(default_factory=list)
    samples: list[dict[str, Sample]] = field(default_factory=list)
    runs: list[Sequence[RunOfPoint]] = field(default_factory=list)
    compared: list[ComparedPoint] = field(default_factory=list)
    derived: dict[str, list[Cell]] = field(default_factory=dict)
    planned: int = 0
    newest: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether its parameters cannot be fitted, so that none of its runs is left to do."""
        return self.experiment.fit is not None and self.experiment.fit.is_refused

    def cells(self, quantity: str, statistic: Statistic, *, is_paired: bool = False) -> list[Cell]:
        """Return the values of a derived quantity, or of a metric at the points.

        Means of paired runs share what moves all runs of a block.
        """
        if quantity in self.derived:
            return self.derived[quantity]
        name = self.experiment.spec.name
        system = self.experiment.system
        is_replayed = isinstance(system, Replays) and system.column is Column.MODEL
        together = "recording" if is_replayed else "block" if is_paired else ""
        return [
            measured_cell(
                point.levels,
                samples.get(quantity),
                name=f"{name} {point.key} {quantity} {statistic}",
                quantity=quantity,
                statistic="mean" if is_paired else statistic,
                absent=point.absent.get(quantity),
                is_fitted=margin_of(point, quantity) is not None,
                together=f"{name} {together}" if together else "",
            )
            for point, samples in zip(self.points, self.samples, strict=True)
        ]
