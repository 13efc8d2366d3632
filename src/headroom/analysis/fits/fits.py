"""Fit the parameters of experiments, with intervals, to the results of other experiments.

The plan of a study defines which parameters are fitted to which sources. This module passes the
analysed points of the sources to the method and puts the fitted values into the plan. Intervals
come from the grouped jackknife over replications: replication r belongs to group r modulo G, each
group is left out of all points at once, and the method is fitted again. This preserves the
dependence between points of the same block. The jackknife of a median is not consistent, so the
replicates are fitted to means even if the value itself is fitted to medians. If the method profiles
a parameter, the jackknife can only widen the interval of the profile, which treats the observations
as independent.

Invariant: the result is a function of plan and journal. Fitted numbers are rounded to
`DIGITS` digits, so that the last bits of a linear-algebra library never make another point.

Sources: Tukey, *Bias and Confidence in Not-quite Large Samples* (1958); Miller, *The Jackknife,
a Review*, Biometrika 61 (1974); Efron, *The Jackknife, the Bootstrap and Other Resampling Plans*
(1982), section 3.4 on medians.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import msgspec
import numpy as np

from headroom.analysis.fits.kept_fits import FailedFit, KeptFits
from headroom.analysis.fits.loads import load_of, visits_in
from headroom.analysis.follow_up.stopping import planned_replications
from headroom.analysis.point import PointSummary, summarise
from headroom.analysis.run.distributions import Bins, kept_bins, merge_by_metric
from headroom.analysis.run.estimates import samples_of
from headroom.analysis.statistics.intervals import Sample, t_quantile
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.machine.program_identity import digest_of, journal_stamp
from headroom.experiment.protocol.fit_method import (
    Counted,
    FitError,
    FitsDemands,
    FittedParameter,
    FittedSet,
    Found,
    Load,
    Observed,
    Origin,
    ParameterEvidence,
    PlannedFit,
    SourcePoint,
    Target,
)
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.protocol.system import Column, Value
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.fit_plan import levels_of, not_settled, selected, with_values
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point

DIGITS = 6
"""Significant digits of a fitted number."""
MOST_GROUPS = 10
"""Groups of the jackknife at most: each costs one more fit."""
FEWEST_GROUPS = 2
FARTHEST_OFF = 2.0
"""Typical factor, either way, by which a fit misses measurements that is not predicted from."""


def with_fits(plan: Plan, journal: Journal) -> Plan:
    """Return the plan with the parameters of each experiment that can be fitted now.

    The others keep the reason why they cannot. Asked again with more results, an experiment gets
    other values.

    Parameters
    ----------
    plan
        The whole study: sources must be in it.
    journal
        Opened for reading or writing.
    """
    experiments = list(plan.experiments)
    if all(experiment.fit is None for experiment in experiments):
        return plan
    kept = KeptFits(plan)
    for place, experiment in enumerate(experiments):
        if experiment.fit is not None:
            whole = replace(plan, experiments=tuple(experiments))
            sources = _Sources(whole, Selection(whole, journal), journal, kept)
            experiments[place] = _settled(experiment, sources)
    kept.save()
    return replace(plan, experiments=tuple(experiments))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Analysed:
    """A point of a source that is complete; `numbers` are the replications of its windows."""

    experiment: PlannedExperiment
    point: Point
    summary: PointSummary
    bins: Sequence[Mapping[str, Bins]]
    numbers: Sequence[int]
    visits: int


class _NotReadyError(Exception):
    """A source is not complete, or never will be."""

    def __init__(self, reason: str, *, cure: str, is_refused: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.cure = cure
        self.is_refused = is_refused


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where fits come from: what was measured, and what was fitted from it before."""

    plan: Plan
    selection: Selection
    journal: Journal
    kept: KeptFits


