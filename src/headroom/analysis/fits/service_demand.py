"""The fit method `service.demand`: demands of a measured server, past its knee too.

The sources are measured points of a server whose processor time was observed (`observe`), and the
target is a closed model with processors. There are two kinds of evidence:

- **Bursts**, points without think time that fill the server. Their throughput is the capacity,
  whatever limits it. What limits is judged by the traces that it leaves
  (`headroom.analysis.fits.traces`): the model's servers are the processors that others and a quota
  leave, or the places of a thread, a lock or a pool.
- **Low load.** Busy processors U = b + D X are regressed on the throughput X, with the weights
  1 / U: b is background, D the demand. The method refuses where D changes, because it then changes
  by a factor of two to four up to saturation, and where the points do not identify the capacity
  (`headroom.analysis.fits.low_load`).

An open load, with a rate that the source declares as `offered`, needs no clients: a point that does
not reach its rate is a burst, unless the load program is what limits, and the others are low load.

Invariant: bursts win; low load only adds to them what an operation costs alone.

Sources: Spinner, Casale, Brosig, Kounev, *Evaluating approaches to resource demand estimation*,
Performance Evaluation 92 (2015); the Utilization Law: Denning and Buzen, *The operational analysis
of queueing network models*, ACM Computing Surveys 10 (1978).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import msgspec
import numpy as np

from headroom.analysis.fits.demand_errors import WAITING, published
from headroom.analysis.fits.least_squares import config_of
from headroom.analysis.fits.loads import load_of, repairman
from headroom.analysis.fits.low_load import Capacity, check_hidden, first_limit
from headroom.analysis.fits.seen_points import SeenPoint, seen_point
from headroom.analysis.fits.traces import Judged, judge
from headroom.analysis.fits.variation import one_client, variation_of
from headroom.analysis.run.own_processors import NOTABLE
from headroom.analysis.statistics.intervals import t_quantile
from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    Load,
    ParameterEvidence,
    Residual,
    ServiceEvidence,
    SourcePoint,
    Target,
    options_as,
)
from headroom.experiment.protocol.system import Value

CHANGES = 1.2
"""Ratio of the demands of two loads from which the demand is not constant."""
FEWEST_LOADS = 3
"""Fewest loads that separate background from demand."""
LEAST_LEFT = 0.25
"""Share of the usable processors that others must leave: below it a burst shows them."""
WORKING = ("processors", "thread", "client")
"""Limits that take processors, of which neighbours leave more or less at other times."""
HELD_UP = 0.25
"""Threads that wait for a processor, for each place of what limits, from which they hold it up."""
SHORTEST_S = 1e-6
WOKEN = 0.5
"""Share of the processor time for waking all threads that clients who think cause: the more there
are, the fewer threads sleep (0.4 to 0.7 from the knee to twice its load)."""
NOTABLE_OUTSIDE = 0.05
"""Share of the demand from which one client's time outside what limits counts."""


class DemandOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `service.demand`."""

    groups: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Observed groups that share the processors, such as "service.db" and "program"."""
    throughput: str = "throughput"
    """Metric of the operations in a second."""
    demand: str = "service_s"
    """Parameter of the model that is the demand of an operation."""
    servers: str = "servers"
    """Parameter of the model that is the number of its processors."""
    fit_servers: bool = False
    """Take `servers` from what was observed: processors that others leave, or places of what
    limits; otherwise it is a fixed number."""
    response: str = "response_s_mean"
    """Metric of the mean response time, which shows at low load what takes no processor."""
    lock: str = ""
    """Parameter that is the processor time while the lock is held; empty: the model has none."""
    lock_metric: str = ""
    """Observed time that one client holds the lock; empty: bursts that the lock limits show it."""
    variation: str = ""
    """Parameter that is the squared coefficient of variation of the time of an operation, from the
    95th percentile that one client sees; empty: the model has none."""
    delay: str = ""
    """Parameter that is the time of an operation outside what limits, of which one client sees the
    sum; empty: the model has none."""
    flush: str = ""
    """Parameter that is the time of a flush of the log; empty: the model has none."""
    flush_metric: str = ""
    """Observed mean time of a flush; needed if there is `flush`."""
    extrapolate: bool = False
    """Fit to low load even where the demand changes; the predictions keep their wide intervals."""
    map: dict[str, str] = {}
    """Parameter of the model to that of the source, where their names differ."""

    @property
    def fitted(self) -> tuple[str, ...]:
        """Parameters that the method finds."""
        times = tuple(
            name
            for name in (self.demand, self.lock, self.flush, self.variation, self.delay)
            if name
        )
        return (*times, self.servers) if self.fit_servers else times


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """Demands and servers, and what they rest on."""

    demand_s: float
    servers: float
    evidence: ServiceEvidence
    lock_s: float = 0.0
    background: float = 0.0
    slope_s: float = 0.0
    capacity: float = 0.0
    alternatives: Sequence[Mapping[str, Value]] = ()
    used: Sequence[SeenPoint] = field(default=())


class ServiceDemand:
    """Demands from the processor time of operations, and from bursts.

    Examples
    --------
    >>> ServiceDemand().parameter_names(DemandOptions(groups=["service.db"], lock="lock_s"))
    ('service_s', 'lock_s')
    """

    name: ClassVar[str] = "service.demand"
    options_type: ClassVar[type[msgspec.Struct]] = DemandOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the demand, and the times of the lock and of a flush where the model has them."""
        return options_as(DemandOptions, options).fitted

    def model_config(
        self, point: SourcePoint, target: Target, options: msgspec.Struct
    ) -> Mapping[str, Value]:
        """Return the model's parameters as the source point had them, without the fitted ones.

        Nothing for an open load: the clients of a closed model do not send it.
        """
        wanted = options_as(DemandOptions, options)
        if wanted.throughput in point.offered:
            return {}
        return config_of(point, target, fitted=wanted.fitted, names=wanted.map)

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the demands.

        Raises
        ------
        FitError
            The points lack a metric, the demand changes from load to load, or nothing identifies
            the capacity.
        """
        wanted = options_as(DemandOptions, options)
        seen = [self._seen(point, target, wanted) for point in points]
        servers = _servers(seen, target, wanted)
        flush_s = _metric(points, wanted.flush_metric) if wanted.flush else 0.0
        bursts = [one for one in seen if _is_burst(one, servers)]
        if bursts:
            judged = judge(bursts[0].traces([o for o in seen if o not in bursts], servers))
            _check_load_program(bursts[0], judged)
            fitted = _from_bursts(
                bursts,
                judged,
                others=seen,
                servers=servers,
                flush_s=flush_s,
                options=wanted,
                target=target,
            )
        else:
            fitted = _from_low_load(seen, servers, wanted, target)
            if wanted.lock_metric:
                fitted = replace(fitted, lock_s=_metric(points, wanted.lock_metric) - flush_s)
        return Found(
            parameters=tuple(_parameters(fitted, seen, flush_s, wanted, target)),
            residuals=tuple(_residuals(fitted, seen)),
            evidence=fitted.evidence,
            alternatives=tuple(fitted.alternatives),
        )

    def _seen(self, point: SourcePoint, target: Target, options: DemandOptions) -> SeenPoint:
        config = self.model_config(point, target, options)
        load = load_of(target.system, {**target.config, **config}) if config else Load()
        return seen_point(
            point, load, options.groups,
            throughput=options.throughput, response=options.response,
        )  # fmt: skip


def _servers(seen: Sequence[SeenPoint], target: Target, options: DemandOptions) -> float:
    """Return the processors of the machine, which may be those of the model."""
    if not options.fit_servers or target.is_replicate:
        return float(target.config[options.servers])
    return float(np.median([one.count for one in seen]))


