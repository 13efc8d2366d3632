"""Traces that the possible limits of a burst leave, and which limits contradict them.

Throughput alone does not tell what limits. Each candidate predicts what else must be seen: full
processors and threads that wait for them, a quota that throttles, one thread that always works, a
thread that waits for a device, or operations that are held by k at a time without any of that.
What contradicts an observation is refuted, with the figure; if nothing, or more than one, is left,
the limit is undetermined.

By Little's law, `rate` x time inside a part = its busy places. The time inside is between the part
of the response time at low load that takes no processor, and all of it.

Invariant: nothing is a lock only because the processors are idle.

Source: Lazowska et al., *Quantitative System Performance* (1984), chapters 3 and 5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headroom.analysis.fits.loads import repairman
from headroom.analysis.run.own_processors import Processors
from headroom.experiment.protocol.fit_method import LimitName, Refuted, RefutedCode

ALWAYS = 0.9
"""Share of the time from which a thread always works, or waits for a processor."""
THROTTLED = 0.05
"""Share of the time from which a quota holds a group back."""
QUOTA_FULL = 0.85
"""Used share of a quota from which it is full."""
DEVICE = 0.6
"""Mean number of threads that wait for a device from which it limits: it is sampled."""
HELD_FOR_DEVICE, MAYBE_FOR_DEVICE = 0.5, 0.25
"""Share of the time that a device works from which it, and from which it or a lock, is what one
operation at a time holds."""
HELD_UP = 0.5
"""Threads that wait for a processor from which they may be the one that holds a lock."""
NEARLY = 0.8
"""Busy share from which processors may limit operations that are nothing but processor time."""
UNACCEPTED = 1.0
"""Mean number of connections that wait to be accepted from which they limit."""
TOLERANCE = 0.15
"""Relative error of busy places by Little's law."""
WAITS = 1.0
"""Voluntary switches of an operation below which no thread of it waits inside."""
SCATTER = 3.0
"""Standard errors that a response time may be longer than it was measured."""
APART: frozenset[LimitName] = frozenset({"client", "quota"})
"""Limits of which response times at low load show nothing: the load program waits outside of them,
and a quota holds nothing back there."""
SLOWED = 1.5
"""Response time, relative to low load, from which operations queue in the server."""
ALL = 0.8
"""Share of the clients from which those inside are simply all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What an operation costs if nobody else is there.

    Parameters
    ----------
    response_s
        Response time (s).
    cpu_s
        Its processor time and its waits for a processor (s), of all groups.
    """

    response_s: float
    cpu_s: float

    @property
    def hidden_s(self) -> float:
        """Part of the response time (s) that takes no processor."""
        return max(self.response_s - self.cpu_s, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unhurried:
    """Response time at a load below the knee.

    Parameters
    ----------
    clients, think_s
        The load.
    response_s, error
        Mean response time (s), and its relative standard error.
    cpu_ratio
        Processor time of an operation and its waits for a processor, relative to the burst.
    """

    clients: int
    think_s: float
    response_s: float
    error: float = 0.0
    cpu_ratio: float = 1.0

    def share_of_predicted(self, rate: float, places: int) -> float:
        """Return the response time, as a share of what places that serve `rate` at most predict.

        Other times only add to that. Places that take or wait less for a processor than in the
        burst serve faster by as much; scatter counts in favour of the places.
        """
        service_s = places / rate * min(self.cpu_ratio, 1.0)
        served = repairman(self.clients, self.think_s, service_s, places)
        predicted_s = self.clients / served - self.think_s
        return self.response_s * (1.0 + SCATTER * self.error) / predicted_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What a burst left.

    Parameters
    ----------
    rate, clients
        Operations per second, and the clients of whom none thinks.
    slowing
        Of an open load that is not reached: response time relative to low load; None if unknown.
    processors
        Whose the processors were; None if unknown.
    quota, throttled
        Of the group with a quota: used share of it, and share of the time that it holds back; None
        without a quota, and if the kernel does not count it.
    server, program
        Share of the time in which the busiest thread of the servers, and of the load program, could
        work; None in results of earlier versions.
    blocked
        Mean number of threads of a server that wait for a device.
    device
        Share of the time that a device worked while threads of a server waited for one; 0 if
        unknown.
    unaccepted
        Mean number of connections that a server has not accepted yet; None if unknown.
    waits
        Voluntary switches of an operation in the group with the most; None if unknown.
    rows
        Mean number of clients that wait for a row or a table, as a database says; None elsewhere.
    inside
        The operation at low load; None if no point shows it.
    low
        Response times at loads below the knee.
    """

    rate: float
    clients: int
    processors: Processors | None
    slowing: float | None = None
    quota: float | None = None
    throttled: float | None = None
    server: float | None = None
    program: float | None = None
    blocked: float = 0.0
    device: float = 0.0
    unaccepted: float | None = None
    waits: float | None = None
    rows: float | None = None
    inside: Inside | None = None
    low: Sequence[Unhurried] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Limits that are left, each with its places, and those that are refuted."""

    left: Sequence[tuple[LimitName, int]]
    refuted: Sequence[Refuted]

    @property
    def limit(self) -> LimitName:
        """The limit, if one is left."""
        names = {name for name, _ in self.left}
        return self.left[0][0] if len(names) == 1 else "unknown"

    @property
    def places(self) -> tuple[int, int]:
        """Fewest and most operations that the limits left serve at a time; (0, 0) if unknown."""
        counts = [places for _, places in self.left]
        return (min(counts), max(counts)) if counts else (0, 0)


def judge(seen: Traces) -> Judged:
    """Return which limits the traces of a burst leave."""
    judging = _Judging(seen, [], [])
    judging.processors()
    if not judging.left:
        judging.driver()
    if not judging.left:
        judging.thread("thread", seen.server)
        judging.thread("client", seen.program)
        judging.device()
    if not judging.left:
        judging.held()
    judging.at_low_load()
    return Judged(left=judging.left, refuted=judging.refuted)


@dataclass(frozen=True, slots=True)
class _Judging:
    seen: Traces
    left: list[tuple[LimitName, int]]
    refuted: list[Refuted]

    def _refute(self, name: LimitName, code: RefutedCode, value: float) -> None:
        self.refuted.append(Refuted(name=name, because=code, value=float(f"{value:.3g}")))

    def processors(self) -> None:
        """Judge the quota, and the processors of the machine."""
        seen = self.seen
        if seen.quota is not None:
            if seen.quota < QUOTA_FULL:
                self._refute("quota", "quota_free", seen.quota)
            elif seen.throttled is not None and seen.throttled < THROTTLED:
                self._refute("quota", "not_throttled", seen.throttled)
            else:
                self.left.append(("quota", 1))
                return
        found = seen.processors
        if found is None:
            return
        if found.limit_own:
            self.left.append(("processors", max(round(found.available), 1)))
        elif found.is_full:
            self._refute("processors", "no_crowd", found.crowd or 0.0)
        else:
            self._refute("processors", "idle", found.busy / found.count)

    def driver(self) -> None:
        """Judge a load program that does not send what it is to: nothing queues in the server."""
        if self.seen.slowing is not None and self.seen.slowing < SLOWED:
            self.left.append(("client", 1))

    def thread(self, name: LimitName, share: float | None) -> None:
        """Judge one thread that does all of a part."""
        if share is None:
            return
        if share >= ALWAYS:
            self.left.append((name, 1))
        else:
            self._refute(name, "thread_idle", share)

    def device(self) -> None:
        """Judge a device: its threads sleep, but not for each other."""
        blocked = self.seen.blocked
        if blocked >= DEVICE:
            self.left.append(("disk", max(round(blocked), 1)))
        elif self._device < MAYBE_FOR_DEVICE:
            self._refute("disk", "not_blocked", blocked)

    @property
    def _device(self) -> float:
        """Share of the time that a device works for an operation, by the clearer trace."""
        return max(self.seen.blocked, self.seen.device)

    def _one(self) -> None:
        """Judge what one operation at a time holds: a device if it works most of that time."""
        if self._device < HELD_FOR_DEVICE:
            self.left.append(("lock", 1))
        else:
            self._refute("lock", "device_works", self._device)
        if self._device >= MAYBE_FOR_DEVICE:
            self.left.append(("disk", 1))
        found = self.seen.processors
        if found is not None and found.is_full and (found.crowd or 0.0) >= HELD_UP:
            self._keep_processors(1)  # that others take from the one that holds it

    def held(self) -> None:
        """Judge a lock, a pool and a limit of connections: nothing that was observed is full."""
        seen = self.seen
        if seen.waits is not None and seen.waits < WAITS:
            self._refute("lock", "no_waits", seen.waits)
            self._refute("pool", "no_waits", seen.waits)
        elif seen.rows is not None and seen.rows >= seen.clients / 2:
            self.left.append(("lock", 1))
        elif seen.unaccepted is not None and seen.unaccepted >= UNACCEPTED:
            served = [max(round(seen.clients - seen.unaccepted), 1)]
            counts = served if seen.inside is None else self._counts(seen.inside)
            self.left.extend(("connections", count) for count in counts)
        else:
            self._held_places()

    def _held_places(self) -> None:
        """Judge what operations that are accepted hold, by Little's law."""
        seen = self.seen
        if seen.unaccepted is not None:
            self._refute("connections", "accepted", seen.unaccepted)
        if seen.inside is None:
            self._one()
            self.left.append(("pool", seen.clients))
            return
        self._perhaps_processors(seen.inside)
        for count in self._counts(seen.inside):
            if count == 1 < ALL * seen.clients:
                self._one()
            elif count < ALL * seen.clients:
                self.left.append(("pool", count))
        names = {name for name, _ in self.left} | {one.name for one in self.refuted}
        held: tuple[LimitName, ...] = ("lock", "pool")
        for name in held:
            if name not in names:
                self._refute(name, "places", seen.rate * seen.inside.response_s)

    def _perhaps_processors(self, inside: Inside) -> None:
        """Keep processors that are nearly full, if an operation is nothing but processor time.

        What hands work to threads, or stops them all to collect garbage, leaves a part unused.
        """
        found = self.seen.processors
        is_work = inside.hidden_s < TOLERANCE * inside.response_s
        if found is not None and is_work and found.busy / found.count >= NEARLY:
            self._keep_processors(max(round(found.available), 1))

    def _keep_processors(self, places: int) -> None:
        """Leave processors possible, once, whatever spoke against them."""
        if "processors" not in dict(self.left):
            self.left.append(("processors", places))
        self.refuted[:] = [one for one in self.refuted if one.name != "processors"]

    def _counts(self, inside: Inside) -> Sequence[int]:
        """Return how many operations may be inside at a time, by Little's law."""
        fewest = self.seen.rate * inside.hidden_s * (1.0 - TOLERANCE)
        most = self.seen.rate * inside.response_s * (1.0 + TOLERANCE)
        return range(max(math.ceil(fewest), 1), math.floor(most) + 1)

    def at_low_load(self) -> None:
        """Refute what predicts longer response times at low load than were measured."""
        for name, places in list(self.left):
            shares = [one.share_of_predicted(self.seen.rate, places) for one in self.seen.low]
            if name not in APART and min(shares, default=1.0) < 1.0 - TOLERANCE:
                self.left.remove((name, places))
                if name not in dict(self.left):
                    self._refute(name, "faster", min(shares))