def _settled(experiment: PlannedExperiment, sources: _Sources) -> PlannedExperiment:
    try:
        sets = [_fitted_set(experiment, where, sources) for where in levels_of(experiment)]
        return with_values(experiment, [_with_load(one, experiment, sources.plan) for one in sets])
    except _NotReadyError as error:
        return not_settled(experiment, error.reason, cure=error.cure, is_refused=error.is_refused)
    except FitError as error:
        return not_settled(
            experiment,
            error.message,
            cure=error.cure,
            is_refused=True,
            candidates=error.candidates,
            profiles=error.profiles,
        )
    except CodeNotRunError:
        raise
    except HeadroomError as error:
        return not_settled(experiment, error.message, cure=error.cure, is_refused=True)


def _with_load(one: FittedSet, experiment: PlannedExperiment, plan: Plan) -> FittedSet:
    """Return a set with the load of another experiment, if it is to be taken over."""
    fit = experiment.fit
    if fit is None or not fit.load_of:
        return one
    other = next(there for there in plan.experiments if there.spec.name == fit.load_of)
    if other.fit is None or not other.is_ready:
        raise _waits_for_another(other)
    loads = [
        there.values
        for there in other.fit.sets
        if all(one.where.get(name) == level for name, level in there.where.items())
    ]
    if len(loads) != 1:
        raise FitError(
            f"experiment {fit.load_of} has {len(other.fit.sets)} loads: "
            "which one is meant is unclear",
            cure="list the factors that distinguish them in `by`, or choose one load there",
        )
    return replace(one, taken={name: loads[0][name] for name in fit.load_names})


def _waits_for_another(other: PlannedExperiment) -> "_NotReadyError":
    if other.fit is None:
        raise ValueError(f"experiment {other.spec.name} is not fitted from anything")
    return _NotReadyError(
        f"waits for experiment {other.spec.name}, which {other.fit.reason}",
        cure=other.fit.cure,
        is_refused=other.fit.is_refused,
    )


def _fitted_set(
    experiment: PlannedExperiment,
    where: Mapping[str, Value],
    sources: _Sources,
) -> FittedSet:
    target = _target(experiment, where)
    key = _kept_key(experiment, where, sources, target)
    found = _KNOWN.get(key) or sources.kept.get(key)
    if found is None:
        try:
            found = _fitted_now(experiment, where, sources.plan, sources.selection, target)
        except FitError as error:
            found = FailedFit.of(error)
    _KNOWN[key] = found
    sources.kept.put(key, found)
    if isinstance(found, FailedFit):
        raise found.error()
    return found


_KNOWN: dict[bytes, FittedSet | FailedFit] = {}
"""What this process has fitted already, by everything that it depends on: a session asks often."""


def _kept_key(
    experiment: PlannedExperiment,
    where: Mapping[str, Value],
    sources: _Sources,
    target: Target,
) -> bytes:
    """Return the key of a fit, without reading any row if the journal has not changed."""
    stamp = journal_stamp(sources.journal.path)
    about = [_described_fit(experiment, where, sources.plan, target), _asked(experiment, sources)]
    if stamp is None:  # The journal is being written.
        return _key(experiment, sources, about[0])
    short = digest_of([stamp, *about])
    key = sources.kept.key(short) or _key(experiment, sources, about[0])
    sources.kept.put_key(short, key)
    return key


def _asked(experiment: PlannedExperiment, sources: _Sources) -> list[Any]:
    """Return what selects the rows of a fit, and of all measurements: their order counts."""
    used = _used(experiment, sources.plan)
    return [
        [
            *(one.spec.name, one.most_replications),
            sources.selection.criteria(one).described(),
            [[point.key, point.fingerprint, point.seed_key] for point in one.points],
        ]
        for one in sources.plan.experiments
        if one in used or one.system.column is Column.MEASURE
    ]


def _key(experiment: PlannedExperiment, sources: _Sources, about: list[Any]) -> bytes:
    """Return a key of all inputs of a fit, except for this program itself."""
    journal, selection = sources.journal, sources.selection
    rows = [
        selection.identity(journal.stored(source.spec.name, point.key), source, point)
        for source in _used(experiment, sources.plan)
        for point in source.points
    ]
    return digest_of([rows, list(selection.order().items()), about])


def _used(experiment: PlannedExperiment, plan: Plan) -> list[PlannedExperiment]:
    """Return the experiments that another one is fitted from."""
    fit = experiment.fit
    return [one for one in plan.experiments if fit and one.spec.name in fit.sources]


