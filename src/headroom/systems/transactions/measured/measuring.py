"""One replication: a fresh copy, load and observers on, counters and conditions checked."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Value
from headroom.recording.observers.group import Group
from headroom.recording.observers.observing import PROGRAM, Observing
from headroom.recording.observers.postgres import PostgresWatch
from headroom.recording.observers.table import ObserveTable
from headroom.recording.programs import LoadPrograms
from headroom.recording.services.slowing import by_limit
from headroom.systems.transactions.measured.conversion import (
    completions,
    miscounted_rows,
    run_of,
    with_driver_share,
)
from headroom.systems.transactions.measured.databases import HOST, UNLIMITED, Databases
from headroom.systems.transactions.measured.parameters import SERVICE, Asked
from headroom.systems.transactions.measured.program import program
from headroom.systems.transactions.measured.standard import deviations

_SEED_STEP = 1 << 32
_SETTLE_S = 5.0
"""Longest wait for counters that a server's process reports when it ends."""
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Measures points.

    Parameters
    ----------
    seconds, warm_up_s
        Length (s) of a replication's load, and of its beginning that NOPM leaves out.
    checks
        Whether the conditions of the standard are checked after each run.
    """

    databases: Databases
    observe: ObserveTable
    seconds: float
    warm_up_s: float
    checks: bool

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        """Put the load on a fresh copy, and return what was found."""
        point = Asked.of(config)
        target, name = self.databases.copy_for(config)
        before = self.databases.rows(target, name)
        jobs = list(self._jobs(point, target, name, seed))
        with LoadPrograms([str(program()), "--wait", "-"], jobs) as programs:
            observer = self._observer(point, target, programs)
            with self._limited(point), observer.during():
                begun_s = time.monotonic()
                result = programs.run()
                length_s = time.monotonic() - begun_s
        run = run_of(result, point, warm_up_s=self.warm_up_s)
        run = observer.added_to(run, throughput=completions(result) / length_s)
        run = with_driver_share(run)
        run = self._counted(run, target, name, before)
        if self.checks:
            run = self._checked(run, target, name)
        derived = "; ".join(deviations(point, seconds=self.seconds, defers=_defers(point)))
        said = f"derived from {_TITLES[point.workload]}, not comparable with published results: "
        return replace(run, notes=(*run.notes, said + derived))

    @contextmanager
    def _limited(self, point: Asked) -> Iterator[None]:
        """Limit the processors of the server, if the point says so."""
        service = self.databases.service()
        if service is None or not point.server_cpus:
            yield
            return
        if "cpu" not in service.groups:
            remarks = "; ".join(service.remarks)
            raise EnvironmentUnfitError(
                f"the processors of the server cannot be limited here: {remarks}",
                cure="run as root where control groups are mounted, or set server_cpus = 0",
            )
        with by_limit(service.groups, 1.0 - point.server_cpus / UNLIMITED):
            yield

    def _jobs(
        self, point: Asked, target: Mapping[str, Any], name: str, seed: int
    ) -> Iterator[dict[str, Any]]:
        """Yield the job of each process of the driver."""
        count = min(point.processes, point.terminals)
        first = 0
        for number in range(count):
            terminals = point.terminals // count + (number < point.terminals % count)
            yield {
                "do": "run",
                "target": target,
                "database": name,
                "seed": (seed + number * _SEED_STEP) % (1 << 63),
                "load": _arrivals(point, terminals, count),
                "first_terminal": first,
                "form": point.form,
                "pipelines": point.pipelines,
                "isolation": point.isolation,
                "defers": _defers(point),
                "is_fresh": number == 0,
                "stop": {"seconds": self.seconds},
            }
            first += terminals

    def _observer(
        self, point: Asked, target: Mapping[str, Any], programs: LoadPrograms
    ) -> Observing:
        groups: dict[str, Group] = {PROGRAM: Group(programs.processes)}
        servers, limits = {}, {}
        service = None if self.databases.server else self.databases.service()
        if service is not None and point.product != "sqlite":
            groups[SERVICE] = service.group
            if point.product == "postgres":
                port = int(str(target["url"]).rpartition(":")[2])
                servers[SERVICE] = PostgresWatch(HOST, port)
            if point.server_cpus:
                limits[SERVICE] = point.server_cpus
        return Observing(observe=self.observe, groups=groups, servers=servers, limits=limits)

    def _counted(
        self,
        run: Run,
        target: Mapping[str, Any],
        name: str,
        before: Mapping[str, tuple[int, int, int]],
    ) -> Run:
        """Compare the rows that the database counted with those of the transactions."""
        if not before or run.counters["retry_count"] or run.values["error_count"]:
            return run
        end_s = time.monotonic() + _SETTLE_S
        while True:
            after = self.databases.rows(target, name)
            off = miscounted_rows(run.counters, before, after)
            if not off or time.monotonic() > end_s:
                break
            time.sleep(_PAUSE_S)
        run = replace(run, values={**run.values, "miscounted_rows": sum(off.values())})
        if not off or "all" in off:
            # A server that counts all together counts what others and its own work did, too.
            return run
        text = ", ".join(f"{table} by {count:g}" for table, count in off.items())
        return replace(
            run,
            faults=(
                *run.faults,
                f"the database counted other rows than the transactions changed: {text}",
            ),
        )

    def _checked(self, run: Run, target: Mapping[str, Any], name: str) -> Run:
        """Check the conditions of the standard after the run."""
        broken = self.databases.broken_conditions(target, name)
        values = {**run.values, "broken_conditions": float(sum(broken.values()))}
        faults = tuple(f"{name} is broken {count} times" for name, count in broken.items())
        return replace(run, values=values, faults=(*run.faults, *faults))


_TITLES = {"tpcc": "TPC-C", "tpcb": "TPC-B"}


def _defers(point: Asked) -> bool:
    """Return whether deliveries are put into a queue: where terminals are those of the standard."""
    return point.waits and not point.rate_per_s


def _arrivals(point: Asked, terminals: int, processes: int) -> dict[str, Any]:
    connections = -(-point.connections // processes)
    if point.rate_per_s:
        return {
            "kind": "open",
            "rate_per_s": point.rate_per_s / processes,
            "connections": connections or terminals,
        }
    return {
        "kind": "closed",
        "terminals": terminals,
        "waits": point.waits and point.workload == "tpcc",
        **({"connections": connections} if connections else {}),
    }
