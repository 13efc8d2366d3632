"""Observes one measured run, whatever its system: the machine, groups of processes, servers."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from headroom.experiment.protocol.run import Run
from headroom.recording.observers.group import Group
from headroom.recording.observers.observed import Observed
from headroom.recording.observers.postgres import PostgresWatch
from headroom.recording.observers.table import ObserveTable
from headroom.recording.observers.watch import Watch, named_groups

PROGRAM = "program"
"""Group of the measured program, or of the load driver."""
COSTLY = 0.05
"""Processors of the observer from which a run says that it is itself a load."""


def named_in(observe: ObserveTable | None) -> list[str]:
    """Return the names of the groups that a study names itself."""
    if observe is None:
        return []
    named = [f"process.{name}" for name in observe.processes]
    return [*named, *(f"cgroup.{name}" for name in observe.cgroups)]


@dataclass(slots=True, kw_only=True)
class Observing:
    """Observes a run, if the study wants it.

    Parameters
    ----------
    observe
        The study's table; None: nothing is observed.
    groups
        Groups of processes by name, the program among them; those of the table are added.
    servers
        PostgreSQL servers by the name of their group.
    limits
        Group to the processors that it may use, where a limit is set.
    """

    observe: ObserveTable | None
    groups: Mapping[str, Group] = field(default_factory=dict)
    servers: Mapping[str, PostgresWatch] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    _watch: Watch | None = None

    @contextmanager
    def during(self) -> Iterator[None]:
        """Observe what happens inside."""
        if self.observe is None:
            yield
            return
        self._watch = Watch({**self.groups, **named_groups(self.observe)}, self.observe.interval_s)
        with ExitStack() as stack:
            for server in self.servers.values():
                stack.enter_context(server)
            stack.enter_context(self._watch)
            yield

    def added_to(self, run: Run, throughput: float | None = None) -> Run:
        """Return the run with what was observed; series only where it has none of its own.

        Parameters
        ----------
        throughput
            Operations per second, for metrics per operation; None: the metric that the table names.
        """
        observe, watch = self.observe, self._watch
        if observe is None or watch is None:
            return run
        observed = Observed(
            looks=watch.looks,
            cpus=os.cpu_count() or 1,
            limits=self.limits,
            own_cpu_s=watch.own_cpu_s + sum(one.own_cpu_s for one in self.servers.values()),
        )
        if throughput is None:
            throughput = run.values.get(observe.throughput)
        values = observed.values(skip_s=observe.skip_s, throughput=throughput)
        remarks = run.remarks
        for name, server in self.servers.items():
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
            samples=run.samples or observed.samples(),
            remarks=remarks,
        )