def _described_fit(
    experiment: PlannedExperiment, where: Mapping[str, Value], plan: Plan, target: Target
) -> list[Any]:
    """Return all inputs of a fit except for rows."""
    used = _used(experiment, plan)
    points = [
        [source.spec.name, point.key, point.fingerprint, dict(point.config)]
        for source in used
        for point in source.points
    ]
    rules = [
        msgspec.to_builtins([
            source.spec.warm_up, source.spec.replications, source.spec.analysis,
            source.spec.windows,
        ])
        for source in used
    ]  # fmt: skip
    own = [
        experiment.system.name,
        # A command cannot be written down without the levels of its factors.
        [
            experiment.system.fingerprint({**point.levels, **target.config})
            for point in experiment.points[:1]
        ],
        msgspec.to_builtins(experiment.spec.fit),
        dict(where),
        dict(target.config),
    ]
    return [str(plan.folder.resolve()), plan.seed, points, own, rules]


def _fitted_now(
    experiment: PlannedExperiment,
    where: Mapping[str, Value],
    plan: Plan,
    selection: Selection,
    target: Target,
) -> FittedSet:
    fit = experiment.fit
    if fit is None:
        raise ValueError(f"experiment {experiment.spec.name} is not fitted from anything")
    found: list[_Analysed] = []
    missing: dict[str, int] = {}
    for name in fit.sources:
        source = next((one for one in plan.experiments if one.spec.name == name), None)
        if source is None:
            raise StudyError(f"experiment {name!r} is not in the plan", cure="plan the whole study")
        whole, left_out = _analysed_points(source, {**fit.where, **where}, selection)
        found += whole
        if left_out:
            missing[name] = left_out
    outcome = _with_intervals(found, target, experiment)
    return FittedSet(
        where=dict(where),
        found=outcome,
        origin=_origin(found),
        loads=_loads(found, target, outcome, fit),
        left_out=missing,
    )


def _origin(found: Sequence[_Analysed]) -> Origin:
    """Return the kind of the sources; predicted ones count as predicted."""
    if any(one.experiment.fit is not None for one in found):
        return "predicted"
    is_measured = any(one.experiment.system.column is Column.MEASURE for one in found)
    return "measured" if is_measured else "simulated"


def _loads(
    found: Sequence[_Analysed], target: Target, outcome: Found, fit: PlannedFit
) -> tuple[Load, ...]:
    """Return how hard each source point drives the fitted model."""
    if not isinstance(fit.method, FitsDemands):
        return ()
    values = {parameter.name: parameter.value for parameter in outcome.parameters}
    loads = []
    for one in found:
        config = fit.method.model_config(_source_point(one), target, fit.options)
        if config:
            loads.append(load_of(target.system, {**config, **values}, visits=one.visits))
        else:  # the model does not describe the load of the point
            loads.append(Load(visits=one.visits))
    return tuple(loads)


def _target(experiment: PlannedExperiment, where: Mapping[str, Value]) -> Target:
    factors = {factor.name for factor in experiment.factors} - set(where)
    point = next(
        one
        for one in experiment.points
        if all(one.config[name] == level for name, level in where.items())
    )
    start = experiment.spec.fit.start if experiment.spec.fit else {}
    config = {name: value for name, value in point.config.items() if name not in factors}
    for use in experiment.parameters:
        if use.origin == "fitted":
            config[use.name] = start.get(use.name, use.parameter.default or 0)
    return Target(
        system=experiment.system,
        config=config,
        factors=tuple(factor.name for factor in experiment.factors),
    )


def _analysed_points(
    source: PlannedExperiment, where: Mapping[str, Value], selection: Selection
) -> tuple[list[_Analysed], int]:
    """Return the points of a source that have results, and how many have none."""
    if not source.is_ready:
        raise _waits_for_another(source)
    points = [(point, selection.rows(source, point)) for point in selected(source, where)]
    _check_complete(source, points)
    places = {start: place for place, start in enumerate(selection.order())}
    analysed = [_analysed(source, point, rows, visits_in(rows, places)) for point, rows in points]
    whole = [one for one in analysed if one.summary.samples]
    return whole, len(analysed) - len(whole)


