"""The fit method `transactions.database`: demands of the model `tpcc`, from a database that ran it.

With one terminal nobody waits for anybody: the response time of a type is its processor time, its
flush of the log, and the time that messages and wake-ups take. With several, the processor time of
a transaction grows by `crowding` with each further one; bursts of terminals that neither key in nor
think show it. So does the time of a flush. What others leave of the machine is seen from one
terminal, too: the share of the time for which its processes could run that they did run.

Invariant: only points without keying and think times, on all processors, are used.

Source: the Utilization Law, Denning and Buzen, *The operational analysis of queueing network
models*, ACM Computing Surveys 10 (1978).
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec
import numpy as np

from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    PublishedError,
    Residual,
    SourcePoint,
    Target,
    options_as,
)
from headroom.systems.transactions.database import COMMITS
from headroom.systems.transactions.workload.tpcc import DECK, Kind

_PARAMETERS: dict[Kind, str] = {
    "New-Order": "new_order_s",
    "Payment": "payment_s",
    "Order-Status": "order_status_s",
    "Delivery": "delivery_s",
    "Stock-Level": "stock_level_s",
}
_GROUPS = ("program", "service.db")
_SHORTEST_S = 1e-6
_ERRORS = {"throughput": 0.09, "response_s_p95": 0.15, "response_s_mean": 0.15}
"""Ending of a metric to the standard deviation of log(measured / predicted)."""
_FULL = 0.85
"""Busy share of the processors from which a machine is full."""
_JUDGED = "PostgreSQL with 2 to 64 terminals, studies/tpcc_databases"
_COMMIT_SHARE = sum(DECK[kind] for kind in COMMITS) / sum(DECK.values())


class DatabaseOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `transactions.database`: there are none."""


class DatabaseFit:
    """Processor times by type, their growth with terminals, the flush of the log, and the rest.

    Examples
    --------
    >>> DatabaseFit().parameter_names(DatabaseOptions())[:3]
    ('new_order_s', 'payment_s', 'order_status_s')
    """

    name: ClassVar[str] = "transactions.database"
    options_type: ClassVar[type[msgspec.Struct]] = DatabaseOptions
    published_errors: ClassVar[tuple[PublishedError, ...]] = tuple(
        PublishedError(metric=metric, log_error=error, count=4, source=_JUDGED)
        for metric, error in _ERRORS.items()
    )

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:  # noqa: ARG002
        """Return the fitted parameters of the model `tpcc`."""
        return (
            *_PARAMETERS.values(),
            "crowding",
            "flush_s",
            "flush_crowding",
            "delay_s",
            "work_c2",
            "cpus",
            "server_share",
        )

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the parameters.

        Raises
        ------
        FitError
            There is no point with one terminal, or none with several.
        """
        options_as(DatabaseOptions, options)
        usable = [one for one in points if _is_usable(one)]
        alone = [one for one in usable if one.config["terminals"] == 1]
        crowds = [one for one in usable if one.config["terminals"] != 1]
        if not alone or not crowds:
            lacking = "with one terminal" if not alone else "with several terminals"
            raise FitError(
                f"no point {lacking}, waits = false and server_cpus = 0 has a result",
                cure="let `from` name an experiment of the system transactions that has both",
            )
        found = _of_one(alone[0])
        found["crowding"] = _crowding(_work_s(alone[0]), crowds)
        found["flush_crowding"] = _flush_crowding(alone[0], crowds)
        found["cpus"] = _cpus(crowds)
        found["server_share"] = _server_share(crowds)
        return Found(
            parameters=tuple(
                FittedParameter(name=name, value=value, unit=target.parameters[name].unit)
                for name, value in found.items()
            ),
            residuals=tuple(_residuals(usable, _work_s(alone[0]), found["crowding"])),
        )


def _is_usable(point: SourcePoint) -> bool:
    config = point.config
    return (
        config.get("workload") == "tpcc"
        and config.get("waits") is False
        and not config.get("rate_per_s")
        and not config.get("server_cpus")
    )


def _value(point: SourcePoint, metric: str) -> float:
    if metric not in point.observed:
        raise FitError(
            f"{point.experiment} reports no {metric}",
            cure="let `from` name experiments of the system transactions",
        )
    return point.observed[metric].value


def _work_s(point: SourcePoint) -> float:
    """Return the processor time (s) of a transaction, the driver's included."""
    metrics = [f"{group}.cpu_s_per_op" for group in _GROUPS]
    return sum(_value(point, metric) for metric in metrics if metric in point.observed)


