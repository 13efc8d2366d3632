"""Machines that measure: what the runner asks of one, and this machine's answers.

A session looks at a host, opens the systems that it measures there, prepares those that have work,
runs their replications one at a time, and closes them. On another machine a process answers in the
place of the driver's: `serve` is its loop. If the roles of an experiment are on several machines,
the host of its load measures, and asks the processes on the others by calls in between.
"""

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.machine import environment
from headroom.experiment.machine.machine_watch import busy_words
from headroom.experiment.protocol.roles import Placement, RunsInRoles
from headroom.experiment.protocol.system import (
    ChecksPoints,
    Column,
    Destructive,
    KeepsThings,
    Located,
    Replays,
    System,
    Value,
)
from headroom.experiment.runner.executors import Executor, Place
from headroom.experiment.runner.measuring import MeasureExecutor
from headroom.experiment.runner.schedule import PointState
from headroom.experiment.runner.tasks import (
    Recipe,
    Result,
    Task,
    Visit,
    describe_exception,
    load_system,
    recipe_of,
)
from headroom.experiment.study.plan import Plan, PlannedExperiment
from headroom.experiment.study.windows import windows_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Configs: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Value]]]
"""Config of each point, by experiment and key."""


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What is there: facts of the machine, and by key of a point its content and its place."""

    facts: dict[str, Any]
    fingerprints: dict[str, str] = {}
    places: dict[str, str] = {}


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of the experiments that can run, why the others cannot, and what would disturb them."""

    facts: dict[str, dict[str, float | str]]
    refused: dict[str, tuple[str, str, bool]] = {}
    """By experiment: message, cure, and whether the study is wrong, not the machine."""
    busy: str = ""


class Host(Protocol):
    """A machine on which some experiments of a plan are measured."""

    def look(self) -> Looked:
        """Return what is there, before anything is made."""
        ...

    def open(self, say: Callable[[str], None]) -> Sequence[str]:
        """Begin the session of every system; returns notes."""
        ...

    def prepare(self, waiting: Configs) -> Prepared:
        """Check the machine for the experiments and points that have work."""
        ...

    def executor(self, say: Callable[[str], None]) -> Executor:
        """Return what runs replications there, one at a time."""
        ...

    def close(self) -> Sequence[str]:
        """End the session of every system, also after a failure; returns notes."""
        ...


class ThisHost:
    """The machine of this process.

    Parameters
    ----------
    systems, recipes
        Loaded system of each experiment, and how another process can load it.
    folder
        Folder of the study.
    configs
        All points.
    """

    def __init__(
        self,
        systems: Mapping[str, System],
        recipes: Mapping[str, Recipe],
        *,
        folder: Path,
        configs: Configs,
    ) -> None:
        self._systems = systems
        self._recipes = recipes
        self._folder = folder
        self._configs = configs

    def look(self, *, with_content: bool = False) -> Looked:
        """Return what is there; `with_content` also how the systems describe their points."""
        places, fingerprints = {}, {}
        for name, by_key in self._configs.items():
            system = self._systems[name]
            for key, config in by_key.items():
                if isinstance(system, Located) and (place := system.found_at(config)):
                    places[key] = place
                if with_content:
                    fingerprints[key] = system.fingerprint(config)
        facts = environment.collect(self._folder)
        return Looked(facts=facts, fingerprints=fingerprints, places=places)

    def open(self, say: Callable[[str], None]) -> Sequence[str]:
        """Begin the session of every system; returns notes."""
        kept = [one for one in self._systems.values() if isinstance(one, KeepsThings)]
        return [note for system in kept for note in system.open_session(say)]

    def prepare(self, waiting: Configs) -> Prepared:
        """Check the machine for the experiments and points that have work."""
        facts, refused = {}, {}
        for name, by_key in waiting.items():
            try:
                facts[name] = _prepared(self._systems[name], by_key.values())
            except HeadroomError as error:
                refused[name] = (error.message, error.cure, isinstance(error, StudyError))
        measured = (self._systems[name] for name in waiting)
        is_loaded = any(
            one.column is Column.MEASURE and not isinstance(one, Replays) for one in measured
        )
        return Prepared(facts=facts, refused=refused, busy=busy_words() if is_loaded else "")

    def executor(self, say: Callable[[str], None]) -> Executor:
        """Return what runs replications here, one at a time."""
        return MeasureExecutor(self._systems, self._recipes, say)

    def serve(self, experiment: str, request: bytes) -> bytes:
        """Let a system answer the host of its load."""
        system = self._systems[experiment]
        if not isinstance(system, RunsInRoles):
            raise TypeError(f"{system.name} has no roles")
        return system.serve(request)

    def close(self) -> Sequence[str]:
        """End the session of every system; the first failure is raised after the last."""
        notes: list[str] = []
        with ExitStack() as stack:
            for system in self._systems.values():
                if isinstance(system, KeepsThings):
                    stack.callback(lambda kept: notes.extend(kept.close_session()), system)
        return notes