def _check_complete(
    source: PlannedExperiment, points: Sequence[tuple[Point, Sequence[ReplicationRow]]]
) -> None:
    name = source.spec.name
    failed = sum(row.state == "failed" for _, rows in points for row in rows)
    if failed:
        raise _NotReadyError(
            f"not run, because {_count(failed)} of experiment {name} failed",
            cure=f"look at the failures of {name} with `headroom show`, remove their cause and "
            "run the study again",
            is_refused=True,
        )
    done = sum(len(rows) for _, rows in points)
    planned = sum(planned_replications(source, point, rows)[0] for point, rows in points)
    if done < planned:
        raise _NotReadyError(
            f"waits for experiment {name}: {done} of {_count(planned)} done",
            cure=f"run experiment {name} to its end: `headroom run` without --only does",
            is_refused=False,
        )


def _count(number: int) -> str:
    return f"{number} replication{'' if number == 1 else 's'}"


def _analysed(
    experiment: PlannedExperiment, point: Point, rows: Sequence[ReplicationRow], visits: int
) -> _Analysed:
    runs = [row.run for row in rows if row.run is not None]
    numbers = {id(row.run): row.replication for row in rows}
    summary = summarise(experiment, runs)
    return _Analysed(
        experiment=experiment,
        point=point,
        summary=summary,
        bins=[kept_bins(window) for window in summary.windows],
        numbers=[numbers[id(window.run)] for window in summary.windows],
        visits=visits,
    )


def _with_intervals(
    found: Sequence[_Analysed], target: Target, experiment: PlannedExperiment
) -> Found:
    fit = experiment.fit
    if fit is None:
        raise ValueError(f"experiment {experiment.spec.name} is not fitted from anything")
    if not found:
        raise FitError(
            f"no point of {', '.join(fit.sources)} has results",
            cure="make the runs of the source longer, or lower their load",
        )
    whole = fit.method.fit([_source_point(one) for one in found], target, fit.options)
    if isinstance(fit.method, FitsDemands) and _origin(found) == "measured":
        check_near(whole)
    rounded = tuple(_rounded(parameter, target) for parameter in whole.parameters)
    wanting = [
        one.name
        for one in rounded
        if (one.low is None or one.is_profiled) and _is_number(one.value)
    ]
    if not wanting:
        return replace(whole, parameters=rounded)
    near = {one.name: one.value for one in rounded}
    nearby = replace(target, config={**target.config, **near}, is_replicate=True)
    again, lacking = _replicates(found, nearby, experiment)
    parameters = tuple(
        _with_interval(one, again, lacking, target) if one.name in wanting else one
        for one in rounded
    )
    farther = _farther(rounded, parameters)
    return replace(whole, parameters=parameters, alternatives=(*whole.alternatives, *farther))


def check_near(found: Found) -> None:
    """Refuse a fit that is far off its own observations."""
    pairs = [sorted((one.fitted, one.observed)) for one in found.residuals]
    factors = [high / low for low, high in pairs if low > 0.0]
    if factors and median(factors) > FARTHEST_OFF:
        raise FitError(
            f"the fitted model is typically {median(factors):.3g} times off what it was fitted to",
            cure="fit a model that has what limits, or choose by `where` loads that one describes",
        )


def _farther(
    before: Sequence[FittedParameter], after: Sequence[FittedParameter]
) -> list[dict[str, Value]]:
    """Return the sets of parameters at ends that scatter has moved beyond those of the profiles."""
    values = {one.name: one.value for one in after}
    moved = []
    for old, new in zip(before, after, strict=True):
        if not old.is_profiled or None in {old.low, old.high, new.low, new.high}:
            continue
        moved += [
            {**values, new.name: end}
            for end, was in ((new.low, old.low), (new.high, old.high))
            if end != was and end is not None
        ]
    return moved


