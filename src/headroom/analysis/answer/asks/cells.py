"""Values of a metric or derived quantity by levels, and the part of an experiment that is asked.

Invariant: a cell restates an estimate or a derived value; nothing is computed here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from headroom.analysis.answer.design import groups_of, telling_factors
from headroom.analysis.answer.numbers import Better, bounded, main_metric
from headroom.analysis.answer_evidence import Bounded, Level, Setting
from headroom.analysis.results import Estimate, ExperimentResult, Factor, PointResult
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.asks import Ask


@dataclass(frozen=True, slots=True)
class Cell:
    """A value at levels; `keys` are the points that it stands on."""

    levels: Setting
    value: Bounded
    better: Better
    keys: tuple[str, ...]

    def without(self, *names: str) -> Setting:
        """Return the levels of the other factors."""
        return {name: level for name, level in self.levels.items() if name not in names}


def restricted(experiment: ExperimentResult, where: Mapping[str, Value]) -> ExperimentResult:
    """Return the part of an experiment at levels; a level that was not run is the nearest one.

    A quick variant leaves levels out. What is said of the part names the levels that it has.
    """
    if not where:
        return experiment
    at = {
        factor.name: _nearest(factor, where[factor.name])
        for factor in experiment.factors
        if factor.name in where
    }
    return msgspec.structs.replace(
        experiment,
        points=[point for point in experiment.points if _is_at(point.levels, at)],
        factors=[one for group in groups_of(experiment.factors) for one in _rows_at(group, at)],
        limits=[one for one in experiment.limits if _is_at(one.where, at, may_lack=True)],
        knees=[one for one in experiment.knees if _is_at(one.where, at, may_lack=True)],
        derived=[
            msgspec.structs.replace(
                one, values=[v for v in one.values if _is_at(v.levels, at, may_lack=True)]
            )
            for one in experiment.derived
        ],
    )


def held(part: ExperimentResult, ask: Ask) -> Setting:
    """Return the levels at which a part of an experiment answers: as asked, or the nearest."""
    levels = part.points[0].levels if part.points else {}
    return {name: levels[name] for name in ask.where if name in levels}


def shown_part(
    experiment: ExperimentResult, part: Mapping[str, Value], metric: str
) -> ExperimentResult:
    """Return what a figure shows: a part of an experiment, or a derived quantity of it."""
    return of_derived(restricted(experiment, part), metric)


def _rows_at(group: Sequence[Factor], at: Mapping[str, Value]) -> list[Factor]:
    """Return factors that move together, with the rows at levels alone."""
    rows = [
        row
        for row in zip(*(factor.levels for factor in group), strict=False)
        if _is_at(dict(zip([one.name for one in group], row, strict=True)), at, may_lack=True)
    ]
    return [
        msgspec.structs.replace(factor, levels=[row[place] for row in rows])
        for place, factor in enumerate(group)
    ]


def _nearest(factor: Factor, wanted: Value) -> Value:
    if wanted in factor.levels or not factor.is_numeric:
        return wanted
    return min(factor.levels, key=lambda level: abs(float(level) - float(wanted)))


def _is_at(
    levels: Mapping[str, Value], where: Mapping[str, Value], *, may_lack: bool = False
) -> bool:
    return all(
        levels[name] == level if name in levels else may_lack for name, level in where.items()
    )


def cells_of(experiment: ExperimentResult, metric: str) -> list[Cell]:
    """Return the values of a metric or derived quantity, in the order of the points."""
    for derived in experiment.derived:
        if derived.name == metric:
            return [
                Cell(
                    levels=one.levels,
                    value=Bounded(
                        value=one.value,
                        low=one.low,
                        high=one.high,
                        metric=metric,
                        unit=derived.unit,
                    ),
                    better=derived.better,
                    keys=tuple(_keys_at(experiment.points, one.levels)),
                )
                for one in derived.values
                if one.value is not None
            ]
    return [
        Cell(point.levels, bounded(found), found.better, (point.key,))
        for point in experiment.points
        if (found := point.estimates.get(metric)) is not None
    ]


def of_derived(experiment: ExperimentResult, metric: str) -> ExperimentResult:
    """Return an experiment whose points are the values of a derived quantity, if `metric` is one.

    What chooses among points then chooses among them.
    """
    derived = next((one for one in experiment.derived if one.name == metric), None)
    if derived is None:
        return experiment
    points = [
        PointResult(
            key=" ".join(cell.keys),
            levels=cell.levels,
            done=1,
            failed=0,
            estimates={metric: _estimate(cell)},
        )
        for cell in cells_of(experiment, metric)
    ]
    factors = [one for one in experiment.factors if one.name in derived.factors]
    return msgspec.structs.replace(
        experiment, points=points, factors=factors, responses=[metric], limits=[]
    )


def _estimate(cell: Cell) -> Estimate:
    found = cell.value
    return Estimate(
        metric=found.metric,
        unit=found.unit,
        better=cell.better,
        count=1,
        value=found.value,
        low=found.low,
        high=found.high,
        method="none",
        centre="mean",
        mean=found.value,
        median=found.value,
        stdev=0.0,
        minimum=found.value,
        maximum=found.value,
    )


def _keys_at(points: Sequence[PointResult], levels: Mapping[str, Value]) -> list[str]:
    return [point.key for point in points if _is_at(point.levels, levels)]


def metric_asked(experiment: ExperimentResult, metric: str) -> str:
    """Return the metric of an ask: its own, that of the limits, or the first with a direction."""
    limited = [one.metric for one in experiment.limits]
    return metric or next(iter(limited), main_metric(experiment))


def curves_over(cells: Sequence[Cell], factor: str) -> list[list[Cell]]:
    """Return the cells in curves over a numeric factor, each lowest level first."""
    found: dict[tuple[tuple[str, Value], ...], list[Cell]] = {}
    for cell in cells:
        level = cell.levels.get(factor)
        if isinstance(level, int | float) and not isinstance(level, bool):
            found.setdefault(tuple(sorted(cell.without(factor).items())), []).append(cell)
    return [sorted(one, key=lambda cell: float(cell.levels[factor])) for one in found.values()]


def axis_asked(experiment: ExperimentResult, factor: str) -> Factor | None:
    """Return the factor of an ask: the named one, or the first numeric one with several levels."""
    several = [one for one in experiment.factors if one.is_numeric and len(set(one.levels)) > 1]
    named = [one for one in several if one.name == factor]
    return next(iter(named if factor else several), None)


def level_at(axis: Factor, cell: Cell) -> Level:
    """Return the level of a cell on an axis."""
    return Level(factor=axis.name, unit=axis.unit, value=cell.levels[axis.name])


def telling(experiment: ExperimentResult, levels: Mapping[str, Value]) -> Setting:
    """Return the levels that tell a point apart from the others of an experiment."""
    names = [one.name for one in telling_factors(experiment.factors) if len(set(one.levels)) > 1]
    return {name: levels[name] for name in names if name in levels}
