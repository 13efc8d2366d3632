"""Hosts of a Dask cluster, as the driver sees them: held for one session, asked over Dask.

The host of the load measures; hosts of services alone answer it. Each has a process of Headroom.

Invariant: nothing is asked of a host that another session holds.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.machine.machine_identity import ROLES
from headroom.experiment.machine.repository import repository_state
from headroom.experiment.protocol.roles import LOAD
from headroom.experiment.runner.cluster.connection import Cluster
from headroom.experiment.runner.cluster.holds import Holds, Need
from headroom.experiment.runner.cluster.parcel import pack
from headroom.experiment.runner.executors import Executor, InlineExecutor
from headroom.experiment.runner.hosts import (
    Configs,
    Looked,
    Prepared,
    Reply,
    Request,
    configs_of,
    recipes_of,
)
from headroom.experiment.runner.tasks import Result
from headroom.experiment.study.plan import PlannedExperiment


def far_hosts(
    cluster: Cluster, experiments: Mapping[str, Sequence[PlannedExperiment]], folder: Path
) -> dict[str, "FarHost"]:
    """Return the hosts of experiments by their `Experiment.site`, all held for one session."""
    holds = Holds(cluster)
    return {site: FarHost(holds, site, found, folder) for site, found in experiments.items()}


class FarHost:
    """The machines of some experiments, announced by workers of a cluster; a `Host`.

    Parameters
    ----------
    holds
        Workers of the session.
    site
        Text that names the machines.
    experiments
        What is measured there.
    folder
        Folder of their study, here.
    """

    def __init__(
        self, holds: Holds, site: str, experiments: Sequence[PlannedExperiment], folder: Path
    ) -> None:
        self._holds = holds
        self._experiments = experiments
        self._folder = folder
        self._roles = experiments[0].spec.hosts or {LOAD: experiments[0].spec.host}
        self._name = self._roles[LOAD]
        self._seats = {host: f"{site} @ {host}" for host in dict.fromkeys(self._roles.values())}
        self._say: Callable[[str], None] = holds.cluster.say
        parcel = pack(experiments, recipes_of(experiments), is_host=True).encoded
        for host, seat in self._seats.items():
            configs = configs_of(experiments) if host == self._name else {}
            need = Need(seat=seat, host=host, parcel=parcel, configs=configs, others=self._seats)
            holds.add(need)

    def look(self) -> Looked:
        """Take the hosts of the session, once nobody else holds them; return what is there."""
        self._holds.take()
        looked = {host: self._looked(host) for host in [*self._others, self._name]}
        there = looked[self._name]
        for experiment in self._experiments:
            for point in experiment.points:
                if there.fingerprints[point.key] != point.content:
                    raise EnvironmentUnfitError(
                        f"experiment {experiment.spec.name!r} is another one on {self._name}: its "
                        "files there differ from those here",
                        cure="keep what it reads in the study's folder, under 34 MB and in files "
                        "whose names do not begin with a dot; absolute paths are those of the host",
                    )
        facts = _described(there, self._name)
        if state := repository_state(self._folder):
            facts["repository"] = state
        if self._others:
            facts["host"]["role"] = LOAD
            facts[ROLES] = {
                role: _described(looked[host], host)
                for role, host in self._roles.items()
                if host != self._name
            }
        return msgspec.structs.replace(there, facts=facts)

    def open(self, say: Callable[[str], None]) -> Sequence[str]:
        """Begin the session of every system; returns notes."""
        self._say = say
        return [note for host in self._seats for note in self._asked("open", host).notes]

    def prepare(self, waiting: Configs) -> Prepared:
        """Check the hosts for the experiments and points that have work."""
        request = msgspec.convert({"what": "prepare", "configs": waiting}, Request)
        prepared = self._sent(request, self._name).prepared
        if prepared is None:
            raise AssertionError("a preparation without an answer")
        there = [(host, self._asked("prepare", host).prepared) for host in self._others]
        found = [(self._name, prepared), *there]
        busy = [f"{host}: {one.busy}" for host, one in found if one and one.busy]
        return msgspec.structs.replace(prepared, busy="; ".join(busy))

    def executor(self, say: Callable[[str], None]) -> Executor:
        """Return what runs replications there, one at a time."""
        self._say = say
        return _FarExecutor(self._results, self._holds.drop)

    def close(self) -> Sequence[str]:
        """Let the systems close, the load's first, and leave the hosts to others."""
        notes: list[str] = []
        try:
            for host in [self._name, *self._others]:
                if self._holds.has(self._seats[host]):
                    notes += self._asked("close", host).notes
                    self._holds.leave(self._seats[host])
        except BaseException:
            self._holds.drop()
            raise
        return notes

    @property
    def _others(self) -> list[str]:
        return [host for host in self._seats if host != self._name]

    def _looked(self, host: str) -> Looked:
        looked = self._asked("look", host).looked
        if looked is None:
            raise AssertionError("a look without an answer")
        return looked

    def _results(self, request: Request) -> Sequence[Result]:
        return self._sent(request, self._name).results

    def _asked(self, what: str, host: str) -> Reply:
        return self._sent(msgspec.convert({"what": what}, Request), host)

    def _sent(self, request: Request, host: str) -> Reply:
        """Return the reply to a request.

        Raises
        ------
        EnvironmentUnfitError
            The host says why it cannot, or is lost.
        """
        reply = msgspec.msgpack.decode(self._holds.sent(self._seats[host], request), type=Reply)
        for sentence in reply.said:
            self._say(f"{host}: {sentence}")
        if reply.error:
            raise EnvironmentUnfitError(f"{host}: {reply.error}", cure=reply.cure)
        return reply


def _described(looked: Looked, host: str) -> dict[str, Any]:
    """Return the facts of a machine, with the name that the study gives it."""
    return {**looked.facts, "host": {**looked.facts["host"], "measured_as": host}}


class _FarExecutor(InlineExecutor):
    """Runs one task at a time on a host."""

    def __init__(
        self, ask: Callable[[Request], Sequence[Result]], leave: Callable[[], None]
    ) -> None:
        super().__init__({})
        self._ask = ask
        self._leave = leave

    def results(self) -> Sequence[Result]:
        """Have the next task run, and return its result."""
        return self._ask(Request(what="run", task=self._waiting.popleft()))

    def cancel(self) -> None:
        """Let the host end what runs."""
        super().cancel()
        self._leave()
