"""Observes the machine, a measured program and its services during its run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from headroom.experiment.protocol.run import Run
from headroom.recording.launching.launcher import Launcher
from headroom.recording.observers.group import Group
from headroom.recording.observers.observed import Observed
from headroom.recording.observers.watch import Watch, named_groups, tree_of
from headroom.recording.services.keeper import Keeper
from headroom.systems.command.setup_table import CommandSetup

PROGRAM = "program"
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


@dataclass(slots=True)
class Observation:
    """Observes one measured run, if the study wants it."""

    setup: CommandSetup
    keeper: Keeper
    launcher: Launcher
    _watch: Watch | None = None
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
            if cpus is not None and "cpu" in service.groups:
                self._limits[name] = cpus
        groups = {PROGRAM: Group(self._of_program), **services, **named_groups(observe)}
        self._watch = Watch(groups, observe.interval_s)
        with self._watch, self.keeper.faults():
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
            own_cpu_s=watch.own_cpu_s,
        )
        throughput = run.values.get(observe.throughput)
        values = observed.values(skip_s=observe.skip_s, throughput=throughput)
        remarks = run.remarks
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
