"""Observes the machine, a measured program and its services during its run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from headroom.experiment.protocol.section import Section, SectionPoint, StackedBars
from headroom.recording.launching.launcher import Launcher
from headroom.recording.observers.group import Group
from headroom.recording.observers.observing import PROGRAM, Observing, named_in
from headroom.recording.observers.postgres import PostgresWatch
from headroom.recording.observers.watch import tree_of
from headroom.recording.services.keeper import Keeper
from headroom.systems.command.setup_table import CommandSetup

_FEWEST_GROUPS, _MOST_BARS = 2, 60
POSTGRES = "postgres"
"""Kind of the services whose waits and counters are observed."""
COSTLY = 0.05
"""Processors of the observer from which a run says that it is itself a load."""


def groups_of(setup: CommandSetup) -> tuple[list[str], list[str]]:
    """Return the names of all observed groups, and of those whose processors are limited."""
    services = {f"service.{table.name}": table.limits.cpus for table in setup.services}
    limited = [name for name, cpus in services.items() if cpus is not None]
    return [PROGRAM, *services, *named_in(setup.observers)], limited


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


def observer_of(setup: CommandSetup, keeper: Keeper, launcher: Launcher) -> Observing:
    """Return the observer of the next measured run."""

    def of_program() -> list[int]:
        pid = launcher.pid
        return list(tree_of(pid).members()) if pid else []

    return _observer_of(setup, keeper, {PROGRAM: Group(of_program)})


def services_observer(setup: CommandSetup, keeper: Keeper) -> Observing:
    """Return the observer of a machine that runs services for a program on another one.

    Processes and control groups that the study names are those of the program's machine.
    """
    observe = setup.observers and replace(setup.observers, processes={}, cgroups={})
    return _observer_of(replace(setup, observe=observe or True), keeper, {})


def _observer_of(setup: CommandSetup, keeper: Keeper, groups: dict[str, Group]) -> Observing:
    servers: dict[str, PostgresWatch] = {}
    limits: dict[str, float] = {}
    for service in keeper.services() if setup.observers is not None else ():
        name, cpus = f"service.{service.table.name}", service.table.limits.cpus
        groups[name] = service.group
        if service.table.kind == POSTGRES:
            servers[name] = PostgresWatch(
                service.place.host, next(iter(service.place.ports.values()))
            )
        if cpus is not None and "cpu" in service.groups:
            limits[name] = cpus
    return Observing(observe=setup.observers, groups=groups, servers=servers, limits=limits)


@contextmanager
def beside(observer: Observing, keeper: Keeper) -> Iterator[None]:
    """Observe the measured run while the faults of its services happen."""
    with observer.during(), keeper.faults():
        yield
