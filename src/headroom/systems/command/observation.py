"""Observes the machine, a measured program and its services during its run."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import Section, SectionPoint, StackedBars
from headroom.recording.launching.launcher import Launcher
from headroom.recording.observers.group import Group
from headroom.recording.observers.observed import Observed
from headroom.recording.observers.postgres import PostgresWatch
from headroom.recording.observers.watch import Watch, named_groups, tree_of
from headroom.recording.services.keeper import Keeper
from headroom.systems.command.setup_table import CommandSetup

PROGRAM = "program"
_FEWEST_GROUPS, _MOST_BARS = 2, 60
POSTGRES = "postgres"
"""Kind of the services whose waits and counters are observed."""
COSTLY = 0.05
"""Processors of the observer from which a run says that it is itself a load."""


def groups_of(setup: CommandSetup) -> tuple[list[str], list[str]]:
    """Return the names of all observed groups, and of those whose processors are limited."""
    observe = setup.observe
    services = {f"service.{table.name}": table.limits.cpus for table in setup.services}
    named = [] if observe is None else [f"process.{name}" for name in observe.processes]
    named += [] if observe is None else [f"cgroup.{name}" for name in observe.cgroups]
    limited = [name for name, cpus in services.items() if cpus is not None]
    return [PROGRAM, *services, *named], limited


def postgres_servers(setup: CommandSetup) -> list[str]:
    """Return the services that are PostgreSQL servers, as their metrics name them."""
    return [f"service.{table.name}" for table in setup.services if table.kind == POSTGRES]


def cpu_by_group(setup: CommandSetup, points: Sequence[SectionPoint]) -> list[Section]:
    """Return where the processor time of an operation goes, if at least two groups report it."""
    names = [name for name in groups_of(setup)[0] if not name.startswith("cgroup.")]
    seen = [point for point in points if f"{PROGRAM}.cpu_s_per_op" in point.estimates]
    seen = [one for one in seen if all(f"{n}.cpu_s_per_op" in one.estimates for n in names)]
    if len(names) < _FEWEST_GROUPS or not 0 < len(seen) <= _MOST_BARS:
        return []
    return [
        StackedBars(
            title="Where the processor time of an operation goes",
            caption="Medians of the replications, by group of processes.",
            bars=[point.label or "all" for point in seen],
            parts=[name.removeprefix("service.") for name in names],
            values=[
                [max(point.estimates[f"{name}.cpu_s_per_op"], 0.0) for name in names]
                for point in seen
            ],
            metric="processor_time_s",
            unit="s",
        )
    ]


@dataclass(slots=True)
class Observation:
    """Observes one measured run, if the study wants it."""

    setup: CommandSetup
    keeper: Keeper
    launcher: Launcher
    _watch: Watch | None = None
    _servers: dict[str, PostgresWatch] = field(default_factory=dict)
    _limits: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def during(self) -> Iterator[None]:
        """Observe while the faults of the services happen."""
        observe = self.setup.observe
        if observe is None:
            with self.keeper.faults():
                yield
            return
        services = {}
        for service in self.keeper.services():
            name, cpus = f"service.{service.table.name}", service.table.limits.cpus
            services[name] = service.group
            if service.table.kind == POSTGRES:
                port = next(iter(service.place.ports.values()))
                self._servers[name] = PostgresWatch(port)
            if cpus is not None and "cpu" in service.groups:
                self._limits[name] = cpus
        groups = {PROGRAM: Group(self._of_program), **services, **named_groups(observe)}
        self._watch = Watch(groups, observe.interval_s)
        with ExitStack() as stack:
            for server in self._servers.values():
                stack.enter_context(server)
            stack.enter_context(self._watch)
            stack.enter_context(self.keeper.faults())
            yield

    def added_to(self, run: Run) -> Run:
        """Return the run with what was observed."""
        observe, watch = self.setup.observe, self._watch
        if observe is None or watch is None:
            return run
        observed = Observed(
            looks=watch.looks,
            cpus=os.cpu_count() or 1,
            limits=self._limits,
            own_cpu_s=watch.own_cpu_s + sum(one.own_cpu_s for one in self._servers.values()),
        )
        throughput = run.values.get(observe.throughput)
        values = observed.values(skip_s=observe.skip_s, throughput=throughput)
        remarks = run.remarks
        for name, server in self._servers.items():
            seen = server.values(skip_s=observe.skip_s, throughput=throughput)
            values |= {f"{name}.{metric}": value for metric, value in seen.items()}
            if server.missing:
                remarks += (f"{name} did not always answer the observer: {server.missing}",)
        if values["observer.cpus"] > COSTLY:
            remarks += (
                f"observing takes more than {COSTLY:g} processors: set a longer "
                "`observe.interval_s`",
            )
        return replace(
            run,
            values={**run.values, **values},
            observed=observed.capacities(),
            samples=observed.samples(),
            remarks=remarks,
        )

    def _of_program(self) -> list[int]:
        pid = self.launcher.pid
        return list(tree_of(pid).members()) if pid else []