def _metric(points: Sequence[SourcePoint], name: str) -> float:
    """Return the median of a metric over the points that have it."""
    seen = [point.observed[name].value for point in points if name in point.observed]
    if not seen:
        raise FitError(
            f"the sources report no {name or 'time of a flush'}",
            cure="name a metric that they report as `lock_metric` or `flush_metric`",
        )
    return float(np.median(seen))


def _check_load_program(burst: SeenPoint, judged: Judged) -> None:
    """Refuse an open load that the load program does not send: it shows nothing of the server."""
    if not burst.is_short or judged.limit != "client":
        return
    raise FitError(
        f"the load program is the limit: of {burst.asked:.4g} operations per second that it is to "
        f"send {burst.rate:.4g} are done, while the server is not full",
        cure="give it more processes or connections, or leave such rates out by `where`",
    )


def _is_burst(one: SeenPoint, servers: float) -> bool:
    """Return whether a point lacks think times and has enough clients to fill the server."""
    if one.asked is not None:
        return one.is_short
    return one.load.think_s == 0.0 and (one.load.clients or 0) > WAITING * servers


def _from_bursts(
    bursts: Sequence[SeenPoint],
    judged: Judged,
    *,
    others: Sequence[SeenPoint],
    servers: float,
    flush_s: float,
    options: DemandOptions,
    target: Target,
) -> _Fitted:
    """Return the demand, the part of it under the lock (s), and the limit of the bursts."""
    rate = _rate(bursts)
    evidence = _evidence(bursts[0], judged, servers)
    is_full = judged.limit in {"processors", "quota"}
    if target.is_replicate and options.lock:
        is_full = not target.config[options.lock]  # what limits stays the same for the intervals
    cpu_s = float(np.median([one.cpu_s for one in bursts]))
    if not is_full and options.lock:
        if judged.limit == "pool":
            raise FitError(
                f"{judged.places[0]} operations at a time limit, which the model's "
                f"{options.lock!r} does not describe",
                cure='fit the model "interactive" with `fit_servers = true` and without `lock`',
            )
        lock_s = max(1.0 / rate - flush_s, SHORTEST_S)
        times = {options.demand: max(cpu_s - lock_s, SHORTEST_S), options.lock: lock_s}
        return _Fitted(
            demand_s=max(cpu_s, lock_s), lock_s=lock_s, servers=servers, evidence=evidence,
            alternatives=_with_other_neighbours(bursts[0], times, evidence), used=bursts,
            capacity=rate,
        )  # fmt: skip
    fewest, most = judged.places
    alone_s = _alone_s(others)
    if options.fit_servers and not target.is_replicate:
        servers = float(_likeliest(judged, rate * alone_s) or servers)
    demand_s = servers / rate
    alternatives: list[dict[str, Value]] = [
        {
            options.demand: count / rate,
            options.servers: count,
            **({options.delay: _outside_s(alone_s, count / rate)} if options.delay else {}),
        }
        for count in (fewest, most)
        if options.fit_servers and fewest < most
    ]
    waking = _waking(others, cpu_s) if judged.limit == "processors" else 0.0
    if waking:
        alternatives.append({options.demand: demand_s})
        demand_s *= 1.0 + WOKEN * waking
    alternatives += _with_other_neighbours(bursts[0], {options.demand: demand_s}, evidence)
    return _Fitted(
        demand_s=demand_s, servers=servers, evidence=evidence, alternatives=alternatives,
        used=bursts, capacity=rate,
    )  # fmt: skip


def _waking(seen: Sequence[SeenPoint], cpu_s: float) -> float:
    """Return how much more processor time (relative) an operation takes if it has to wake threads.

    In a burst threads go from one operation to the next; with one client all of them sleep before
    each operation.
    """
    one = one_client(seen)
    return 0.0 if one is None else max(one.cpu_s / cpu_s - 1.0, 0.0)