class _OtherHost(ThisHost):
    """A machine of the services alone."""

    def prepare(self, waiting: Configs) -> Prepared:  # noqa: ARG002 - the load's host checks it
        """Return the sources of disturbance of the services."""
        return Prepared(facts={}, busy=busy_words())


def _prepared(system: System, configs: Iterable[Mapping[str, Value]]) -> dict[str, float | str]:
    facts = dict(system.prepare())
    for config in configs:
        if isinstance(system, ChecksPoints):
            system.check_point(config)
    return facts


def host_of(experiment: PlannedExperiment) -> str:
    """Return the host of an experiment, empty for this machine."""
    name = experiment.spec.site
    return "" if name in _names_here() else name


def hosts_of(plan: Plan, place: Place | None) -> dict[str, Host]:
    """Return the hosts of a plan that can be asked: this machine under an empty name, always."""
    by_host: dict[str, list[PlannedExperiment]] = {"": []}
    for experiment in plan.experiments:
        by_host.setdefault(host_of(experiment), []).append(experiment)
    here = by_host.pop("")
    hosts: dict[str, Host] = {
        "": ThisHost(
            {one.spec.name: one.system for one in here},
            recipes_of(here),
            folder=plan.folder,
            configs=configs_of(here),
        )
    }
    if place is not None and by_host:
        hosts |= place.hosts(by_host, plan.folder)
    return hosts


def check_there(hosts: Mapping[str, Host], waiting: Mapping[str, Sequence[PointState]]) -> None:
    """Raise `EnvironmentUnfitError` if an experiment with work has a host that cannot be asked."""
    for name, states in waiting.items():
        experiment = states[0].experiment
        if (host := host_of(experiment)) in hosts:
            continue
        names = " and ".join(dict.fromkeys(experiment.spec.hosts.values())) or host
        why = "which is not this machine" if names == host else "not on this machine alone"
        workers = "a worker announces" if names == host else "workers announce"
        raise EnvironmentUnfitError(
            f"experiment {name!r} is measured on {names}, {why} ({socket.gethostname()})",
            cure=f"name the cluster in which {workers} {names} (--on dask://HOST:PORT), or leave "
            "the experiment out (--only)",
        )


def recipes_of(experiments: Iterable[PlannedExperiment]) -> dict[str, Recipe]:
    """Return how another process can load the systems of experiments."""
    return {
        one.spec.name: recipe_of(
            one.system, one.setup, one.base, windows_of(one.system), one.spec.hosts
        )
        for one in experiments
    }


def configs_of(experiments: Iterable[PlannedExperiment]) -> Configs:
    """Return the config of every point."""
    return {
        one.spec.name: {point.key: dict(point.config) for point in one.points}
        for one in experiments
    }


