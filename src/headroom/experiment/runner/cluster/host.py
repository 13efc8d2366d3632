"""A host of a Dask cluster, as the driver sees it: held for one session, asked over Dask.

Invariant: nothing is asked of a host that another session holds.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.experiment.machine.repository import repository_state
from headroom.experiment.runner.cluster import on_host
from headroom.experiment.runner.cluster.connection import Cluster, refused
from headroom.experiment.runner.cluster.on_worker import Order, code_here
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

if TYPE_CHECKING:
    from distributed import Future

_ASK_S = 0.2
_SAY_S = 2.0
_END_S = 20.0
"""Time (s) in which the process there should have ended."""


class FarHost:
    """A machine that a worker of a cluster announces; a `Host`.

    Parameters
    ----------
    cluster
        The cluster.
    name
        Resource that the worker announces.
    experiments
        What is measured there.
    folder
        Folder of their study, here.
    """

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        experiments: Sequence[PlannedExperiment],
        folder: Path,
    ) -> None:
        self._cluster = cluster
        self._name = name
        self._experiments = experiments
        self._folder = folder
        self._session = uuid4().hex
        self._address = ""
        self._future: Future | None = None
        self._is_held = False
        self._say: Callable[[str], None] = cluster.say

    def look(self) -> Looked:
        """Take the host, once nobody else holds it, and return what is there."""
        self._hold()
        looked = self._asked(Request(what="look")).looked
        if looked is None:
            raise AssertionError("a look without an answer")
        for experiment in self._experiments:
            for point in experiment.points:
                if looked.fingerprints[point.key] != point.content:
                    raise EnvironmentUnfitError(
                        f"experiment {experiment.spec.name!r} is another one on {self._name}: its "
                        "files there differ from those here",
                        cure="keep what it reads in the study's folder, under 34 MB and in files "
                        "whose names do not begin with a dot; absolute paths are those of the host",
                    )
        facts = dict(looked.facts)
        if state := repository_state(self._folder):
            facts["repository"] = state
        facts["host"] = {**looked.facts["host"], "measured_as": self._name}
        return msgspec.structs.replace(looked, facts=facts)

    def open(self, say: Callable[[str], None]) -> Sequence[str]:
        """Begin the session of every system; returns notes."""
        self._say = say
        return self._asked(Request(what="open")).notes

    def prepare(self, waiting: Configs) -> Prepared:
        """Check the host for the experiments and points that have work."""
        request = msgspec.convert({"what": "prepare", "configs": waiting}, Request)
        prepared = self._asked(request).prepared
        if prepared is None:
            raise AssertionError("a preparation without an answer")
        return prepared

    def executor(self, say: Callable[[str], None]) -> Executor:
        """Return what runs replications there, one at a time."""
        self._say = say
        return _FarExecutor(self._results, self._leave)

    def close(self) -> Sequence[str]:
        """Let the systems close, and leave the host to others."""
        if not self._is_held or self._future is None:
            return []
        try:
            notes = self._asked(Request(what="close")).notes
            self._cluster.client.run(on_host.leave, self._session, workers=[self._address])
            with suppress(TimeoutError):
                self._future.result(timeout=_END_S)
            return notes
        finally:
            self._leave()

    def _hold(self) -> None:
        self._address = self._cluster.host_address(self._name)
        client = self._cluster.client
        recipes = recipes_of(self._experiments)
        parcel = pack(self._experiments, recipes, is_host=True)
        order = Order(
            session=self._session,
            code=code_here(),
            parcel=parcel.digest,
            tasks=[],
            content=parcel.encoded,
        )
        encoded = msgspec.msgpack.encode({"order": order, "configs": configs_of(self._experiments)})
        self._future = client.submit(
            on_host.hold,
            encoded,
            key=f"headroom_hold-{self._session}",
            resources={self._name: 1},
            pure=False,
        )
        say_at = monotonic() + _SAY_S
        while self._sent(Request(what="wait")) is None:
            if self._future.done():
                raise self._ended(self._future)
            if monotonic() > say_at:
                say_at = float("inf")
                self._cluster.say(f"waiting for {self._name}: another command measures there")
            sleep(_ASK_S)
        self._is_held = True

    def _ended(self, future: "Future") -> HeadroomError:
        if future.status == "finished" and (refusal := future.result()):
            return refused(f"{self._name}: {refusal}")
        return self._lost(future.exception() if future.status == "error" else future.status)

    def _results(self, request: Request) -> Sequence[Result]:
        return self._asked(request).results

    def _asked(self, request: Request) -> Reply:
        """Return the reply to a request.

        Raises
        ------
        EnvironmentUnfitError
            The host says why it cannot, or is lost.
        """
        encoded = self._sent(request)
        if not encoded:
            raise self._lost("its process ended")
        reply = msgspec.msgpack.decode(encoded, type=Reply)
        for sentence in reply.said:
            self._say(f"{self._name}: {sentence}")
        if reply.error:
            raise EnvironmentUnfitError(f"{self._name}: {reply.error}", cure=reply.cure)
        return reply

    def _sent(self, request: Request) -> bytes | None:
        encoded = msgspec.msgpack.encode(request)
        answers: Mapping[str, Any] = self._cluster.client.run(
            on_host.ask,
            self._session,
            encoded,
            workers=[self._address],
            on_error="return",
        )
        answer = answers.get(self._address)
        if answer is None or isinstance(answer, bytes):
            return answer
        raise self._lost(answer)

    def _leave(self) -> None:
        future, self._future = self._future, None
        if future is not None:
            with suppress(Exception):  # without its client the hold ends as well
                future.release()
        self._is_held = False

    def _lost(self, why: object) -> HeadroomError:
        self._leave()
        return EnvironmentUnfitError(
            f"{self._name} no longer measures: {why or type(why).__name__}",
            cure="finished replications are stored; read the output of its worker, start it again "
            "if it has ended, then run the same command to resume",
        )


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
