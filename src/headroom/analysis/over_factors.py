"""What an experiment shows over its factors: knees, broken limits, compared levels."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from headroom.analysis.analysed import Analysed
from headroom.analysis.evidence import CrossingEvidence, NoComparison, NoKnee
from headroom.analysis.fits.prediction import margin_of
from headroom.analysis.results import Knee, LevelsCompared, LimitCrossing
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.directions import is_resource
from headroom.analysis.verdicts.headroom_left import crossing_of
from headroom.analysis.verdicts.knee import FEWEST_TOLD, KneeFit, knee_over
from headroom.analysis.verdicts.level_comparison import Question, compare_levels
from headroom.analysis.verdicts.level_crossovers import crossovers_of
from headroom.analysis.verdicts.predicted_limits import counting_predictions
from headroom.defects import fallback
from headroom.experiment.protocol.system import Metric, Value
from headroom.experiment.study.asks import Direction
from headroom.experiment.study.checks.claim_checks import unit_of
from headroom.experiment.study.checks.limit_checks import load_factor
from headroom.experiment.study.plan import FactorSpec
from headroom.experiment.study.study import Limit, in_base_units
from headroom.experiment.study.windows import WORST, window_metric


class _HasLevels(Protocol):
    @property
    def levels(self) -> Mapping[str, Value]: ...


def knees_of(analysed: Analysed) -> Iterable[Knee]:
    """Yield the knee of every response over every numeric factor with enough levels."""
    for factor in analysed.experiment.factors:
        levels = set(factor.levels)
        if not factor.is_numeric or not FEWEST_TOLD <= len(levels) == len(factor.levels):
            continue  # A zipped factor that repeats a level has several values there: no curve.
        for where, places in _curves(analysed.points, factor):
            for metric in analysed.responses:
                yield _knee(analysed, factor.name, metric, where, places)


def _curves(
    points: Sequence[_HasLevels], factor: FactorSpec
) -> list[tuple[dict[str, Value], list[int]]]:
    """Return the points of each curve over `factor`, with the levels of all other factors.

    A zipped factor that comes back to a level draws no curve.
    """
    curves: dict[tuple[tuple[str, Value], ...], list[int]] = {}
    moving = {factor.name, *factor.zipped_with}
    for place, point in enumerate(points):
        held = tuple((name, level) for name, level in point.levels.items() if name not in moving)
        curves.setdefault(held, []).append(place)
    return [
        (dict(held), places)
        for held, places in curves.items()
        if len({points[place].levels[factor.name] for place in places}) == len(places)
    ]


def _knee(
    analysed: Analysed, factor: str, metric: str, where: dict[str, Value], places: Sequence[int]
) -> Knee:
    curve = {
        float(analysed.points[place].levels[factor]): analysed.samples[place].get(metric)
        for place in places
    }
    fit = fallback(lambda: knee_over(curve), _failed_fit)
    return Knee(
        metric=metric,
        factor=factor,
        where=where,
        found=fit.level is not None,
        level=fit.level,
        level_low=fit.low,
        level_high=fit.high,
        value=fit.value,
        is_cut=fit.is_cut,
        without=list(fit.without),
        reason=fit.reason,
    )


def _failed_fit(message: str) -> KneeFit:
    return KneeFit(reason=NoKnee(code="defect", message=message))


def limits_of(analysed: Analysed, directions: Mapping[str, Direction]) -> Iterable[LimitCrossing]:
    """Yield where each limit of the study breaks, for each curve over its factor.

    Of terminating runs a limit also counts in the interval that is worst for its metric.
    """
    units = {metric.name: metric.unit for metric in analysed.metrics}
    for limit in _with_worst(analysed):
        seen = analysed.experiment.seen_by(limit.metric)
        factor = load_factor(limit, seen.factors)
        if factor is None:
            continue
        if limit.metric in analysed.derived:
            yield from _derived_limits(
                limit, factor, analysed, is_resource=directions.get(factor.name) == "resource"
            )
            continue
        for where, places in _curves(analysed.points, factor):
            curve = {
                float(analysed.points[place].levels[factor.name]): analysed.samples[place].get(
                    limit.metric
                )
                for place in places
            }
            found = _crossing(
                limit,
                factor.name,
                where,
                curve,
                units.get(limit.metric, ""),
                is_resource=is_resource(
                    factor.name,
                    [analysed.points[place] for place in places],
                    moves_alone=not factor.zipped_with,
                    declared=directions.get(factor.name),
                ),
            )
            found = counting_predictions(
                found,
                {
                    float(point.levels[factor.name]): point.estimates[limit.metric]
                    for point in (analysed.points[place] for place in places)
                    if margin_of(point, limit.metric) is not None
                },
            )
            added = sum(analysed.points[place].is_added for place in places)
            yield msgspec.structs.replace(found, added=added)


def _derived_limits(
    limit: Limit, factor: FactorSpec, analysed: Analysed, *, is_resource: bool
) -> Iterable[LimitCrossing]:
    """Yield where a limit of a derived quantity breaks."""
    cells = analysed.derived[limit.metric]
    unit = unit_of(limit.metric, analysed.experiment)
    for where, places in _curves(cells, factor):
        curve = {float(cells[place].levels[factor.name]): cells[place].sample() for place in places}
        yield _crossing(limit, factor.name, where, curve, unit, is_resource=is_resource)


def _crossing(
    limit: Limit,
    factor: str,
    where: dict[str, Value],
    curve: Mapping[float, Sample | None],
    unit: str,
    *,
    is_resource: bool = False,
) -> LimitCrossing:
    return fallback(
        lambda: crossing_of(limit, factor, where, curve, unit, is_resource=is_resource),
        lambda reason: LimitCrossing(
            metric=limit.metric,
            unit=unit,
            at_most=in_base_units(limit.at_most),
            at_least=in_base_units(limit.at_least),
            factor=factor,
            where=where,
            state="unclear",
            current=limit.current,
            verdict=None if limit.current is None else "undecided",
            evidence=CrossingEvidence(unclear="defect", undecided="defect", message=reason),
        ),
    )


def _with_worst(analysed: Analysed) -> Iterable[Limit]:
    for limit in analysed.experiment.spec.limits:
        yield limit
        worst = window_metric(WORST, limit.metric)
        if limit.at_most is not None and any(worst in sample for sample in analysed.samples):
            yield msgspec.structs.replace(limit, metric=worst)


def compared_of(analysed: Analysed) -> LevelsCompared | None:
    """Return the comparison that the study asks for; none without one."""
    compare = analysed.experiment.spec.compare
    if compare is None:
        return None
    factor = next(one for one in analysed.experiment.factors if one.name == compare.factor)
    declared = {metric.name: metric for metric in analysed.metrics}
    names = compare.metrics or analysed.responses
    question = Question(
        compare=compare,
        metrics=[declared.get(name, Metric(name=name, unit="1")) for name in names],
        column=analysed.experiment.system.column,
        moving=frozenset({factor.name, *factor.zipped_with}),
    )
    factors = analysed.experiment.factors
    return fallback(
        lambda: _with_crossovers(compare_levels(analysed.compared, question), factors),
        lambda message: msgspec.structs.replace(
            compare_levels([], question), why_empty=NoComparison(code="defect", message=message)
        ),
    )


def _with_crossovers(found: LevelsCompared, factors: Sequence[FactorSpec]) -> LevelsCompared:
    return msgspec.structs.replace(found, crossovers=crossovers_of(found, factors))