def _rounded(one: FittedParameter, target: Target) -> FittedParameter:
    """Return a parameter in the type that the target declares, numbers to a few digits."""
    value = one.value
    declared = target.parameters[one.name]
    if declared.type == "int" and _is_number(value):
        value = round(float(value))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise FitError(
                f"the fit of {one.name!r} does not converge: {value}",
                cure="measure more levels, or fit fewer parameters",
            )
        value = float(f"{value:.{DIGITS}g}")
    return replace(one, value=declared.check(value))


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _replicates(
    found: Sequence[_Analysed], target: Target, experiment: PlannedExperiment
) -> tuple[list[dict[str, float]], tuple[ParameterEvidence, ...]]:
    """Return the values of a fit to means without each group, and why there are none."""
    fit = experiment.fit
    fewest = min(len(one.numbers) for one in found)
    groups = min(MOST_GROUPS, fewest)
    if groups < FEWEST_GROUPS or fit is None:
        return [], (ParameterEvidence(code="few_replications", count=fewest),)
    values = []
    for group in range(groups):
        points = [_source_point(one, without=(group, groups)) for one in found]
        try:
            outcome = fit.method.fit(points, target, fit.options)
        except FitError as error:
            return [], (ParameterEvidence(code="unstable", message=error.message),)
        values.append(
            {
                parameter.name: float(parameter.value)
                for parameter in outcome.parameters
                if isinstance(parameter.value, (int, float))
            }
        )
    return values, ()


def _with_interval(
    one: FittedParameter,
    again: Sequence[Mapping[str, float]],
    lacking: tuple[ParameterEvidence, ...],
    target: Target,
) -> FittedParameter:
    if not again:
        return replace(one, evidence=(*one.evidence, *lacking))
    values = np.array([found[one.name] for found in again])
    count = len(values)
    centre = float(values.mean())
    error = math.sqrt((count - 1) / count * float(((values - centre) ** 2).sum()))
    half = t_quantile(degrees=count - 1) * error
    declared = target.parameters[one.name]
    low, high = float(one.value) - half, float(one.value) + half
    if one.low is not None and one.high is not None:
        low, high = min(low, one.low), max(high, one.high)
    return replace(
        one,
        standard_error=error,
        low=low if declared.low is None else max(low, declared.low),
        high=high if declared.high is None else min(high, declared.high),
    )


def _source_point(one: _Analysed, *, without: tuple[int, int] | None = None) -> SourcePoint:
    """Return a point as a method sees it; `without` leaves out group g of G."""
    kept = [
        place
        for place, number in enumerate(one.numbers)
        if without is None or number % without[1] != without[0]
    ]
    kept = kept or list(range(len(one.numbers)))
    if without is None:
        samples: Mapping[str, Sample] = one.summary.samples
        merged = one.summary.merged
    else:
        values = [one.summary.values[place] for place in kept]
        samples = {
            name: Sample(values=sample.values)
            for name, sample in samples_of(values, {}, one.experiment.system.column).items()
        }
        merged = merge_by_metric(one.bins[place] for place in kept)
    return SourcePoint(
        experiment=one.experiment.spec.name,
        column=one.experiment.system.column,
        levels=dict(one.point.levels),
        config=dict(one.point.config),
        observed={
            name: _observed(sample, has_interval=without is None)
            for name, sample in samples.items()
        },
        distributions={
            name: Counted(low=bins.low, high=bins.high, counts=bins.counts)
            for name, bins in merged.items()
        },
        counters=_means([one.summary.windows[place].run.counters for place in kept]),
        offered=_means([one.summary.windows[place].run.offered for place in kept]),
        visits=one.visits,
    )


def _observed(sample: Sample, *, has_interval: bool) -> Observed:
    if not has_interval:
        return Observed(value=sample.value)
    interval = sample.interval()
    has_error = sample.count > 1 or sample.spread is not None
    return Observed(
        value=interval.value,
        low=interval.low,
        high=interval.high,
        standard_error=sample.standard_error if has_error else None,
        degrees=float(sample.degrees),
    )


def _means(counts: Collection[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for one in counts for name in one)
    return {name: float(np.mean([one[name] for one in counts if name in one])) for name in names}
