"""Tidy tables for other programs: one row per point, replication or observation.

Every row names its experiment, its point and the level of each factor, so that rows can be joined
or filtered without the study file.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from math import isfinite, nan
from typing import Any, TypeAlias

from headroom.analysis.point import summarise
from headroom.analysis.results import (
    Effect,
    ExperimentResult,
    PointResult,
    StudyResult,
    WhatIfResult,
)
from headroom.analysis.run.time_series import part_series
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.protocol.artefact import Artefact
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point

Row: TypeAlias = dict[str, Any]
Why: TypeAlias = Callable[[PointResult, str], str]
"""Says why a point has no estimate of a metric, for the column `missing`."""
_LONGEST = 100
"""Letters of a folder that is named after levels."""
_ESTIMATED = (
    "metric", "unit", "count", "centre", "value", "low", "high", "method", "mean", "median",
    "stdev", "minimum", "maximum", "mean_deviation",
)  # fmt: skip


def point_rows(result: StudyResult, why: Why) -> Iterator[Row]:
    """Yield one row per point and metric: the estimate with its interval.

    Of a response without an estimate there is a row too, whose `missing` says why.
    """
    for experiment in result.experiments:
        for point in experiment.points:
            head = _head(experiment.name, point.key, point)
            for estimate in point.estimates.values():
                found = {name: getattr(estimate, name) for name in _ESTIMATED}
                yield head | found | {"missing": ""}
            for metric in _without(experiment, point):
                nothing: Row = dict.fromkeys(_ESTIMATED)
                yield head | nothing | {"metric": metric, "count": 0, "missing": why(point, metric)}


def wide_rows(result: StudyResult, why: Why) -> Iterator[Row]:
    """Yield one row per point: its levels, and of each metric the value, low and high end."""
    known = [(one, point) for one in result.experiments for point in one.points]
    metrics = dict.fromkeys(name for one, at in known for name in [*one.responses, *at.estimates])
    for experiment, point in known:
        row = _head(experiment.name, point.key, point) | {"count": point.done}
        for metric in metrics:
            for end, suffix in (("value", ""), ("low", "_low"), ("high", "_high")):
                found = getattr(point.estimates.get(metric), end, None)
                row[metric + suffix] = nan if found is None else found
        reasons = dict.fromkeys(why(point, metric) for metric in _without(experiment, point))
        yield row | {"missing": "; ".join(filter(None, reasons))}


def _without(experiment: ExperimentResult, point: PointResult) -> list[str]:
    """Return the responses that a point has no estimate of."""
    return [metric for metric in experiment.responses if metric not in point.estimates]


def replication_rows(plan: Plan, journal: Journal) -> Iterator[Row]:
    """Yield one row per replication and metric, after the point's warm-up cut.

    A failed replication yields one row without a metric and with its error; a finished one that
    is not reported (a fault, a broken operational law) yields one row without a metric.
    """
    for experiment, point, rows in _points(plan, journal):
        done = [row for row in rows if row.run is not None]
        summary = summarise(experiment, [row.run for row in done if row.run is not None])
        values_of = {id(window.run): place for place, window in enumerate(summary.windows)}
        for row in rows:
            head = _head(experiment.spec.name, point.key, point) | _about(row)
            place = values_of.get(id(row.run))
            if place is None:
                yield head | {"metric": None, "value": None}
                continue
            for metric, value in summary.values[place].items():
                yield head | {"metric": metric, "value": value}


def observation_rows(plan: Plan, journal: Journal) -> Iterator[Row]:
    """Yield one row per value of each series, warm-up included, in completion order."""
    for experiment, point, rows in _points(plan, journal):
        for row in rows:
            if row.run is None:
                continue
            head = _head(experiment.spec.name, point.key, point) | _about(row)
            for series in row.run.series:
                times = series.end_times_s
                for place, value in enumerate(series.values):
                    yield head | {
                        "metric": series.metric,
                        "batch_size": series.batch_size,
                        "place": place,
                        "end_time_s": None if times is None else float(times[place]),
                        "value": float(value),
                    }


def series_rows(plan: Plan, journal: Journal) -> Iterator[Row]:
    """Yield one row per value of each time series, warm-up included.

    A value is a metric of a station, pool or class over one interval of simulated time.
    """
    for experiment, point, rows in _points(plan, journal):
        for row in rows:
            if row.run is None or row.run.samples is None:
                continue
            head = _head(experiment.spec.name, point.key, point) | _about(row)
            ends_s = row.run.samples.times_s.tolist()
            starts_s = [0.0, *ends_s]
            for series in part_series(row.run.samples):
                for start_s, end_s, value in zip(starts_s, ends_s, series.values, strict=False):
                    yield head | {
                        "metric": series.full_name,
                        "unit": series.unit,
                        "start_time_s": start_s,
                        "end_time_s": end_s,
                        "value": float(value) if isfinite(value) else None,
                    }


def artefacts(plan: Plan, journal: Journal) -> Iterator[tuple[str, Artefact]]:
    """Yield the small files that replications left, each with a path of its own without dots."""
    for experiment, point, rows in _points(plan, journal):
        levels = "_".join(f"{name}={level}" for name, level in point.levels.items())
        folder = re.sub(r"[^A-Za-z0-9=_-]+", "-", levels)[:_LONGEST] or "point"
        for row in rows:
            for artefact in row.artefacts:
                name = re.sub(r"[^A-Za-z0-9._-]+|^\.+", "-", artefact.name)
                place = f"{experiment.spec.name}/{folder}_{point.key[:8]}/{row.replication}"
                yield f"{place}/{name}", artefact


def interval_rows(result: StudyResult) -> Iterator[Row]:
    """Yield one row per interval and metric of terminating runs: the mean with its interval."""
    for experiment in result.experiments:
        for point in experiment.points:
            course = point.over_time
            if course is None:
                continue
            head = _head(experiment.name, point.key, point)
            starts_s = [0.0, *course.ends_s]
            for line in course.lines:
                for place, end_s in enumerate(course.ends_s):
                    yield head | {
                        "metric": line.metric,
                        "unit": line.unit,
                        "start_time_s": starts_s[place],
                        "end_time_s": end_s,
                        "value": line.values[place],
                        "low": line.low[place],
                        "high": line.high[place],
                    }


def comparison_rows(result: StudyResult) -> Iterator[Row]:
    """Yield one row per level that is compared with a base, metric, and other levels."""
    for experiment in result.experiments:
        comparison = experiment.compared
        if comparison is None:
            continue
        for row in comparison.rows:
            levels = {**row.where, comparison.factor: row.level}
            yield {
                "experiment": experiment.name,
                "factor": comparison.factor,
                **{f"factor.{name}": level for name, level in levels.items()},
                "base": comparison.base,
                "same_within": comparison.same_within,
                "confidence": comparison.confidence,
                **{name: getattr(row, name) for name in _COMPARED},
                "evidence": row.evidence.code,
            }


def derived_rows(result: StudyResult) -> Iterator[Row]:
    """Yield one row per derived quantity and combination of levels; without a value, with why."""
    for experiment in result.experiments:
        for found in experiment.derived:
            for one in found.values:
                yield {
                    "experiment": experiment.name,
                    "quantity": found.name,
                    **{f"factor.{name}": level for name, level in one.levels.items()},
                    "of": found.of,
                    "operation": found.operation,
                    "unit": found.unit,
                    "value": one.value,
                    "low": one.low,
                    "high": one.high,
                    "terms": one.count,
                    "planned_terms": one.planned,
                    "missing": "" if one.missing is None else one.missing.code,
                }


_COMPARED = (
    "metric", "unit", "better", "verdict", "count", "base_count", "pairs", "value",
    "base_value", "ratio", "low", "high", "method", "shift", "shift_low", "shift_high",
    "cliffs_delta", "effect", "p_value",
)  # fmt: skip


def what_if_rows(result: StudyResult) -> Iterator[Row]:
    """Yield one row per change that was tried at a point, and metric: before, after, the ratio.

    A change without effects yields one row without a metric; `evidence` says why.
    """
    for experiment in result.experiments:
        for point in experiment.points:
            for tried in point.what_ifs:
                head = _head(experiment.name, point.key, point) | _about_change(tried)
                effects: Sequence[Effect | None] = tried.effects or [None]
                for effect in effects:
                    yield head | _effect_columns(effect) | {"evidence": _evidence(tried, effect)}


def _about_change(tried: WhatIfResult) -> Row:
    then = tried.bottleneck
    return {
        "change": tried.change,
        "done": tried.done,
        "failed": tried.failed,
        "limits_then": then.name if then is not None and then.limits else "",
    }


def _effect_columns(effect: Effect | None) -> Row:
    names = ("metric", "unit", "better", "before", "after", "ratio", "low", "high", "pairs")
    return {name: getattr(effect, name, None) for name in (*names, "variance_reduction")}


def _evidence(tried: WhatIfResult, effect: Effect | None) -> str:
    reason = tried.why_empty if effect is None else effect.reason
    return "" if reason is None else reason.code


def _points(
    plan: Plan, journal: Journal
) -> Iterator[tuple[PlannedExperiment, Point, list[ReplicationRow]]]:
    selection = Selection(plan, journal)
    for experiment in plan.experiments:
        for point in experiment.points:
            yield experiment, point, selection.rows(experiment, point)


def _head(experiment: str, key: str, point: Point | PointResult) -> Row:
    return {"experiment": experiment, "point": key} | {
        f"factor.{name}": level for name, level in point.levels.items()
    }


def _about(row: ReplicationRow) -> Row:
    return {
        "replication": row.replication,
        "seed": row.seed,
        "state": row.state,
        "error": row.error,
        "wall_clock_s": row.wall_s,
        "started_at": row.started_at,
    }
