"""Source points of `service.demand`, reduced to what its rules ask.

Results of earlier versions lack some traces: those are None, and the rules do without.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headroom.analysis.fits.low_load import LowPoint
from headroom.analysis.fits.traces import Inside, Traces, Unhurried
from headroom.analysis.run.own_processors import Processors
from headroom.experiment.protocol.fit_method import FitError, Load, Residual, SourcePoint

FULL = 0.85
"""Busy share from which processors are full, if only that of the groups is known."""
NEARLY_ALL = 0.9
"""Share of the processors of the machine from which a group may have no quota."""
MANY = 1000
"""Operations of an open load that may be inside, if nothing says how many are."""
SHORT, SHORT_ALONE, SURELY = 0.99, 0.95, 3.0
"""Share of an asked rate below which it is not reached: by three standard errors, and if no scatter
is known."""
_PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPoint:
    """A source point with its load.

    Parameters
    ----------
    rate
        Operations per second.
    groups
        Observed groups that share the processors.
    throughput, response
        Metrics of the operations in a second, and of the mean response time.
    """

    source: SourcePoint
    rate: float
    load: Load
    groups: Sequence[str]
    throughput: str
    response: str

    @property
    def asked(self) -> float | None:
        """Operations per second that an open load asks for; None for a closed one."""
        return self.source.offered.get(self.throughput)

    @property
    def is_short(self) -> bool:
        """Whether surely fewer operations are done than an open load asks for."""
        error = self._error(self.throughput)
        least = SHORT_ALONE if not error else SHORT - SURELY * error
        return self.asked is not None and self.rate < least * self.asked

    def _value(self, name: str) -> float | None:
        found = self.source.observed.get(name)
        return None if found is None else found.value

    def _error(self, name: str) -> float:
        """Return the relative standard error of a metric, 0 if unknown."""
        found = self.source.observed.get(name)
        return (found.standard_error or 0.0) / found.value if found and found.value else 0.0

    def _sum(self, metric: str, groups: Sequence[str]) -> float:
        return math.fsum(self._value(f"{group}.{metric}") or 0.0 for group in groups)

    def _most(self, metric: str, groups: Sequence[str]) -> float | None:
        known = [self._value(f"{group}.{metric}") for group in groups]
        return max((one for one in known if one is not None), default=None)

    @property
    def cpu_s(self) -> float:
        """Processor time (s) of an operation, of all groups."""
        return self._sum("cpu_s_per_op", self.groups)

    @property
    def occupied_s(self) -> float:
        """Processor time (s) of an operation and its waits for a processor, of all groups."""
        return self.cpu_s + self._sum("queue_s_per_op", self.groups)

    @property
    def busy(self) -> float:
        """Processors that the groups keep busy."""
        return self.rate * self.cpu_s

    @property
    def count(self) -> float:
        """Processors of the machine; by a utilization in results of earlier versions."""
        known = self._value("machine.cpu.count")
        if known is not None:
            return known
        group = self.groups[0]
        share = self._value(f"{group}.cpu.utilization")
        if not share:
            raise _lacks(self.source, f"{group}.cpu.utilization")
        return max(float(round(self._sum("cpu_s_per_op", [group]) * self.rate / share)), 1.0)

    @property
    def servers(self) -> list[str]:
        """The groups without the load program."""
        return [group for group in self.groups if group != _PROGRAM]

    @property
    def processors(self) -> Processors | None:
        """Whose the processors are, None if only those of the groups are known."""
        share = self._value("machine.cpu.utilization")
        if share is None:
            return None
        count = self.count
        known = [self._value(f"{group}.cpu.crowd_mean") for group in self.groups]
        crowd = None if None in known else math.fsum(one or 0.0 for one in known)
        busy = share * count
        return Processors(count=count, busy=busy, own=min(self.busy, busy), crowd=crowd)

    @property
    def waiting(self) -> float:
        """Mean number of threads of the servers that wait for a processor."""
        return self.rate * self._sum("queue_s_per_op", self.servers)

    @property
    def neighbours(self) -> float:
        """Share of the processors that others take."""
        found = self.processors
        return 0.0 if found is None else found.others / found.count

    @property
    def neighbours_error(self) -> float:
        """Relative standard error of the own busy processors, of two points of such replications.

        Of a full machine they are what others leave.
        """
        seen = [self.source.observed.get(f"{group}.cpu.busy_mean") for group in self.groups]
        known = [one for one in seen if one and one.standard_error is not None]
        most = max(known, key=lambda one: one.value, default=None)
        return math.sqrt(2.0) * (most.standard_error or 0.0) / most.value if most else 0.0

    @property
    def quota(self) -> tuple[str, float] | None:
        """The group with a quota, and its processors; None without one.

        Its processors are fewer than those of the machine, also if no kernel counts its periods.
        """
        for group in self.groups:
            share = self._value(f"{group}.cpu.utilization")
            busy = self._value(f"{group}.cpu.busy_mean")
            cpus = (busy or self._sum("cpu_s_per_op", [group]) * self.rate) / (share or math.inf)
            is_counted = self._value(f"{group}.throttled_share") is not None
            if share and (is_counted or cpus < NEARLY_ALL * self.count):
                return group, float(f"{cpus:.3g}")
        return None

    @property
    def device(self) -> float:
        """Share of the time that a device works for the servers, 0 if unknown.

        That of the whole machine counts only while a thread of them waits for one.
        """
        own = self._most("io.stalled_share", self.servers) or 0.0
        if not self._most("blocked_mean", self.servers):
            return own
        machine = (self._value("machine.disk.utilization"), self._value("machine.io.stalled_share"))
        return max(own, *(one or 0.0 for one in machine))

    @property
    def inside(self) -> Inside | None:
        """What an operation costs here, with its waits for a processor."""
        response_s = self._value(self.response)
        if response_s is None and self.load.clients == 1 and self.load.think_s == 0.0:
            response_s = 1.0 / self.rate
        if response_s is None:
            return None
        return Inside(response_s=response_s, cpu_s=self.occupied_s)

    @property
    def mean_s(self) -> float:
        """Mean response time (s); without one it is that of a client who never thinks."""
        return self._value(self.response) or (self.load.clients or 1) / self.rate

    @property
    def p95_s(self) -> float | None:
        """95th percentile of the response time (s), None if it is not reported."""
        name = self.response.replace("_mean", "_p95")
        return None if name == self.response else self._value(name)

    @property
    def low(self) -> LowPoint:
        """The point as one below the knee."""
        threads = {}
        for group in self.groups:
            busiest = self._value(f"{group}.busiest_thread.utilization")
            own_s = self._sum("cpu_s_per_op", [group])
            threads[group] = (0.0 if busiest is None else busiest / self.rate, own_s)
        return LowPoint(
            rate=self.rate, load=self.load, inside=self.inside, threads=threads,
            neighbours=self.neighbours,
        )  # fmt: skip

    def residual(self, metric: str, unit: str, observed: float, fitted: float) -> Residual:
        """Return what the fitted model says of this point, beside what was observed."""
        return Residual(
            experiment=self.source.experiment, levels=dict(self.source.levels), metric=metric,
            unit=unit, observed=observed, fitted=fitted,
        )  # fmt: skip

    def unhurried(self, burst: "SeenPoint") -> Unhurried | None:
        """Return the response time of this point below the knee; None without its load."""
        clients, think_s = self.load.clients, self.load.think_s
        if self.inside is None or clients is None or think_s is None:
            return None
        return Unhurried(
            clients=clients, think_s=think_s, response_s=self.inside.response_s,
            error=self._error(self.response) or self._error(self.throughput),
            cpu_ratio=self.inside.cpu_s / burst.occupied_s,
        )  # fmt: skip

    def traces(self, others: Sequence["SeenPoint"], servers: float) -> Traces:
        """Return what this burst left, with what an operation costs at the lowest other load."""
        alone = [one for one in others if one.inside is not None]
        lowest = min(alone, key=lambda one: one.rate, default=None)
        processors = self.processors
        if processors is None:
            is_full = self.busy >= FULL * servers
            processors = Processors(
                count=servers, busy=servers if is_full else self.busy, own=self.busy
            )
        quota = self.quota
        response_s = self._value(self.response)
        inside_s = None if lowest is None or lowest.inside is None else lowest.inside.response_s
        clients = self.load.clients
        if clients is None:  # as many as are in the system, by Little's law
            clients = MANY if response_s is None else round(self.rate * response_s)
        return Traces(
            rate=self.rate,
            clients=max(clients, 1),
            slowing=response_s / inside_s if self.is_short and response_s and inside_s else None,
            processors=processors,
            quota=None if quota is None else self._value(f"{quota[0]}.cpu.utilization"),
            throttled=None if quota is None else self._value(f"{quota[0]}.throttled_share"),
            server=self._most("busiest_thread.runnable_share", self.servers),
            program=self._most("busiest_thread.runnable_share", [_PROGRAM]),
            blocked=self._most("blocked_mean", self.servers) or 0.0,
            device=self.device,
            unaccepted=self._most("accept_queue_mean", self.servers),
            waits=self._most("voluntary_switches_per_op", self.servers),
            rows=self._most("waits.lock_mean", self.servers),
            inside=None if lowest is None else lowest.inside,
            low=[unhurried for one in alone if (unhurried := one.unhurried(self))],
        )


def seen_point(
    point: SourcePoint, load: Load, groups: Sequence[str], *, throughput: str, response: str
) -> SeenPoint:
    """Return a source point with its load; raise `FitError` if it lacks what is needed."""
    for metric in (throughput, *(f"{group}.cpu_s_per_op" for group in groups)):
        if metric not in point.observed:
            raise _lacks(point, metric)
    rate = point.observed[throughput].value
    if rate <= 0.0:
        raise FitError(
            f"a point of {point.experiment} completes nothing",
            cure="leave it out by `where`, or run it longer",
        )
    return SeenPoint(
        source=point, rate=rate, load=load, groups=groups,
        throughput=throughput, response=response,
    )  # fmt: skip


def _lacks(point: SourcePoint, metric: str) -> FitError:
    return FitError(
        f"{point.experiment} reports no {metric}",
        cure="add the table [experiment.system.observe] with the metric `throughput` to "
        "the source, and name its groups in `groups`",
    )
