"""The fit method `service.demand`: demands of a measured server, past its knee too.

The sources are measured points of a server whose processor time was observed (`observe`), and the
target is a closed model with processors. There are two kinds of evidence:

- **Bursts**, points without think time that fill the server. Their throughput is the capacity,
  whatever limits it: the demand is servers / throughput if processors do, and the time that a lock
  is held is 1 / throughput otherwise.
- **Low load.** Busy processors U = b + D X are regressed on the throughput X, with the weights
  1 / U: b is background, D the demand. Between low load and saturation D changes by a factor of two
  to four, so the method refuses where the points show that it does change.

Invariant: bursts win; low load counts only without them.

Sources: Spinner, Casale, Brosig, Kounev, *Evaluating approaches to resource demand estimation*,
Performance Evaluation 92 (2015); the Utilization Law: Denning and Buzen, *The operational analysis
of queueing network models*, ACM Computing Surveys 10 (1978).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np

from headroom.analysis.fits.demand_errors import WAITING
from headroom.analysis.fits.least_squares import config_of
from headroom.analysis.fits.loads import load_of
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

FULL = 0.85
"""Busy share of the processors from which they, and nothing else, limit a burst."""
CHANGES = 1.2
"""Ratio of the demands of two loads from which the demand is not constant."""
FEWEST_LOADS = 3
"""Fewest loads that separate background from demand."""
SHORTEST_S = 1e-6


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
    """Take `servers` from what the groups may use, as observed, instead of a fixed number."""
    lock: str = ""
    """Parameter that is the processor time while the lock is held; empty: the model has none."""
    lock_metric: str = ""
    """Observed time that one client holds the lock; empty: bursts that the lock limits show it."""
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
        times = tuple(name for name in (self.demand, self.lock, self.flush) if name)
        return (*times, self.servers) if self.fit_servers else times


@dataclass(frozen=True, slots=True)
class _Point:
    """A source point, reduced to the inputs of the method.

    Parameters
    ----------
    rate
        Operations per second.
    cpu_s
        Processor time (s) of an operation, of all groups.
    load
        Its clients and their think time.
    """

    source: SourcePoint
    rate: float
    cpu_s: float
    load: Load

    @property
    def busy(self) -> float:
        """Busy processors."""
        return self.rate * self.cpu_s


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
        """Return the model's parameters as the source point had them, without the fitted ones."""
        wanted = options_as(DemandOptions, options)
        return config_of(point, target, fitted=wanted.fitted, names=wanted.map)

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the demands.

        Raises
        ------
        FitError
            The points lack a metric, or the demand changes from load to load.
        """
        wanted = options_as(DemandOptions, options)
        seen = [self._seen(point, target, wanted) for point in points]
        servers = self._servers(points, target, wanted)
        flush_s = _metric(points, wanted.flush_metric) if wanted.flush else 0.0
        bursts = [one for one in seen if _is_burst(one, servers)]
        if bursts:
            demand_s, lock_s, evidence = _from_bursts(bursts, servers, flush_s, wanted, target)
            background = 0.0
        else:
            background, demand_s = _from_low_load(seen, wanted)
            lock_s = _metric(points, wanted.lock_metric) - flush_s if wanted.lock_metric else 0.0
            is_told_apart = np.unique([one.rate for one in seen]).size >= FEWEST_LOADS
            evidence = ServiceEvidence(
                basis="low_load", background=background if is_told_apart else None
            )
        values = {wanted.demand: max(demand_s - lock_s, SHORTEST_S)}
        values |= {wanted.lock: max(lock_s, 0.0)} if wanted.lock else {}
        values |= {wanted.flush: flush_s} if wanted.flush else {}
        parameters = [
            FittedParameter(name=name, value=value, unit=target.parameters[name].unit)
            for name, value in values.items()
        ]
        if wanted.fit_servers:
            count = round(servers)
            parameters.append(
                FittedParameter(
                    name=wanted.servers, value=count, unit="1", low=count, high=count,
                    evidence=(ParameterEvidence(code="observed"),),
                )
            )  # fmt: skip
        return Found(
            parameters=tuple(parameters),
            residuals=tuple(_residuals(bursts or seen, background, demand_s, servers)),
            evidence=evidence,
        )

    def _servers(
        self, points: Sequence[SourcePoint], target: Target, options: DemandOptions
    ) -> float:
        """Return the processors: utilization is the share of them that the group takes."""
        if not options.fit_servers or target.is_replicate:
            return float(target.config[options.servers])
        group = options.groups[0]
        share, cpu = f"{group}.cpu.utilization", f"{group}.cpu_s_per_op"
        found = []
        for point in points:
            _need(point, [options.throughput, cpu, share])
            rate, cpu_s = point.observed[options.throughput].value, point.observed[cpu].value
            found.append(rate * cpu_s / point.observed[share].value)
        return max(float(round(np.median(found))), 1.0)

    def _seen(self, point: SourcePoint, target: Target, options: DemandOptions) -> _Point:
        cpu = [f"{group}.cpu_s_per_op" for group in options.groups]
        _need(point, [options.throughput, *cpu])
        rate = point.observed[options.throughput].value
        cpu_s = sum(point.observed[name].value for name in cpu)
        if rate <= 0.0:
            raise FitError(
                f"a point of {point.experiment} completes nothing",
                cure="leave it out by `where`, or run it longer",
            )
        config = {**target.config, **self.model_config(point, target, options)}
        return _Point(point, rate, cpu_s, load_of(target.system, config))


def _need(point: SourcePoint, metrics: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in point.observed:
            raise FitError(
                f"{point.experiment} reports no {metric}",
                cure="add the table [experiment.system.observe] with the metric `throughput` to "
                "the source, and name its groups in `groups`",
            )


def _metric(points: Sequence[SourcePoint], name: str) -> float:
    """Return the median of a metric over the points that have it."""
    seen = [point.observed[name].value for point in points if name in point.observed]
    if not seen:
        raise FitError(
            f"the sources report no {name or 'time of a flush'}",
            cure="name a metric that they report as `lock_metric` or `flush_metric`",
        )
    return float(np.median(seen))


def _is_burst(one: _Point, servers: float) -> bool:
    """Return whether a point lacks think times and has enough clients to fill the server."""
    return one.load.think_s == 0.0 and (one.load.clients or 0) > WAITING * servers


def _from_bursts(
    bursts: Sequence[_Point],
    servers: float,
    flush_s: float,
    options: DemandOptions,
    target: Target,
) -> tuple[float, float, ServiceEvidence]:
    """Return the demand, the part of it under the lock (s), and the limit of the bursts."""
    rates = [one.rate for one in bursts]
    if max(rates) > CHANGES * min(rates):
        raise FitError(
            f"bursts differ: {min(rates):.4g} to {max(rates):.4g} operations per second",
            cure="name the factor that it depends on, such as the clients, in `by`, or choose one "
            "level by `where`",
        )
    rate = float(np.exp(np.mean(np.log(rates))))
    busy = float(np.median([one.busy for one in bursts])) / servers
    is_full = busy >= FULL
    if target.is_replicate and options.lock:
        is_full = not target.config[options.lock]  # what limits stays the same for the intervals
    if not is_full and options.lock:
        lock_s = max(1.0 / rate - flush_s, SHORTEST_S)
        cpu_s = float(np.median([one.cpu_s for one in bursts]))
        evidence = ServiceEvidence(basis="bursts", limit="lock", busy=busy)
        return max(cpu_s, lock_s), lock_s, evidence
    limit: Literal["processors", "unknown"] = "processors" if is_full else "unknown"
    return servers / rate, 0.0, ServiceEvidence(basis="bursts", limit=limit, busy=busy)


def _from_low_load(seen: Sequence[_Point], options: DemandOptions) -> tuple[float, float]:
    """Return background (processors) and demand (s) from points below the knee."""
    demands = [one.cpu_s for one in seen]
    if max(demands) > CHANGES * min(demands) and not options.extrapolate:
        raise FitError(
            f"the processor time of an operation changes with the load, from {max(demands):.3g} s "
            f"to {min(demands):.3g} s: low load does not show what it is when the server is full",
            cure="measure a burst with the clients of the prediction, without think time, in turn "
            "with the other points; or set `extrapolate = true` for a wide interval",
        )
    rates = np.array([one.rate for one in seen])
    busy = np.array([one.busy for one in seen])
    if np.unique(rates).size < FEWEST_LOADS:
        return 0.0, float(np.mean(demands))
    # Busy processors are known relatively, not absolutely: hence the weights.
    slope, background = np.polyfit(rates, busy, 1, w=1.0 / np.sqrt(busy))
    if background < 0.0:
        background, slope = 0.0, rates.sum() / (rates**2 / busy).sum()
    return float(background), float(slope)


def _residuals(
    used: Sequence[_Point], background: float, demand_s: float, servers: float
) -> Iterator[Residual]:
    """Yield busy processors, observed and by the Utilization Law."""
    for one in used:
        yield Residual(
            experiment=one.source.experiment,
            levels=dict(one.source.levels),
            metric="busy processors",
            unit="1",
            observed=one.busy,
            fitted=min(background + demand_s * one.rate, servers),
        )