def _of_one(point: SourcePoint) -> dict[str, float]:
    """Return what one terminal shows: processor times by type, flush and delay."""
    work_s, response_s = _work_s(point), _value(point, "response_s_mean")
    waited_s = sum(
        point.observed[f"{group}.queue_s_per_op"].value
        for group in _GROUPS
        if f"{group}.queue_s_per_op" in point.observed
    )
    rest_s = max(response_s - work_s - waited_s, 0.0)
    flush_s = min(_flush_s(point, rest_s), rest_s / _COMMIT_SHARE)
    delay_s = max(rest_s - _COMMIT_SHARE * flush_s, 0.0)
    raw = {kind: _seen_s(point, kind) - delay_s - flush_s * (kind in COMMITS) for kind in DECK}
    floor_s = 0.05 * work_s
    raw = {kind: max(time_s, floor_s) for kind, time_s in raw.items()}
    cards = sum(DECK.values())
    scale = work_s / (sum(DECK[kind] * time_s for kind, time_s in raw.items()) / cards)
    found = {_PARAMETERS[kind]: max(scale * raw[kind], _SHORTEST_S) for kind in DECK}
    return {**found, "flush_s": flush_s, "delay_s": delay_s, "work_c2": _work_c2(point)}


def _seen_s(point: SourcePoint, kind: Kind) -> float:
    name = kind.lower().replace("-", "_")
    return _value(point, f"class.{name}.response_s_mean")


def _flush_s(point: SourcePoint, rest_s: float) -> float:
    """Return the time (s) of a flush: as counted, or all that no processor explains."""
    metric = "service.db.wal_flush_s_mean"
    if metric in point.observed:
        return point.observed[metric].value
    return rest_s / _COMMIT_SHARE


def _work_c2(point: SourcePoint) -> float:
    """Return how much the times of the most frequent type vary."""
    metric = "class.new_order.response_s"
    if f"{metric}_stdev" not in point.observed:
        return 0.3
    ratio = _value(point, f"{metric}_stdev") / _value(point, f"{metric}_mean")
    return min(ratio**2, 4.0)


def _crowding(alone_s: float, crowds: Sequence[SourcePoint]) -> float:
    """Return by which share each further terminal lets the processor time grow."""
    return _growth([(one, _work_s(one) / alone_s - 1.0) for one in crowds])


def _flush_crowding(alone: SourcePoint, crowds: Sequence[SourcePoint]) -> float:
    """Return by which share each further terminal lets a flush grow, where flushes are timed."""
    metric = f"{_GROUPS[1]}.wal_flush_s_mean"
    timed = [one for one in (alone, *crowds) if metric in one.observed and _value(one, metric)]
    if alone not in timed or len(timed) == 1:
        return 0.0
    alone_s = _value(alone, metric)
    return max(_growth([(one, _value(one, metric) / alone_s - 1.0) for one in timed[1:]]), 0.0)


def _growth(grown: Sequence[tuple[SourcePoint, float]]) -> float:
    """Return the growth with each further terminal, by least squares through one terminal."""
    further = np.array([float(one.config["terminals"]) - 1.0 for one, _ in grown])
    growth = np.array([share for _, share in grown])
    return float((further * growth).sum() / (further**2).sum())


def _cpus(crowds: Sequence[SourcePoint]) -> float:
    """Return the processors that server and driver had where terminals asked most.

    On a machine that is full these are those that they kept busy: for a part of the time all wait
    for a row or the log. On any other they are those that others leave.
    """
    most = max(crowds, key=lambda one: float(one.config["terminals"]))
    count, share = (_value(most, f"machine.cpu.{name}") for name in ("count", "utilization"))
    own = _value(most, "throughput") * _work_s(most)
    if share >= _FULL:
        return min(max(own, 0.1), count)
    return max(count - max(count * share - own, 0.0), 0.1)


def _server_share(crowds: Sequence[SourcePoint]) -> float:
    """Return the share of the server in all processor time of a transaction, the largest seen."""
    metric = f"{_GROUPS[1]}.cpu_s_per_op"
    return max(_value(one, metric) / _work_s(one) for one in crowds)


def _residuals(
    points: Sequence[SourcePoint], alone_s: float, crowding: float
) -> Iterator[Residual]:
    """Yield the processor time of a transaction, observed and by the fit."""
    for point in points:
        further = float(point.config["terminals"]) - 1.0
        yield Residual(
            experiment=point.experiment,
            levels=dict(point.levels),
            metric="processor time of a transaction",
            unit="s",
            observed=_work_s(point),
            fitted=alone_s * (1.0 + crowding * further),
        )