def _alone_s(seen: Sequence[SeenPoint]) -> float:
    """Return the mean response time (s) of one client, 0 if it was not measured."""
    one = one_client(seen)
    return 0.0 if one is None else one.mean_s


def _outside_s(alone_s: float, demand_s: float) -> float:
    """Return the time (s) of one client outside what limits; 0 where it is within the scatter."""
    outside_s = alone_s - demand_s
    return outside_s if outside_s > NOTABLE_OUTSIDE * demand_s else 0.0


def _likeliest(judged: Judged, busy: float) -> int:
    """Return which of the places that are left is closest to those that one client's time fills."""
    fewest, most = judged.places
    return min(max(round(busy), fewest), most)


def _rate(bursts: Sequence[SeenPoint]) -> float:
    rates = [one.rate for one in bursts]
    if max(rates) > CHANGES * min(rates):
        raise FitError(
            f"bursts differ: {min(rates):.4g} to {max(rates):.4g} operations per second",
            cure="name the factor that it depends on, such as the clients, in `by`, or choose one "
            "level by `where`",
        )
    return float(np.exp(np.mean(np.log(rates))))


def _evidence(burst: SeenPoint, judged: Judged, servers: float) -> ServiceEvidence:
    neighbours = burst.neighbours
    processors = burst.processors
    available = None if processors is None else processors.available
    usable = servers if processors is None else processors.count
    if burst.quota is not None and available is not None:
        usable = burst.quota[1]
        available = min(usable, available)
    is_left = available is None or available >= LEAST_LEFT * usable
    if judged.limit == "processors" and not is_left:
        raise FitError(
            f"others take {neighbours:.0%} of the processors during the burst: it shows them, not "
            "the server",
            cure="measure while they rest, or keep them from the processors of the server (cpuset)",
        )
    return ServiceEvidence(
        basis="bursts",
        limit=judged.limit,
        busy=burst.busy / servers if processors is None else processors.busy / processors.count,
        left=list(judged.left),
        refuted=list(judged.refuted),
        available=available,
        neighbours=neighbours if neighbours >= NOTABLE else None,
        capacity=burst.rate if burst.asked is not None else None,
    )


def _with_other_neighbours(
    burst: SeenPoint, times: Mapping[str, float], evidence: ServiceEvidence
) -> list[dict[str, Value]]:
    """Return the times with as many processors as others left at other times.

    The published error counts how much neighbours usually change between runs; the replications of
    the burst count if they changed more.
    """
    places = max((count for _, count in evidence.left), default=1)
    takes_processors = evidence.limit in WORKING or burst.waiting >= HELD_UP * places
    if evidence.neighbours is None or not takes_processors:
        return []
    error = published()["neighbours"]
    distance = t_quantile(degrees=error.degrees) * max(error.spread, burst.neighbours_error)
    factors = (math.exp(-distance), math.exp(distance))
    return [{name: time_s * factor for name, time_s in times.items()} for factor in factors]


