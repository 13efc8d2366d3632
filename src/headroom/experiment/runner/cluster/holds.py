"""The workers that one session holds: each as long as something of the session runs there.

Invariant: every session takes its workers in the order of their addresses, so that two that need
the same ones wait for each other, never both.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.experiment.runner.cluster import on_host
from headroom.experiment.runner.cluster.connection import Cluster, refused
from headroom.experiment.runner.hosts import Configs, Request

if TYPE_CHECKING:
    from distributed import Future

_ASK_S = 0.2
_SAY_S = 2.0
_END_S = 20.0
"""Time (s) in which the processes of a worker should have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The part of one host in a session: a process with some systems.

    Parameters
    ----------
    seat
        Name of the process.
    host
        Name that a worker announces.
    parcel
        The systems, encoded.
    configs
        Points to measure there; empty if only services run there.
    others
        Host to process, of all processes of the same experiments.
    """

    seat: str
    host: str
    parcel: bytes
    configs: Configs
    others: Mapping[str, str]


@dataclass(slots=True)
class Holds:
    """The workers of a session.

    Parameters
    ----------
    cluster
        Their cluster.
    """

    cluster: Cluster
    session: str = field(default_factory=lambda: uuid4().hex)
    _needs: dict[str, Need] = field(default_factory=dict)
    _addresses: dict[str, str] = field(default_factory=dict)
    _futures: "dict[str, Future]" = field(default_factory=dict)

    def add(self, need: Need) -> None:
        """Plan a process, before anything is taken."""
        self._needs[need.seat] = need

    def has(self, seat: str) -> bool:
        """Return whether a process is held."""
        return seat in self._needs and self._addresses.get(self._needs[seat].host) in self._futures

    def take(self) -> None:
        """Take all workers, once no other session holds them; a second call does nothing.

        Raises
        ------
        EnvironmentUnfitError
            A host is not there, is there twice, or has another program.
        """
        if self._addresses:
            return
        names = dict.fromkeys(need.host for need in self._needs.values())
        self._addresses = {name: self.cluster.host_address(name) for name in names}
        for address in sorted(set(self._addresses.values())):
            self._take(address)

    def sent(self, seat: str, request: Request) -> bytes:
        """Return the encoded reply of a process.

        Raises
        ------
        EnvironmentUnfitError
            It has ended, or its worker.
        """
        answer = self._sent(seat, request)
        if not answer:
            raise self.lost(self._needs[seat].host, "its process ended")
        return answer

    def leave(self, seat: str) -> None:
        """Let a process end; its worker is free once all processes there have ended."""
        address = self._addresses[self._needs.pop(seat).host]
        self.cluster.asked(address, on_host.leave, self.session, seat)
        if any(self._addresses[need.host] == address for need in self._needs.values()):
            return
        future = self._futures.pop(address)
        try:
            with suppress(TimeoutError):
                future.result(timeout=_END_S)
        finally:
            _release(future)

    def drop(self) -> None:
        """Let go of everything at once: what runs there is killed."""
        futures, self._futures = self._futures, {}
        for future in futures.values():
            _release(future)

    def lost(self, host: str, reason: object) -> HeadroomError:
        """Return the error of a host that no longer answers, after letting go of all."""
        self.drop()
        return EnvironmentUnfitError(
            f"{host} no longer measures: {reason or type(reason).__name__}",
            cure="finished replications are stored; read the output of its worker, start it again "
            "if it has ended, then run the same command to resume",
        )

    def _take(self, address: str) -> None:
        needs = [one for one in self._needs.values() if self._addresses[one.host] == address]
        host = needs[0].host
        future = self.cluster.client.submit(
            on_host.hold,
            msgspec.msgpack.encode(self._hold(needs)),
            key=f"headroom_hold-{self.session}-{host}",
            resources={n: min(of, 1) for n, of in self.cluster.announced()[address].items()},
            pure=False,
        )
        self._futures[address] = future
        say_at = monotonic() + _SAY_S
        while self._sent(needs[0].seat, Request(what="wait")) is None:
            if future.done():
                raise self._ended(host, future)
            if monotonic() > say_at:
                say_at = float("inf")
                self.cluster.say(f"waiting for {host}: another command measures there")
            sleep(_ASK_S)

    def _hold(self, needs: list[Need]) -> on_host.Hold:
        chairs = {
            need.seat: on_host.Chair(
                parcel=need.parcel,
                configs={name: dict(by_key) for name, by_key in need.configs.items()},  # type: ignore[arg-type]  # same content
                own=need.host,
                seats={host: (self._addresses[host], seat) for host, seat in need.others.items()},
            )
            for need in needs
        }
        return on_host.Hold(session=self.session, code=self.cluster.code, chairs=chairs)

    def _ended(self, host: str, future: "Future") -> HeadroomError:
        if future.status == "finished" and (refusal := future.result()):
            self.drop()
            return refused(f"{host}: {refusal}")
        return self.lost(host, future.exception() if future.status == "error" else future.status)

    def _sent(self, seat: str, request: Request) -> bytes | None:
        host = self._needs[seat].host
        address = self._addresses[host]
        encoded = msgspec.msgpack.encode(request)
        try:
            answer = self.cluster.asked(address, on_host.ask, self.session, seat, encoded)
        except HeadroomError:
            self.drop()
            raise
        if answer is None or isinstance(answer, bytes):
            return answer
        raise self.lost(getattr(answer, "host", host), answer)


def _release(future: "Future") -> None:
    with suppress(Exception):  # without its client the hold ends as well
        future.release()
