"""Effect of doubling a station or pool, from replications paired by their seeds.

Each changed system runs with the seeds of its point, so most of the randomness cancels in the ratio
after / before; the report states how much. The verdict of the point determines which resources are
doubled: those that are saturated or exhausted, whether they are the cause or a symptom. A symptom
that gains nothing from doubling is evidence.

Invariant: an effect compares equal replications only, sound ones on both sides.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from headroom.analysis.evidence import AppliedChange, Limiting, NoEffect
from headroom.analysis.pictures import evenly
from headroom.analysis.point import PointSummary, summarise
from headroom.analysis.results import Effect, Estimate, PointResult, Resource, WhatIfResult
from headroom.analysis.run.estimates import estimates_of
from headroom.analysis.statistics.comparison import paired_ratio, variance_quantile
from headroom.analysis.statistics.intervals import CONFIDENCE, Sample
from headroom.analysis.verdicts.culprits import SATURATED
from headroom.analysis.verdicts.downtime import downtime_of
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.protocol.changes import Change, changes_in, doubled, repaired_sooner
from headroom.experiment.protocol.system import Column, Metric, Modelled, Value
from headroom.experiment.runner.selection import Selection
from headroom.experiment.runner.what_if import (
    changed_experiment,
    changed_plan,
    changed_point,
    stored_changes,
)
from headroom.experiment.study.changed_parameters import check_changes
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.experiment.study.study import WarmUp, WhatIf

ALWAYS_SHOWN = ("throughput", "response_s_mean", "lost_ratio", "response_s_p95")
"""Metrics whose change is shown in addition to the responses of the study."""
FEWEST_PAIRS = 2
_MOST_JOINT = 4
"""Resources that are doubled together at most."""
MOST_CUT = 0.5
"""Share of the shortest run that a cut for both systems may take."""
_Resource: TypeAlias = tuple[Literal["station", "pool"], str]
_Values: TypeAlias = Mapping[int, Mapping[str, float]]
"""Replication to its metrics."""


def planned_what_ifs(plan: Plan, journal: Journal) -> Plan | None:
    """Return the plan of what is to be doubled, None if that is nothing.

    It follows from finished points alone, so that a resumed study plans the same.

    Parameters
    ----------
    plan, journal
        The study and the replications of its points.
    """
    selection = Selection(plan, journal)
    wanted = (
        found
        for experiment in plan.experiments
        if _may_change(experiment)
        for found in _wanted_of(experiment, selection)
    )
    return changed_plan(plan, wanted)


def _may_change(experiment: PlannedExperiment) -> bool:
    is_model = experiment.system.column is Column.MODEL
    is_changeable = isinstance(experiment.system, Modelled)
    rule = experiment.spec.what_if
    return is_model and is_changeable and (rule.parts != "none" or bool(rule.also))


def _doubled_at(
    experiment: PlannedExperiment, point: Point, rows: Sequence[ReplicationRow], rule: WhatIf
) -> list[tuple[Change, ...]]:
    if rule.parts == "none":
        return []
    summary = summarise(experiment, [row.run for row in rows if row.run is not None])
    single = list(_changes_at(experiment, point, summary, rule))
    return [*((change,) for change in single), *_jointly(experiment, point, summary, single)]


def _jointly(
    experiment: PlannedExperiment, point: Point, summary: PointSummary, single: Sequence[Change]
) -> list[tuple[Change, ...]]:
    """Return the doubling of all used-up resources together, if there are several.

    Of joint bottlenecks, one alone gains nothing. Symptoms of others are left out.
    """
    evidence = summary.bottleneck.evidence if summary.bottleneck is not None else None
    symptoms = evidence.symptoms if isinstance(evidence, Limiting) else []
    following = {(one.resource.kind, one.resource.name) for one in symptoms}
    used = [key for key in _used_up(summary, WhatIf()) if key not in following]
    first = [next((one for one in single if (one.kind, one.name) == key), None) for key in used]
    together = tuple(change for change in first if change is not None)
    is_of_all = len(together) == len(used) and 1 < len(used) <= _MOST_JOINT
    return [together] if is_of_all and _is_possible(experiment, point, together) else []


def _wanted_of(
    experiment: PlannedExperiment, selection: Selection
) -> Iterator[tuple[PlannedExperiment, Point, int]]:
    rule = experiment.spec.what_if
    found = []
    also = [changes_in(text) for text in rule.also]
    for point in experiment.points:
        rows = _done(selection.rows(experiment, point))
        if len(rows) < FEWEST_PAIRS:
            continue
        changes = _doubled_at(experiment, point, rows, rule)
        changes += [one for one in also if _is_possible(experiment, point, one)]
        if changes:
            found.append((point, changes, min(len(rows), rule.replications)))
    for place in evenly(len(found), rule.points):
        point, changes, count = found[place]
        for change in changes:
            yield experiment, changed_point(point, change, experiment.system), count


def _changes_at(
    experiment: PlannedExperiment, point: Point, summary: PointSummary, rule: WhatIf
) -> list[Change]:
    possible = (
        change
        for kind, name in _used_up(summary, rule)
        for change in _doubled(summary, kind, name)
        if _is_possible(experiment, point, [change])
    )
    return list(islice(possible, None if rule.parts == "all" else rule.changes))


def _doubled(
    summary: PointSummary, kind: Literal["station", "pool"], name: str
) -> Iterator[Change]:
    """Yield the ways to double a resource; one that is down may be repaired sooner, too."""
    down = summary.samples.get(f"{kind}.{name}.down_ratio")
    if down is not None and down.value > 0.0:
        yield repaired_sooner(name)
    yield from doubled(kind, name)


def _used_up(summary: PointSummary, rule: WhatIf) -> list[_Resource]:
    """Return the resources to be doubled: the exhausted ones, or all that can be exhausted.

    The limiting one comes first, then the busiest, so that a maximum cuts off the least promising.
    """
    bottleneck = summary.bottleneck
    if not summary.windows:  # Overloaded: doubling may give a steady state.
        return (
            []
            if bottleneck is None or bottleneck.kind == "none"
            else [(bottleneck.kind, bottleneck.name)]
        )
    least = 0.0 if rule.parts == "all" else SATURATED
    limiting = (
        (bottleneck.kind, bottleneck.name) if bottleneck is not None and bottleneck.limits else None
    )
    shares = _utilizations(summary)
    down = downtime_of({name: one.value for name, one in summary.samples.items()})
    hindering = {limiting, None if down is None else ("station", down.name)}
    used = [key for key, share in shares.items() if share >= least or key in hindering]
    return sorted(used, key=lambda key: (key != limiting, -shares[key]))


def _utilizations(summary: PointSummary) -> dict[_Resource, float]:
    """Return the utilization of each station and pool; classes have no capacity to double."""
    utilizations: dict[_Resource, float] = {}
    for table in sorted(summary.windows[0].run.resources, key=lambda table: table.kind):
        if table.kind in ("pool", "station"):
            for name in table.names:
                sample = summary.samples.get(f"{table.kind}.{name}.utilization")
                if sample is not None:
                    utilizations[table.kind, name] = sample.value
    return utilizations


def untried_count(result: PointResult, found: Iterable[WhatIfResult]) -> int:
    """Return how many exhausted stations and pools of a point no change was tried at.

    Parameters
    ----------
    result
        What is known about the point.
    found
        Its changes; without any, nothing was to be tried.
    """
    tried = {
        (change.kind, change.name)
        for one in found
        for change in changes_in(one.change)
        if change.kind != "parameter"
    }
    if not tried:
        return 0
    return sum(
        (resource.kind, resource.name) not in tried
        for resource in result.resources
        if resource.kind in ("station", "pool")
        if (used := result.estimates.get(f"{resource.kind}.{resource.name}.utilization"))
        if used.value >= SATURATED
    )


def all_doubled(
    experiment: PlannedExperiment, point: Point, plan: Plan, journal: Journal
) -> list[tuple[Change, ...]]:
    """Return the doubling of every station and pool of a point that has run.

    Parameters
    ----------
    experiment, point
        The point.
    plan, journal
        The study and its replications.
    """
    rows = _done(Selection(plan, journal).rows(experiment, point))
    return _doubled_at(experiment, point, rows, WhatIf(parts="all"))


def _is_possible(experiment: PlannedExperiment, point: Point, changes: Sequence[Change]) -> bool:
    try:
        check_changes(experiment.system, point.config, changes)
    except HeadroomError:
        return False
    return True


def _done(rows: Iterable[ReplicationRow]) -> list[ReplicationRow]:
    return [row for row in rows if row.state == "done" and row.run is not None]


class StoredWhatIfs:
    """The changes of an experiment that the journal holds, point by point.

    Parameters
    ----------
    experiment, selection, journal
        The experiment, and where its rows are.
    """

    def __init__(
        self, experiment: PlannedExperiment, selection: Selection, journal: Journal
    ) -> None:
        self._experiment = experiment
        self._selection = selection
        self._texts = (
            stored_changes(journal, experiment.spec.name)
            if isinstance(experiment.system, Modelled)
            else {}
        )

    def knows(self, point: Point) -> bool:
        """Return whether any change was tried at a point."""
        return bool(self._texts.get(point.key))

    def of(
        self, point: Point, rows: Sequence[ReplicationRow], result: PointResult, metrics: list[str]
    ) -> list[WhatIfResult]:
        """Return the effects of the changes at a point, the most useful first.

        Parameters
        ----------
        point, rows, result
            The base point, its replications, and what is known about it.
        metrics
            Metrics to compare, the first one decides about the order.
        """
        texts = self._texts.get(point.key, [])
        if not texts:
            return []
        found = [self._one(point, text, rows, result, metrics) for text in texts]
        return sorted((one for one in found if one is not None), key=_rank)

    def _one(
        self,
        point: Point,
        text: str,
        base: Sequence[ReplicationRow],
        result: PointResult,
        metrics: Sequence[str],
    ) -> WhatIfResult | None:
        changes = changes_in(text)
        try:
            changed = changed_point(point, changes, self._experiment.system)
        except StudyError:  # A parameter that the model has no more, or not in this range.
            return None
        experiment = changed_experiment(self._experiment, [changed], replications=2**31)
        rows = self._selection.rows(experiment, changed)
        if not rows:
            return None
        summary = _summary(experiment, rows)
        before, after = _on_one_stretch(experiment, base, rows, result, summary)
        declared = {metric.name: metric for metric in experiment.system.metrics(point.config)}
        effects = _effects(declared, metrics, before, after)
        return WhatIfResult(
            change=text,
            applied=[applied(change, result.resources, point.config) for change in changes],
            done=sum(row.state == "done" for row in rows),
            failed=sum(row.state == "failed" for row in rows),
            effects=effects,
            bottleneck=summary.bottleneck,
            saturation=summary.saturation,
            reached=_reached([declared[m] for m in metrics if m in declared], result, summary),
            why_empty=None if effects else _why_none(summary, rows, result),
        )


def effects_so_far(
    experiment: PlannedExperiment,
    base: Sequence[ReplicationRow],
    changed: Sequence[ReplicationRow],
    result: PointResult,
    *,
    confidence: float,
) -> list[Effect]:
    """Return the effects of a change over its first replications, at another confidence.

    Parameters
    ----------
    experiment, base, changed
        The changed experiment, and the replications of its point and of the changed point.
    result
        What is known about the point.
    confidence
        Probability with which each interval covers, between 0 and 1.
    """
    summary = _summary(experiment, changed)
    before, after = _on_one_stretch(experiment, base, changed, result, summary)
    config = experiment.points[0].config
    declared = {metric.name: metric for metric in experiment.system.metrics(config)}
    metrics = compared_metrics(experiment.spec.responses)
    return _effects(declared, metrics, before, after, confidence=confidence)


def _effects(
    declared: Mapping[str, Metric],
    metrics: Sequence[str],
    before: _Values,
    after: _Values,
    *,
    confidence: float = CONFIDENCE,
) -> list[Effect]:
    found = (_effect(declared[m], before, after, confidence) for m in metrics if m in declared)
    return [effect for effect in found if effect is not None]


def _reached(
    metrics: Sequence[Metric], result: PointResult, summary: PointSummary
) -> list[Estimate]:
    """Return the metrics that have no bound at a saturated point, and settle after a change."""
    if result.saturation is None or summary.saturation is not None:
        return []
    without_bound = [metric for metric in metrics if metric.name in result.saturation.unbounded]
    return list(estimates_of(without_bound, summary.samples).values())


def compared_metrics(responses: Sequence[str]) -> list[str]:
    """Return the metrics whose change is shown, where a point has them.

    Examples
    --------
    >>> compared_metrics(["response_s_p99"])
    ['response_s_p99', 'throughput', 'response_s_mean', 'lost_ratio', 'response_s_p95']
    """
    return list(dict.fromkeys([*responses, *ALWAYS_SHOWN]))


def _summary(experiment: PlannedExperiment, rows: Sequence[ReplicationRow]) -> PointSummary:
    return summarise(experiment, [row.run for row in _done(rows) if row.run is not None])


def _on_one_stretch(
    experiment: PlannedExperiment,
    base: Sequence[ReplicationRow],
    changed: Sequence[ReplicationRow],
    result: PointResult,
    summary: PointSummary,
) -> tuple[_Values, _Values]:
    """Return the values of both systems after the later of their two warm-up cuts.

    Windows that start at different times see different chance, and the pairing would be lost. But
    runs that end with their work end early in the faster system, which may be done before the
    other one is warm: then each counts from its own cut, and the pairs cancel less.
    """
    if not summary.samples or not result.estimates:
        return {}, {}
    cuts_s = [cut.cut_s for cut in (result.warm_up, summary.cut) if cut is not None]
    if cuts_s and max(cuts_s) > MOST_CUT * _shortest_s([*base, *changed]):
        return (
            _values_by_replication(experiment, base),
            _values_by_replication(experiment, changed),
        )
    warm_up = WarmUp(method="fixed", seconds=max(cuts_s)) if cuts_s else WarmUp(method="none")
    spec = msgspec.structs.replace(experiment.spec, warm_up=warm_up)
    cut = replace(experiment, spec=spec)
    return _values_by_replication(cut, base), _values_by_replication(cut, changed)


def _shortest_s(rows: Sequence[ReplicationRow]) -> float:
    """Return the length (s) of the shortest run that tells it; infinite without any."""
    ends = (row.run.snapshot_times_s for row in _done(rows) if row.run is not None)
    return min((float(times_s[-1]) for times_s in ends if times_s.size), default=math.inf)


def _values_by_replication(
    experiment: PlannedExperiment, rows: Sequence[ReplicationRow]
) -> _Values:
    summary = _summary(experiment, rows)
    numbers = {id(row.run): row.replication for row in rows}
    pairs = zip(summary.windows, summary.values, strict=True)
    return {numbers[id(window.run)]: values for window, values in pairs}


def _effect(
    metric: Metric,
    before: _Values,
    after: _Values,
    confidence: float,
) -> Effect | None:
    both = [
        number
        for number in sorted(before)
        if number in after and metric.name in before[number] and metric.name in after[number]
    ]
    if len(both) < FEWEST_PAIRS:
        return None
    old = [before[number][metric.name] for number in both]
    new = [after[number][metric.name] for number in both]
    ratio = paired_ratio(new, old, confidence=confidence)
    interval = ratio.interval
    if not math.isfinite(interval.value):
        return None
    reduction = ratio.variance_reduction
    if reduction is not None and not math.isfinite(reduction):
        reduction = None
    vague = variance_quantile(pairs=ratio.pairs)
    own = Sample(values=np.asarray(new)).interval()
    return Effect(
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        before=sum(old) / len(old),
        after=sum(new) / len(new),
        ratio=interval.value,
        low=interval.low,
        high=interval.high,
        pairs=ratio.pairs,
        variance_reduction=reduction,
        variance_reduction_low=None if reduction is None else reduction / vague,
        variance_reduction_high=None if reduction is None else reduction * vague,
        reason=interval.reason,
        after_low=own.low,
        after_high=own.high,
    )


def _why_none(
    summary: PointSummary, rows: Sequence[ReplicationRow], result: PointResult
) -> NoEffect:
    if summary.cut is not None and not summary.cut.is_steady:
        return NoEffect(code="no_steady_state", warm_up=summary.cut.evidence)
    errors = [row.error for row in rows if row.state == "failed"]
    if errors:
        return NoEffect(code="failed", message=errors[0].partition("\n")[0])
    throughput = summary.samples.get("throughput")
    if throughput is not None and not result.estimates:
        return NoEffect(code="steady_then", served_per_s=throughput.value)
    return NoEffect(code="few_pairs")


def _rank(found: WhatIfResult) -> tuple[float, str]:
    """Most useful first: by the factor by which the first metric with a direction improves."""
    for effect in found.effects:
        if effect.better != "none" and effect.ratio > 0.0:
            gain = effect.ratio if effect.better == "high" else 1.0 / effect.ratio
            return -round(gain, 2), found.change
    return math.inf, found.change


def _value_in(word: str, before: Value | None) -> Value:
    """Return the new value of a parameter as a number, unless the parameter is none."""
    if isinstance(before, str | bool):
        return word
    try:
        value = float(word)
    except ValueError:
        return word
    return int(value) if value.is_integer() else value


def applied(
    change: Change, resources: Iterable[Resource], config: Mapping[str, Value]
) -> AppliedChange:
    """Return what a change makes of its station, pool or parameter.

    Parameters
    ----------
    change, resources
        The change, and what is known about the stations and pools before it.
    config
        The parameters before it.

    Examples
    --------
    >>> cpu = Resource(kind="station", name="cpu", capacity=2.0)
    >>> found = applied(doubled("station", "cpu")[0], [cpu], {})
    >>> found.before, found.after
    (2.0, 4)
    """
    before: Value | None = None
    after: Value | None = None if change.is_factor else change.value
    if change.kind == "parameter":
        before = config.get(change.name)
        after = _value_in(change.word, before) if change.word else None
        if change.is_factor and isinstance(before, (int, float)):
            after = before * change.value
    elif change.aspect not in {"speed", "repair"}:
        capacities = {(one.kind, one.name): one.capacity for one in resources}
        before = capacities.get((change.kind, change.name))
        if before is not None:
            after = change.capacity_from(int(before))
    return AppliedChange(
        kind=change.kind,
        name=change.name,
        aspect=change.aspect,
        before=before,
        after=after,
        factor=change.value if change.is_factor else None,
    )