@cache
def _names_here() -> frozenset[str]:
    name = socket.gethostname()
    return frozenset({"", name, name.partition(".")[0]})


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One of the things that a driver asks of a host."""

    what: Literal["wait", "look", "open", "prepare", "run", "serve", "close"]
    configs: dict[str, dict[str, dict[str, Value]]] = {}
    task: Task | None = None
    experiment: str = ""
    content: bytes = b""
    """A question of the load's host to an experiment's services."""


class Reply(msgspec.Struct, kw_only=True):
    """The answer: one of the fields, or an error; and what was said meanwhile."""

    said: list[str] = []
    notes: list[str] = []
    looked: Looked | None = None
    prepared: Prepared | None = None
    results: list[Result] = []
    content: bytes = b""
    error: str = ""
    cure: str = ""


CALL = b"call"
"""Begins a `Call`, which comes before the reply."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A question of the load's host to another one, before it replies to the driver."""

    host: str
    experiment: str
    content: bytes


def serve(connection: "Connection[bytes, bytes]", visit: Visit) -> None:
    """Answer requests until the driver closes the connection; then close what is open."""
    said: list[str] = []
    host: ThisHost | None = None
    executor: Executor | None = None
    try:
        while True:
            request = msgspec.msgpack.decode(connection.recv_bytes(), type=Request)
            reply = Reply()
            try:
                host = host or _host(visit, connection)
                executor = executor or host.executor(said.append)
                _answer(reply, host, executor, request)
            except HeadroomError as error:
                reply.error, reply.cure = error.message, error.cure
            except Exception as unknown:
                reply.error = describe_exception(unknown)
            reply.said += said
            said.clear()
            connection.send_bytes(msgspec.msgpack.encode(reply))
    finally:
        if executor is not None:
            executor.close()
        if host is not None:
            host.close()


def _host(visit: Visit, connection: "Connection[bytes, bytes]") -> ThisHost:
    systems = {
        name: _placed(load_system(recipe), name, visit, connection)
        for name, recipe in visit.recipes.items()
    }
    for name, system in systems.items():
        configs = visit.configs.get(name, {}).values()
        if isinstance(system, Destructive) and any(map(system.confirmations, configs)):
            raise EnvironmentUnfitError(
                f"experiment {name!r} would overwrite what is on a target",
                cure="run it on that machine, where --overwrite can confirm it",
            )
    kind = ThisHost if visit.configs else _OtherHost
    return kind(systems, visit.recipes, folder=Path(visit.folder), configs=visit.configs)


def _placed(
    system: System, experiment: str, visit: Visit, connection: "Connection[bytes, bytes]"
) -> System:
    """Return a system that can ask the processes on its other hosts."""
    hosts = visit.recipes[experiment].hosts
    if not hosts or not isinstance(system, RunsInRoles):
        return system

    def ask(host: str, request: bytes) -> bytes:
        call = Call(host=host, experiment=experiment, content=request)
        connection.send_bytes(CALL + msgspec.msgpack.encode(call))
        reply = msgspec.msgpack.decode(connection.recv_bytes(), type=Reply)
        if reply.error:
            raise EnvironmentUnfitError(f"{host}: {reply.error}", cure=reply.cure)
        return reply.content

    return system.placed(Placement(hosts=hosts, own=visit.own, addresses=visit.addresses, ask=ask))


def _answer(reply: Reply, host: ThisHost, executor: Executor, request: Request) -> None:
    """Do what a request asks for, and write it into the reply."""
    if request.what == "look":
        reply.looked = host.look(with_content=True)
    elif request.what == "open":
        reply.notes += host.open(reply.said.append)
    elif request.what == "prepare":
        reply.prepared = host.prepare(request.configs)
    elif request.task is not None:
        executor.submit([request.task])
        reply.results += executor.results()
    elif request.what == "serve":
        reply.content = host.serve(request.experiment, request.content)
    elif request.what == "close":
        executor.close()
        reply.notes += host.close()
