"""Analyse one point: from replications to estimates, resources, distributions and verdicts.

Invariant: only sound replications count. A run that carries a fault or breaks an operational law
is named and left out; a point without a steady state reports no numbers, only what limits it, and
a saturated one only what flows through.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import inf, isfinite

import msgspec
import numpy as np

from headroom.analysis.evidence import Absent, Fault, WarmUpEvidence
from headroom.analysis.results import (
    Bottleneck,
    Distribution,
    LeftArtefact,
    LittleCheck,
    PointResult,
    Resource,
    RunLength,
    RunsAnalysed,
    Saturation,
    Settled,
    WarmUpCut,
)
from headroom.analysis.run.batches import spreads_of
from headroom.analysis.run.distributions import (
    Bins,
    kept_bins,
    kept_occupancies,
    merge_by_metric,
    thinned,
)
from headroom.analysis.run.estimates import estimates_of, resource_metrics, resources_of, samples_of
from headroom.analysis.run.latency_map import latency_map
from headroom.analysis.run.meanless import without_meanless
from headroom.analysis.run.operational_laws import LawReport, check_laws
from headroom.analysis.run.over_time import Course, course_of, pictured_course, worst_samples
from headroom.analysis.run.rare import too_rare
from headroom.analysis.run.run_length import run_length
from headroom.analysis.run.states import state_metrics
from headroom.analysis.run.summaries import run_values, without_classes
from headroom.analysis.run.time_series import pictured_series
from headroom.analysis.run.time_windows import over_replications, window_values
from headroom.analysis.run.warm_up import choose_cut
from headroom.analysis.run.windows import Window, open_window
from headroom.analysis.run.within_run import observed_values, too_few_for, with_only_class
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.statistics.pairing import RunOfPoint
from headroom.analysis.statistics.spread import Spread, batch_count
from headroom.analysis.statistics.two_kinds import two_kinds
from headroom.analysis.verdicts.disk_health import disk_health_of
from headroom.analysis.verdicts.disturbances import disturbances_of
from headroom.analysis.verdicts.level_comparison import ComparedPoint
from headroom.analysis.verdicts.limits import (
    bottleneck_of,
    limit_without_steady_state,
    with_overload,
)
from headroom.analysis.verdicts.nature import STEADY_STATE, nature_of, whole_runs
from headroom.analysis.verdicts.outcomes import outcomes_of
from headroom.analysis.verdicts.saturation import (
    flows_of,
    is_saturated,
    saturation_of,
    steady_classes,
    unbounded_metrics,
    unbounded_samples,
)
from headroom.analysis.verdicts.worst_stretch import limit_of_terminating
from headroom.errors import HINT
from headroom.experiment.journal.journal import ReplicationRow
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column, HasKnownError, Metric
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.experiment.study.windows import windows_of

OCCUPANCIES_AT_MOST = 20
"""Stations of a point whose number of jobs present is kept as a picture: the fullest ones."""
MILLIONTHS = 1_000_000
"""The sum of the counts of a distribution of time, except for rounding."""


@dataclass(frozen=True, slots=True)
class PointSummary:
    """The combined results of the sound replications of a point.

    `windows` are the kept parts of the runs that passed every check, `values` the metrics of
    each; `samples` and `merged` are empty if nothing may be reported. `absent` says about metrics
    that the runs are too short for why they are not there, `course` of terminating runs how they
    go over time.
    """

    cut: WarmUpCut | None
    faults: list[Fault]
    bottleneck: Bottleneck | None = None
    laws: list[LawReport] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    values: list[dict[str, float]] = field(default_factory=list)
    samples: dict[str, Sample] = field(default_factory=dict)
    merged: dict[str, Bins] = field(default_factory=dict)
    run_length: RunLength | None = None
    absent: dict[str, Absent] = field(default_factory=dict)
    saturation: Saturation | None = None
    nature: RunsAnalysed = STEADY_STATE
    course: Course | None = None


def summarise(
    experiment: PlannedExperiment, runs: Sequence[Run], useless: Collection[str] = ()
) -> PointSummary:
    """Return the summary of the runs of one point, unsound ones named and left out.

    Parameters
    ----------
    experiment, runs
        The experiment of the point, and its runs.
    useless
        Stations that reject work and whose doubling was tried: it gives nothing.
    """
    sound = [run for run in runs if run.is_sound]
    faults = [Fault(code="reported", message=said) for run in runs for said in run.faults]
    nature = nature_of(experiment.spec, sound)
    if nature.kind == "terminating":
        return summarise_terminating(experiment, sound, faults, nature, useless)
    cut = choose_cut(experiment.spec.warm_up, sound)
    if is_saturated(sound):
        return _saturated(experiment, sound, faults, cut)
    if cut is not None and not cut.is_steady:
        verdict = limit_without_steady_state(sound, experiment.system.column)
        cut = with_overload(cut, sound, verdict)
        return PointSummary(cut, [*faults, Fault(code="warm_up", warm_up=cut.evidence)], verdict)
    windows, laws, broken = _checked_windows(sound, 0.0 if cut is None else cut.cut_s)
    left_out = [] if cut is None else cut.classes_left_out
    bins = [without_classes(kept_bins(window), left_out) for window in windows]
    asked = windows_of(experiment.system).metrics
    values, absent = _values_of(windows, bins, experiment.system.column, asked)
    merged = merge_by_metric(bins)
    spreads, length = _errors_of(windows, merged, cut, asked)
    if experiment.system.column is Column.MODEL:
        absent = too_rare(bins, spreads, asked)
        values = _without(values, absent)
    samples = samples_of(values, merged, experiment.system.column, spreads, asked)
    samples = without_classes(samples, left_out)
    existing = without_meanless(samples, sound)
    absent |= {name: Absent(code="no_mean") for name in samples.keys() - existing.keys()}
    samples, values = existing, [without_meanless(one, sound) for one in values]
    verdict = bottleneck_of(windows, values, samples, useless)
    values, in_windows = _with_windows(experiment, windows, values)
    return PointSummary(
        cut=cut,
        faults=faults + broken,
        bottleneck=verdict,
        laws=laws,
        windows=windows,
        values=values,
        samples=samples | in_windows,
        merged=merged,
        run_length=length,
        absent=absent,
        nature=nature,
    )


def _with_windows(
    experiment: PlannedExperiment, windows: Sequence[Window], values: Sequence[dict[str, float]]
) -> tuple[list[dict[str, float]], dict[str, Sample]]:
    """Return the metrics of each run with those of its windows, and the samples of the latter."""
    found = window_values([window.run for window in windows], experiment.spec.windows)
    both = [own | more for own, more in zip(values, found, strict=True)]
    return both, over_replications(found, experiment.system.column)


def summarise_terminating(
    experiment: PlannedExperiment,
    sound: Sequence[Run],
    faults: Sequence[Fault],
    nature: RunsAnalysed,
    useless: Collection[str] = (),
) -> PointSummary:
    """Return the summary of runs that end: whole, and each of them one observation."""
    column = experiment.system.column
    windows, laws, broken = _checked_windows(sound, 0.0)
    bins = [kept_bins(window) for window in windows]
    asked = windows_of(experiment.system).metrics
    values, absent = _values_of(windows, bins, column, asked)
    if column is Column.MODEL:
        absent = too_rare(bins, asked=asked)
        values = _without(values, absent)
    samples = over_replications(values, column)
    verdict = limit_of_terminating(windows, values, samples, column, useless)
    course = course_of([window.run for window in windows])
    values, in_windows = _with_windows(experiment, windows, values)
    worst = {} if course is None else worst_samples(course)
    return PointSummary(
        cut=whole_runs(sound),
        faults=[*faults, *broken],
        bottleneck=verdict,
        laws=laws,
        windows=windows,
        values=values,
        samples=samples | in_windows | worst,
        merged=merge_by_metric(bins),
        absent=absent,
        nature=nature,
        course=course,
    )


def _saturated(
    experiment: PlannedExperiment, runs: Sequence[Run], faults: list[Fault], cut: WarmUpCut | None
) -> PointSummary:
    """Return the summary of a saturated point: what flows through in the last two thirds."""
    column = experiment.system.column
    limit = limit_without_steady_state(runs, column)
    ends_s = [float(run.snapshot_times_s[-1]) for run in runs if run.snapshot_times_s.size]
    cut_s = min(ends_s, default=0.0) / 3.0
    windows, laws, broken = _checked_windows(runs, cut_s)
    found = saturation_of(runs, limit)
    steady = steady_classes(runs, found)
    asked = windows_of(experiment.system).metrics
    values = [
        flows_of(run_values(window, kept_bins(window) if steady else {}, asked), column, steady)
        for window in windows
    ]
    if cut is not None:
        evidence = WarmUpEvidence(code="saturated")
        cut = msgspec.structs.replace(cut, cut_s=cut_s, is_steady=False, evidence=evidence)
    return PointSummary(
        cut,
        faults + broken,
        limit,
        laws,
        windows,
        values,
        samples_of(values, {}, column),
        saturation=found,
    )


def _values_of(
    windows: Sequence[Window],
    bins: Sequence[Mapping[str, Bins]],
    column: Column,
    asked: Collection[str],
) -> tuple[list[dict[str, float]], dict[str, Absent]]:
    """Return the metrics of each run, and why some are absent that the runs are too short for."""
    pairs = list(zip(windows, bins, strict=True))
    if column is not Column.MEASURE:
        return [run_values(window, kept, asked) for window, kept in pairs], {}
    counted = [with_only_class(window, kept) for window, kept in pairs]
    absent = too_few_for(counted)
    found = [
        observed_values(window, kept) | run_values(window, {})
        for window, kept in zip(windows, counted, strict=True)
    ]
    return _without(found, absent), absent


def _without(values: Sequence[dict[str, float]], absent: Collection[str]) -> list[dict[str, float]]:
    """Return the metrics of each run less those that are absent, for all classes or for each."""
    return [
        {
            name: value
            for name, value in one.items()
            if name not in absent and name.rpartition(".")[2] not in absent
        }
        for one in values
    ]


def _errors_of(
    windows: Sequence[Window],
    merged: Mapping[str, Bins],
    cut: WarmUpCut | None,
    asked: Collection[str],
) -> tuple[dict[str, Spread], RunLength | None]:
    """Return the spread of each metric, and how long the runs are; nothing without a clock."""
    if cut is None or not windows or not all(isfinite(window.end_s) for window in windows):
        return {}, None
    kept_s = sum(window.length_s for window in windows)
    times = kept_s / cut.correlation_s if cut.correlation_s > 0.0 else inf
    wanted = batch_count(kept=times, replications=len(windows))
    spreads = spreads_of(windows, merged, batches=wanted, times=times, asked=asked)
    return spreads, run_length(
        windows, spreads, correlation_s=cut.correlation_s, warm_up_s=windows[0].start_s
    )


def _checked_windows(
    runs: Sequence[Run], cut_s: float
) -> tuple[list[Window], list[LawReport], list[Fault]]:
    windows, laws, faults = [], [], list[Fault]()
    for run in runs:
        window = open_window(run, cut_s=cut_s)
        if window is None:
            faults.append(Fault(code="nothing_left", cut_s=cut_s))
            continue
        report = check_laws(window)
        laws.append(report)
        faults += report.faults
        if not report.faults:
            windows.append(window)
    return windows, laws, faults


def analyse_point(
    experiment: PlannedExperiment,
    point: Point,
    rows: Sequence[ReplicationRow],
    *,
    planned: int,
    precision: bool | None,
    needed: Collection[str] = (),
    is_pictured: bool = True,
    has_series: bool = True,
) -> ComparedPoint:
    """Return the result of one point, and what claims, knees and comparisons need of it.

    Parameters
    ----------
    experiment, point
        The point.
    rows
        Its replications that count, done and failed, in order.
    planned
        Replications that the point needs in all, as far as that is known now.
    precision
        Whether the stopping rule was satisfied; None if replications are fixed.
    needed
        Metrics that are kept although the study does not name them.
    is_pictured
        Whether the point keeps its distributions and its warm-up curve.
    has_series
        Whether it keeps how its first replication went over time, where that was recorded.
    """
    done = [row for row in rows if row.state == "done" and row.run is not None]
    failed = [row for row in rows if row.state == "failed"]
    summary = summarise(experiment, [row.run for row in done if row.run is not None])
    metrics = experiment.system.metrics(point.config)
    resources = resources_of(summary.windows[0].run) if summary.windows else []
    estimates = estimates_of(
        [*metrics, *resource_metrics(resources), *state_metrics(summary.samples)], summary.samples
    )
    classes = summary.windows[0].table("class") if summary.windows else None
    outcomes = outcomes_of(estimates, () if classes is None else classes.names)
    saturation = _with_unbounded(summary.saturation, metrics, resources, summary)
    samples = {name: one for name, one in summary.samples.items() if name in needed}
    if saturation is not None:
        samples |= unbounded_samples(saturation, needed, count=len(summary.windows))
    if experiment.spec.metrics:
        patterns = experiment.spec.metrics
        estimates = {
            name: one
            for name, one in estimates.items()
            if name in needed or _is_kept(name, patterns)
        }
    result = PointResult(
        key=point.key,
        levels=dict(point.levels),
        is_added=point.key in experiment.added,
        done=len(done),
        failed=len(failed),
        planned=planned,
        errors=_counted([row.error for row in failed]),
        faults=_counted_faults(summary.faults),
        remarks=_counted([remark for row in done if row.run for remark in row.run.remarks]),
        notes=[
            *_counted([note for row in done if row.run for note in row.run.notes]),
            *_known_error(experiment),
        ],
        disturbances=disturbances_of(done),
        disk_health=disk_health_of(done),
        estimates=estimates,
        resources=resources,
        outcomes=outcomes,
        bottleneck=summary.bottleneck,
        saturation=saturation,
        run_length=summary.run_length,
        analysed=summary.nature if done else None,
        over_time=pictured_course(summary.course) if summary.course and is_pictured else None,
        warm_up=summary.cut if is_pictured else _without_curve(summary.cut),
        distributions=(
            _distributions(metrics, summary, experiment.system.column) if is_pictured else []
        ),
        series=pictured_series([row.run for row in done if row.run]) if has_series else None,
        latency=(
            latency_map([row.run for row in done if row.run])
            if has_series and experiment.system.column is Column.MEASURE
            else None
        ),
        little=_little(summary.laws),
        settled=_settled(experiment.system.column, summary.samples),
        absent=_absent(summary, needed, samples),
        artefacts=_artefacts(rows) if has_series else [],
        seeds=[row.seed for row in rows],
        precision_reached=precision,
    )
    return ComparedPoint(
        result=result,
        samples=samples,
        runs=list(_runs(done, summary, needed)),
    )


_MATTERS = 0.1
"""Least difference of two kinds of runs that is said."""


def _settled(column: Column, samples: Mapping[str, Sample]) -> Settled | None:
    """Return the two rates at one of which the runs of a measured point settled, if they did."""
    rates = samples.get("throughput")
    if column is not Column.MEASURE or rates is None or not np.all(rates.values > 0.0):
        return None
    kinds = two_kinds(rates.values, matters=_MATTERS)
    if kinds is None:
        return None
    return Settled(
        low=kinds.low, high=kinds.high, low_count=kinds.low_count, high_count=kinds.high_count
    )


def _artefacts(rows: Sequence[ReplicationRow]) -> list[LeftArtefact]:
    """Return the artefacts of the first replication, and of the first that failed."""
    first = [row for row in rows if row.artefacts and row.state == "done"][:1]
    failed = [row for row in rows if row.artefacts and row.state == "failed"][:1]
    return [
        LeftArtefact(replication=row.replication, state=row.state, artefact=artefact)
        for row in [*failed, *first]
        for artefact in row.artefacts
    ]


def _absent(
    summary: PointSummary, needed: Collection[str], samples: Mapping[str, Sample]
) -> dict[str, Absent]:
    """Return why metrics that are needed are not there."""
    if summary.saturation is not None:
        return {name: Absent(code="saturated") for name in needed if name not in samples}
    return {name: why for name, why in summary.absent.items() if name in needed}


def _with_unbounded(
    found: Saturation | None,
    metrics: Sequence[Metric],
    resources: Sequence[Resource],
    summary: PointSummary,
) -> Saturation | None:
    """Return where a point is saturated, with the names of its metrics without bound."""
    if found is None:
        return None
    classes = summary.windows[0].table("class") if summary.windows else None
    declared = [*metrics, *resource_metrics(resources)]
    count = 0 if classes is None else len(classes.names)
    return msgspec.structs.replace(found, unbounded=unbounded_metrics(declared, found, count))


def _runs(
    rows: Sequence[ReplicationRow], summary: PointSummary, needed: Collection[str]
) -> Iterator[RunOfPoint]:
    """Yield the replications that count, with the metrics that are needed."""
    places = {id(window.run): place for place, window in enumerate(summary.windows)}
    for row in rows:
        place = places.get(id(row.run))
        if place is not None:
            values = summary.values[place]
            yield RunOfPoint(
                replication=row.replication,
                started_at=row.started_at,
                seed=row.seed,
                values={name: values[name] for name in needed if name in values},
            )


def _is_kept(name: str, patterns: Sequence[str]) -> bool:
    """Return whether the last pattern that fits a metric keeps it; one with "!" leaves it out."""
    fitting = [pattern for pattern in patterns if fnmatchcase(name, pattern.removeprefix("!"))]
    return bool(fitting) and not fitting[-1].startswith("!")


def _without_curve(cut: WarmUpCut | None) -> WarmUpCut | None:
    return cut and msgspec.structs.replace(cut, times_s=[], values=[])


def _distributions(
    metrics: Sequence[Metric], summary: PointSummary, column: Column
) -> list[Distribution]:
    units = {metric.name: metric.unit for metric in metrics}
    binned = [_binned(metric, bins) for metric, bins in summary.merged.items()]
    occupancies = merge_by_metric(kept_occupancies(window) for window in summary.windows)
    fullest = sorted(occupancies, key=lambda metric: -_mean_of(occupancies[metric]))
    kept = set(fullest[:OCCUPANCIES_AT_MOST])
    binned += [_occupancy(metric, bins) for metric, bins in occupancies.items() if metric in kept]
    if column is not Column.MEASURE:
        return binned
    return binned + [
        _sampled(name, units[name], sample)
        for name, sample in summary.samples.items()
        if name in units
    ]


def _binned(metric: str, bins: Bins) -> Distribution:
    drawn = thinned(bins)
    return Distribution(
        metric=metric,
        unit="s",
        count=bins.total,
        low=drawn.low.tolist(),
        high=drawn.high.tolist(),
        counts=[int(number) for number in drawn.counts],
    )


def _mean_of(bins: Bins) -> float:
    return float((bins.low * bins.counts).sum() / bins.counts.sum())


def _occupancy(metric: str, bins: Bins) -> Distribution:
    """Return how long each number of jobs was present, in millionths of the time."""
    drawn = thinned(Bins(bins.low, bins.high, bins.counts / bins.counts.sum() * MILLIONTHS))
    return Distribution(
        metric=metric,
        unit="1",
        count=MILLIONTHS,
        low=drawn.low.tolist(),
        high=drawn.high.tolist(),
        counts=[round(part) for part in drawn.counts],
    )


def _sampled(metric: str, unit: str, sample: Sample) -> Distribution:
    return Distribution(
        metric=metric,
        unit=unit,
        count=sample.count,
        low=[],
        high=[],
        counts=[],
        samples=sample.values.tolist(),
    )


def _little(laws: Sequence[LawReport]) -> LittleCheck | None:
    gaps = [gap for gap in (law.worst() for law in laws) if gap is not None]
    if not gaps:
        return None
    worst = max(gaps, key=lambda gap: (not gap.passed, gap.gap))
    return LittleCheck(
        passed=worst.passed,
        worst_gap=worst.gap,
        kind=worst.kind,
        name=worst.name,
        tolerance=max(worst.tolerance, 0.0),
    )


def _known_error(experiment: PlannedExperiment) -> list[str]:
    system = experiment.system
    return [system.known_error] if isinstance(system, HasKnownError) and system.known_error else []


def _counted_faults(faults: Sequence[Fault]) -> list[Fault]:
    return [msgspec.structs.replace(fault, times=times) for fault, times in Counter(faults).items()]


def _counted(messages: Sequence[str]) -> list[str]:
    """Return each message once, with how often it came."""
    counts = Counter(messages)
    return [text if times == 1 else _repeated(text, times) for text, times in counts.items()]


def _repeated(message: str, times: int) -> str:
    """Return a message with how often it came, before its hint."""
    said, hint, cure = message.partition(HINT)
    return f"{said} ({times} times){hint}{cure}"