def _from_low_load(
    seen: Sequence[SeenPoint], servers: float, options: DemandOptions, target: Target
) -> _Fitted:
    """Return background (processors), demand (s) and the first limit from points below the knee."""
    low = [one.low for one in seen]
    if not options.extrapolate and not target.is_replicate and not options.lock_metric:
        check_hidden(low)
    demands = [one.cpu_s for one in seen]
    if max(demands) > CHANGES * min(demands) and not options.extrapolate:
        raise FitError(
            f"the processor time of an operation changes with the load, from {max(demands):.3g} s "
            f"to {min(demands):.3g} s: low load does not show what it is when the server is full",
            cure="measure a burst with the clients of the prediction, without think time, in turn "
            "with the other points; or set `extrapolate = true` for a wide interval",
        )
    background, slope_s = _slope(seen)
    is_told_apart = np.unique([one.rate for one in seen]).size >= FEWEST_LOADS
    first = Capacity(limit="", servers=round(servers), demand_s=slope_s)
    alternatives: list[dict[str, Value]] = []
    if options.extrapolate:  # what was reached is all that is known
        alternatives = [{options.demand: servers / max(one.rate for one in seen)}]
    elif not target.is_replicate and not options.lock_metric:
        first = first_limit(low, demand_s=slope_s, servers=round(servers), quota=seen[0].quota)
        if not options.fit_servers:
            first = replace(first, demand_s=first.demand_s * servers / first.servers)
    return _Fitted(
        demand_s=first.demand_s,
        servers=first.servers if options.fit_servers else servers,
        background=background,
        slope_s=slope_s,
        alternatives=alternatives,
        evidence=ServiceEvidence(
            basis="low_load",
            limit=first.limit,
            background=background if is_told_apart else None,
            capacity=_carried(first, background) if seen[0].asked is not None else None,
        ),
        used=seen,
    )


def _carried(first: Capacity, background: float) -> float:
    """Return the operations per second of the first limit; background fills some processors."""
    left = first.servers - (background if first.limit == "processors" else 0.0)
    return float(f"{max(left, 0.0) / first.demand_s:.4g}")


def _slope(seen: Sequence[SeenPoint]) -> tuple[float, float]:
    rates = np.array([one.rate for one in seen])
    busy = np.array([one.busy for one in seen])
    if np.unique(rates).size < FEWEST_LOADS:
        return 0.0, float(np.mean([one.cpu_s for one in seen]))
    # Busy processors are known relatively, not absolutely: hence the weights.
    slope, background = np.polyfit(rates, busy, 1, w=1.0 / np.sqrt(busy))
    if background < 0.0:
        background, slope = 0.0, rates.sum() / (rates**2 / busy).sum()
    return float(background), float(slope)


def _parameters(
    fitted: _Fitted,
    seen: Sequence[SeenPoint],
    flush_s: float,
    options: DemandOptions,
    target: Target,
) -> Iterator[FittedParameter]:
    values = {options.demand: max(fitted.demand_s - fitted.lock_s, SHORTEST_S)}
    values |= {options.lock: max(fitted.lock_s, 0.0)} if options.lock else {}
    values |= {options.flush: flush_s} if options.flush else {}
    if options.variation:
        limit, demand_s = fitted.evidence.limit, values[options.demand]
        values |= {options.variation: variation_of(seen, limit, demand_s)}
    if options.delay:
        values |= {options.delay: _outside_s(_alone_s(seen), fitted.demand_s)}
    for name, value in values.items():
        yield FittedParameter(name=name, value=value, unit=target.parameters[name].unit)
    if options.fit_servers:
        count = round(fitted.servers)
        yield FittedParameter(
            name=options.servers, value=count, unit="1", low=count, high=count,
            evidence=(ParameterEvidence(code="observed"),),
        )  # fmt: skip


def _residuals(fitted: _Fitted, seen: Sequence[SeenPoint]) -> Iterator[Residual]:
    """Yield the capacity, or busy processors by the Utilization Law, and response times."""
    for one in fitted.used:
        if fitted.evidence.basis == "bursts":
            yield one.residual("throughput", "1/s", one.rate, fitted.capacity)
        else:
            busy = min(fitted.background + fitted.slope_s * one.rate, fitted.servers)
            yield one.residual("busy processors", "1", one.busy, busy)
    if fitted.lock_s or fitted.evidence.limit in {"", "client", "connections"}:
        return  # not one station, not identified, or waits that are not in the response time
    for one in seen:
        clients, think_s = one.load.clients, one.load.think_s
        if one.inside is not None and clients and think_s is not None:
            rate = repairman(clients, think_s, fitted.demand_s, round(fitted.servers))
            response_s = clients / rate - think_s
            yield one.residual("response time", "s", one.inside.response_s, response_s)
