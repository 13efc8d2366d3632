"""Percentiles and shares that a study names: their metrics, and the waits that a run must keep.

Invariant: what is kept follows from the names alone, so that every run of a point keeps the same.
"""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from headroom.experiment.protocol.asked_metrics import LAG, PLAIN, Statistic, asked_metric
from headroom.experiment.protocol.system import Metric
from headroom.simulation import Model
from headroom.simulation.runs.result import WaitsOf
from headroom.systems.model.metrics import MOST_PLACES


def waits_of(model: Model, asked: Iterable[str]) -> tuple[WaitsOf, ...]:
    """Return the waits of which a metric is asked for, each once; names may be patterns."""
    known = _waits(model)
    named = [quantity for name in asked if (quantity := _quantity(name))]
    return tuple(
        waits
        for quantity, waits in known.items()
        if any(fnmatchcase(quantity, pattern) for pattern in named)
    )


def _quantity(name: str) -> str:
    """Return of which response time or wait a metric is; empty if of none."""
    if name.endswith(LAG):
        return f"{name.removesuffix(LAG)}.wait_s"
    found = asked_metric(name)
    return "" if found is None else found[0]


def asked_metrics(model: Model, asked: Iterable[str]) -> Iterator[Metric]:
    """Yield the metrics that are asked for, and the plain percentiles of the waits among them."""
    names = list(asked)
    kept = waits_of(model, names)
    waits = [one.quantity for one in kept]
    for one in kept:
        if one.class_name is None:
            yield _lag(one.quantity)
    for quantity in waits:
        yield from (_metric(quantity, statistic) for statistic in PLAIN)
    responses = ["response_s", *(f"class.{name}.response_s" for name in model.classes)]
    for name in names:
        found = asked_metric(name)
        if found is None or found[1] in PLAIN:
            continue
        for quantity in [*waits, *responses]:
            if fnmatchcase(quantity, found[0]):
                yield _metric(quantity, found[1])


def _waits(model: Model) -> dict[str, WaitsOf]:
    """Return all waits of a model that can be kept, by the quantity that they are."""
    found = []
    for is_pool, rows in ((False, model.station_rows()), (True, model.pool_rows())):
        found += [WaitsOf(is_pool, row, None) for row in rows]
        if 1 < len(model.classes) <= MOST_PLACES / max(len(rows), 1):
            found += [WaitsOf(is_pool, row, name) for row in rows for name in model.classes]
    return {one.quantity: one for one in found}


def _lag(quantity: str) -> Metric:
    return Metric(
        name=f"{quantity.removesuffix('.wait_s')}{LAG}",
        unit="s",
        better="low",
        description="Longest wait in the line, so far or in the end, warm-up included",
    )


def _metric(quantity: str, statistic: Statistic) -> Metric:
    what = "Wait" if quantity.endswith("wait_s") else "Response time"
    if statistic.percent is None:
        return Metric(
            name=statistic.metric(quantity),
            unit="1",
            better="high",
            description=f"Share of jobs with a {what.lower()} of at most {statistic.within_s:g} s",
        )
    return Metric(
        name=statistic.metric(quantity),
        unit="s",
        better="low",
        description=f"{what} that {statistic.percent:g}% of the jobs stay below",
    )
