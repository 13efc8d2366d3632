"""Add levels where a limit breaks: choose the next level, and list those already added.

Once all points of a curve have run, the next level halves the widest gap between the last level
that surely keeps the limit and the first that surely breaks it or is saturated. The added point
runs, and the search repeats until both levels, or the ends of the interval of the break, are close
enough or the limit's allowance of extra levels is exhausted.

Invariant: each added level follows from the points before it alone, so a study that is run again or
resumed adds the same levels, and rows of later ones never move earlier ones.
"""

import math
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from headroom.analysis.follow_up.stopping import planned_replications
from headroom.analysis.point import analyse_point
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.headroom_left import limit_crossing
from headroom.errors import HeadroomError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.checks.limit_checks import load_factor
from headroom.experiment.study.plan import FactorSpec, Plan, PlannedExperiment, Point
from headroom.experiment.study.refining import added_point, with_added
from headroom.experiment.study.study import Limit, Refine, in_base_units

if TYPE_CHECKING:
    from headroom.experiment.protocol.system import Value

WIDE = 2.0
"""Upper over lower level from which a gap is halved by ratio."""
Known: TypeAlias = MutableMapping[tuple[str, str], Sample | None]
"""Samples of complete points, by key and metric: a session asks for them once each round."""


def with_refined(plan: Plan, journal: Journal, known: Known | None = None) -> Plan:
    """Return the plan with the points that its limits add, the last of them perhaps not run yet.

    Parameters
    ----------
    plan
        The study, its fitted parameters settled as far as they can be.
    journal
        Its replications.
    known
        What earlier calls of this session have read.
    """
    if not any(limit.refinement.points for one in plan.experiments for limit in one.spec.limits):
        return plan
    found: Known = {} if known is None else known
    selection = Selection(plan, journal)
    return replace(
        plan,
        experiments=tuple(
            _refined(experiment, selection, found) if experiment.is_ready else experiment
            for experiment in plan.experiments
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """How many levels of a factor may be added on each curve for the limit on a metric."""

    levels: int
    factor: str
    curves: int
    metric: str


def refinements(plan: Plan) -> Iterator[Refinement]:
    """Yield what each limit of a plan may add."""
    for experiment in plan.experiments:
        for limit in experiment.spec.limits:
            rule, factor = limit.refinement, load_factor(limit, experiment.factors)
            if not rule.points or factor is None:
                continue
            yield Refinement(
                levels=rule.points,
                factor=factor.name,
                curves=len(curves_over(experiment.points, factor.name)),
                metric=limit.metric,
            )


def _refined(
    experiment: PlannedExperiment, selection: Selection, known: Known
) -> PlannedExperiment:
    """Return an experiment with the rounds of points that have run, and the one that comes next."""
    while True:
        round_ = _Round(experiment, selection, known)
        points = round_.points()
        if not points:
            return experiment
        experiment = with_added(experiment, points)
        if not all(map(round_.is_complete, points)):
            return experiment


@dataclass(frozen=True, slots=True)
class _Round:
    """The points that come next: one for each curve of each limit that is not narrow enough."""

    experiment: PlannedExperiment
    selection: Selection
    known: Known

    def points(self) -> list[Point]:
        """Return the next points, each once."""
        there = {point.key for point in self.experiment.points}
        found = {
            point.key: point
            for limit in self.experiment.spec.limits
            if limit.refinement.points
            for point in self._points_of(limit)
        }
        return [point for key, point in found.items() if key not in there]

    def _points_of(self, limit: Limit) -> Iterator[Point]:
        factor = load_factor(limit, self.experiment.factors)
        if factor is None:
            return
        for curve in curves_over(self.experiment.points, factor.name):
            added = sum(point.key in self.experiment.added for point in curve)
            if added < limit.refinement.points and all(map(self.is_complete, curve)):
                yield from self._next_on(curve, limit, factor)

    def _next_on(self, curve: Sequence[Point], limit: Limit, factor: FactorSpec) -> Iterator[Point]:
        samples = {
            float(point.levels[factor.name]): self._sample(point, limit.metric) for point in curve
        }
        level = next_level(samples, limit, limit.refinement, is_whole=_is_whole(factor))
        if level is not None:
            with suppress(HeadroomError):  # Else the system does not accept the level.
                yield added_point(self.experiment, curve[0], factor, level)

    def is_complete(self, point: Point) -> bool:
        """Return whether a point has all its replications, done or failed."""
        rows = self.selection.rows(self.experiment, point)
        return len(rows) >= planned_replications(self.experiment, point, rows)[0]

    def _sample(self, point: Point, metric: str) -> Sample | None:
        place = (point.key, metric)
        if place not in self.known:
            rows = self.selection.rows(self.experiment, point)
            self.known[place] = analyse_point(
                self.experiment,
                point,
                rows,
                planned=len(rows),
                precision=None,
                needed=[metric],
                is_pictured=False,
                has_series=False,
            ).samples.get(metric)
        return self.known[place]


def _is_whole(factor: FactorSpec) -> bool:
    return factor.parameter.type == "int" or all(isinstance(level, int) for level in factor.levels)


def curves_over(points: Sequence[Point], factor: str) -> list[list[Point]]:
    """Return the points of each curve over a factor, in the order of their levels.

    Parameters
    ----------
    points
        All points of an experiment.
    factor
        A numeric factor that moves alone.
    """
    curves: dict[tuple[tuple[str, Value], ...], list[Point]] = {}
    for point in points:
        held = tuple((name, level) for name, level in point.levels.items() if name != factor)
        curves.setdefault(held, []).append(point)
    return [
        sorted(curve, key=lambda point: float(point.levels[factor])) for curve in curves.values()
    ]


def next_level(
    curve: Mapping[float, Sample | None], limit: Limit, rule: Refine, *, is_whole: bool = False
) -> float | int | None:
    """Return the level that halves the widest gap where a limit breaks; None if none is needed.

    Parameters
    ----------
    curve
        Sample of the limited metric by level of the load.
    limit, rule
        The limit, and when to stop.
    is_whole
        Whether levels are whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> curve = {level: Sample(values=np.array([level - 0.1, level + 0.1]))
    ...          for level in (10.0, 20.0, 40.0)}
    >>> limit = Limit(metric="response_s_mean", at_most=30.0)
    >>> next_level(curve, limit, Refine()), next_level(curve, limit, Refine(to=0.6))
    (30.0, None)
    """
    crossing = limit_crossing(
        curve, at_most=in_base_units(limit.at_most), at_least=in_base_units(limit.at_least)
    )
    if crossing.state != "breaks" or crossing.kept == "between":
        return None
    low, high = crossing.holds_at, crossing.breaks_at
    if crossing.kept == "above":
        low, high = high, low
    low = min(curve) if low is None else low
    high = max(curve) if high is None else high
    width = high - low
    if crossing.level is not None and crossing.low is not None and crossing.high is not None:
        width = min(width, crossing.high - crossing.low)
    if width <= rule.to * abs(high):
        return None
    inside = sorted(level for level in curve if low <= level <= high)
    below, above = max(pairwise(inside), key=lambda gap: gap[1] - gap[0], default=(low, low))
    if above - below <= rule.to * abs(above) / 2.0:
        return None  # Levels are dense enough: only more replications would tell them apart.
    return _between(below, above, is_whole=is_whole)


def _between(below: float, above: float, *, is_whole: bool) -> float | int | None:
    """Return a short number near the middle of a gap, None if there is none inside."""
    is_wide = below > 0.0 and above / below > WIDE
    middle = math.sqrt(below * above) if is_wide else (below + above) / 2.0
    decimals = None if is_whole else 1 - math.floor(math.log10(above - below))
    level = round(middle, decimals)
    return level if below < level < above else None
