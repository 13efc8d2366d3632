"""The host of services: starts, watches and observes them for a program on another host.

Invariant: nothing is observed, and no fault happens, outside of `begin` and `end`.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

import msgspec

from headroom.errors import HeadroomError
from headroom.experiment.journal.run_codec import encode_run
from headroom.experiment.machine.machine_watch import SERVICES_BUSY, Watched, watched
from headroom.experiment.protocol.run import Run
from headroom.recording.observers.observing import Observing
from headroom.recording.services.keeper import Keeper
from headroom.systems.command.apart.messages import Answer, Ask
from headroom.systems.command.observation import beside, services_observer
from headroom.systems.command.setup_table import CommandSetup


@dataclass(slots=True)
class Serving:
    """Services of this host between two requests."""

    _measured: ExitStack = field(default_factory=ExitStack)
    _observer: Observing | None = None
    _machine: Watched = field(default_factory=Watched)
    _busy_s: Mapping[int, float] = field(default_factory=dict)

    def answer(
        self,
        request: bytes,
        *,
        setup: CommandSetup,
        keeper: Keeper,
        start: Callable[[Ask], dict[str, str]],
        find: Callable[[Ask], str],
        logs: Callable[[], dict[str, bytes]],
    ) -> bytes:
        """Return the encoded answer to a request; an error of a service is an answer.

        Parameters
        ----------
        setup, keeper
            The command, and its services here.
        start, find, logs
            Start a service; say what this machine supplies; return the ends of all logs.
        """
        ask = msgspec.msgpack.decode(request, type=Ask)
        reply = Answer()
        try:
            match ask.what:
                case "find":
                    reply.found = find(ask)
                case "start":
                    reply.words = start(ask)
                case "begin":
                    self._begin(setup, keeper)
                case "check":
                    keeper.check()
                case "end":
                    self._measured.close()
                    keeper.check()
                case "observe":
                    reply.run = encode_run(self._observed(keeper, ask.throughput))
                case "logs":
                    reply.logs = logs()
                case "end_of_run":
                    self._measured.close()
                    keeper.end_of_run()
        except HeadroomError as error:
            reply.error, reply.cure = error.message, error.cure
        return msgspec.msgpack.encode(reply)

    def _begin(self, setup: CommandSetup, keeper: Keeper) -> None:
        self._observer = services_observer(setup, keeper)
        self._busy_s = keeper.busy_s()
        self._machine = self._measured.enter_context(watched())
        self._measured.enter_context(beside(self._observer, keeper))

    def _observed(self, keeper: Keeper, throughput: float | None) -> Run:
        """Return the observations of this machine and its services, as a run."""
        busy_s = busy_since(self._busy_s, keeper)
        remarks = tuple(remark for one in keeper.services() for remark in one.remarks)
        run = Run(counters={**self._machine.counters, **busy_s}, remarks=remarks)
        return run if self._observer is None else self._observer.added_to(run, throughput)


def busy_since(before_s: Mapping[int, float], keeper: Keeper) -> dict[str, float]:
    """Return the processor time (s) of services since then as a counter; nothing without any."""
    return {SERVICES_BUSY: keeper.busy_s_since(before_s)} if keeper.services() else {}
