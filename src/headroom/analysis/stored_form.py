"""The stored form of results, which states data shared by many points only once.

An experiment of 10,000 points has 200,000 estimates. The properties of a metric appear once, under
`metrics` of its experiment. An estimate states only the differences from them, apart from fields
that follow from its value. Reading restores all of it.

Invariant: ``read_form(stored_form(result)) == result``.
"""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from headroom.analysis.evidence import NoInterval
from headroom.analysis.results import (
    Estimate,
    ExperimentResult,
    Margin,
    PointResult,
    StudyResult,
)


class StoredMetric(msgspec.Struct, frozen=True, kw_only=True):
    """The common properties of the estimates of one metric, unless they state others."""

    unit: str
    better: str
    method: str
    centre: str


class StoredEstimate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An estimate as it is written; a key that is absent has the value that stands here."""

    value: float
    low: float | None = None
    high: float | None = None
    count: int | None = None
    """Absent: the `done` of the point."""
    unit: str | None = None
    """Absent, as `better`, `method` and `centre`: that of the metric."""
    better: str | None = None
    method: str | None = None
    centre: str | None = None
    mean: float | None = None
    """Absent, as `median`, `minimum` and `maximum`: the value."""
    median: float | None = None
    stdev: float | UnsetType = UNSET
    """Absent, as `mean_deviation`: 0."""
    minimum: float | None = None
    maximum: float | None = None
    mean_deviation: float | UnsetType | None = UNSET
    reason: NoInterval | None = None
    margin: Margin | None = None


class StoredPoint(PointResult, frozen=True, kw_only=True):
    """A point as it is written."""

    estimates: dict[str, StoredEstimate] = msgspec.field(default_factory=dict)  # type: ignore[assignment]


class StoredExperiment(ExperimentResult, frozen=True, kw_only=True):
    """An experiment as it is written."""

    metrics: dict[str, StoredMetric]
    points: list[StoredPoint]  # type: ignore[assignment]


class StoredStudy(StudyResult, frozen=True, kw_only=True):
    """The whole study: the content of `results.json`, and of `headroom show --json`."""

    experiments: list[StoredExperiment]  # type: ignore[assignment]


def stored_form(result: StudyResult) -> StoredStudy:
    """Return a result as it is written."""
    fields = _fields(result)
    fields["experiments"] = [_stored_experiment(experiment) for experiment in result.experiments]
    return StoredStudy(**fields)


def read_form(stored: StoredStudy) -> StudyResult:
    """Return the result of which `stored_form` made this."""
    fields = _fields(stored)
    fields["experiments"] = [_read_experiment(experiment) for experiment in stored.experiments]
    return StudyResult(**fields)


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def _stored_experiment(experiment: ExperimentResult) -> StoredExperiment:
    metrics: dict[str, StoredMetric] = {}
    fields = _fields(experiment)
    fields["points"] = [_stored_point(point, metrics) for point in experiment.points]
    return StoredExperiment(**fields, metrics=metrics)


def _read_experiment(stored: StoredExperiment) -> ExperimentResult:
    fields = _fields(stored)
    metrics = fields.pop("metrics")
    fields["points"] = [_read_point(point, metrics) for point in stored.points]
    return ExperimentResult(**fields)


def _stored_point(point: PointResult, metrics: dict[str, StoredMetric]) -> StoredPoint:
    fields = _fields(point)
    fields["estimates"] = {
        name: _stored_estimate(one, point.done, metrics) for name, one in point.estimates.items()
    }
    return StoredPoint(**fields)


def _read_point(stored: StoredPoint, metrics: dict[str, StoredMetric]) -> PointResult:
    fields = _fields(stored)
    fields["estimates"] = {
        name: _read_estimate(name, one, stored.done, metrics[name])
        for name, one in stored.estimates.items()
    }
    return PointResult(**fields)


def _stored_estimate(one: Estimate, done: int, metrics: dict[str, StoredMetric]) -> StoredEstimate:
    known = metrics.get(one.metric)
    if known is None:
        known = StoredMetric(unit=one.unit, better=one.better, method=one.method, centre=one.centre)
        metrics[one.metric] = known
    value = one.value
    return StoredEstimate(
        value=value,
        low=one.low,
        high=one.high,
        count=None if one.count == done else one.count,
        unit=None if one.unit == known.unit else one.unit,
        better=None if one.better == known.better else one.better,
        method=None if one.method == known.method else one.method,
        centre=None if one.centre == known.centre else one.centre,
        mean=None if one.mean == value else one.mean,
        median=None if one.median == value else one.median,
        stdev=one.stdev or UNSET,
        minimum=None if one.minimum == value else one.minimum,
        maximum=None if one.maximum == value else one.maximum,
        mean_deviation=UNSET if one.mean_deviation == 0.0 else one.mean_deviation,
        reason=one.reason,
        margin=one.margin,
    )


def _read_estimate(name: str, stored: StoredEstimate, done: int, metric: StoredMetric) -> Estimate:
    fields = _fields(stored)
    for missing in ("unit", "better", "method", "centre"):
        fields[missing] = fields[missing] or getattr(metric, missing)
    for missing in ("mean", "median", "minimum", "maximum"):
        if fields[missing] is None:
            fields[missing] = stored.value
    for missing in ("stdev", "mean_deviation"):
        if fields[missing] is UNSET:
            fields[missing] = 0.0
    if stored.count is None:
        fields["count"] = done
    return Estimate(metric=name, **fields)
