"""Windows of natural load: rates and busy processors between two looks, until time is up.

Invariant: a window has all rates, or it does not count; whatever stops the observation, the windows
before count.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headroom.observe.counters import Counters, Totals, everybody
from headroom.observe.rates.adapter import Adapter, AdapterError

STOLEN = 0.05
"""Share of the usable processors that a hypervisor takes from which a window does not count."""
_OTHERS_SHOWN = 3
_LEAST_SHOWN = 0.01
"""Processors that a neighbour keeps busy, to be named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Means between two looks: rates (1/s), and busy processors.

    Parameters
    ----------
    at_s, length_s
        Its start since that of the observation, and its length.
    rates
        Operations per second by adapter.
    own, user, system, thread
        Processors that the target, and its busiest thread, keep busy.
    others, steal
        Of the processors that it may use, those that other processes keep busy, or a hypervisor.
    throttled
        Share of the time in which its limit held it back.
    """

    at_s: float
    length_s: float
    rates: Mapping[str, float]
    own: float
    user: float
    system: float
    thread: float
    others: float
    steal: float
    throttled: float


@dataclass(slots=True, kw_only=True)
class Observation:
    """Everything that was observed.

    Parameters
    ----------
    target, usable, quota
        The target, the processors that it may use, and those that its limit leaves.
    names
        Of the rates.
    windows
        Those that count.
    stolen, gaps
        Windows that do not: the hypervisor took too much; a rate could not be read or restarted.
    gap
        The last reason for a gap.
    programs, neighbours
        Busy processors of each program of the target, and of the busiest other ones.
    own_cpu
        Processors that observing took.
    waits
        Clients of a database by what they wait for, or whatever else adapters saw.
    statements
        What clients most often did while they waited, the most frequent first.
    """

    target: str
    usable: int
    quota: float | None
    names: Sequence[str]
    windows: list[Window] = field(default_factory=list)
    stolen: int = 0
    gaps: int = 0
    gap: str = ""
    programs: Mapping[str, float] = field(default_factory=dict)
    neighbours: Mapping[str, float] = field(default_factory=dict)
    own_cpu: float = 0.0
    waits: Mapping[str, float] = field(default_factory=dict)
    statements: Sequence[str] = ()

    @property
    def length_s(self) -> float:
        """Time (s) of the windows that count."""
        return sum(one.length_s for one in self.windows)


@dataclass(frozen=True, slots=True)
class _Look:
    at_s: float
    totals: Totals
    counts: Mapping[str, float]
    gap: str = ""


def observe(
    counters: Counters,
    adapters: Mapping[str, Adapter],
    *,
    for_s: float,
    window_s: float,
    say: Callable[[float], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Observation:
    """Observe a target.

    Parameters
    ----------
    for_s, window_s
        Time (s) of the whole and of a window.
    say
        Told the time (s) that has passed.
    wait
        Waits for a time (s); a `KeyboardInterrupt` ends the observation.
    """
    found = Observation(
        target=counters.target.label,
        usable=len(counters.usable),
        quota=counters.quota,
        names=list(adapters),
    )
    began_s, cpu_s, everybody_before = time.monotonic(), _own_cpu_s(), everybody()
    looks = [_look(counters, adapters)]
    try:
        while looks[-1].at_s - began_s < for_s:
            due_s = began_s + window_s * len(looks)
            wait(max(due_s - time.monotonic(), 0.0))
            looks.append(_look(counters, adapters))
            _add(found, began_s, looks[-2], looks[-1])
            say(looks[-1].at_s - began_s)
    except KeyboardInterrupt:
        pass
    length_s = max(time.monotonic() - began_s, 1e-9)
    programs = counters.by_program(looks[0].totals, looks[-1].totals)
    found.programs = {name: time_s / length_s for name, time_s in programs.items()}
    found.neighbours = _neighbours(everybody_before, everybody(), programs, length_s)
    for adapter in adapters.values():
        found.waits = {**found.waits, **adapter.waits()}
        found.statements = [*found.statements, *adapter.statements()]
        adapter.close()
    found.own_cpu = (_own_cpu_s() - cpu_s) / length_s
    return found


def _own_cpu_s() -> float:
    """Return the processor time (s) of this process and of the commands that it ran."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _look(counters: Counters, adapters: Mapping[str, Adapter]) -> _Look:
    counts, gap = {}, ""
    for name, adapter in adapters.items():
        try:
            counts[name] = adapter.count()
        except AdapterError as error:
            gap = error.message
    return _Look(time.monotonic(), counters.read(), counts, gap)


def _add(found: Observation, began_s: float, before: _Look, after: _Look) -> None:
    """Add the window between two looks if it counts."""
    gains = {
        name: after.counts[name] - before.counts[name]
        for name in found.names
        if name in after.counts and name in before.counts
    }
    if len(gains) < len(found.names) or min(gains.values(), default=0.0) < 0.0:
        found.gaps += 1
        found.gap = after.gap or before.gap or "a counter went back: the server has restarted"
        return
    window = _window(before, after, gains, began_s)
    if window.steal > STOLEN * found.usable:
        found.stolen += 1
        return
    found.windows.append(window)


def _window(before: _Look, after: _Look, gains: Mapping[str, float], began_s: float) -> Window:
    length_s = after.at_s - before.at_s
    first, last = before.totals, after.totals
    own = max(last.own_s - first.own_s, 0.0) / length_s
    user_s, system_s = last.user_s - first.user_s, last.system_s - first.system_s
    user = own * user_s / (user_s + system_s) if user_s + system_s > 0.0 else own
    threads = (time_s - first.threads_s.get(key, 0.0) for key, time_s in last.threads_s.items())
    return Window(
        at_s=before.at_s - began_s,
        length_s=length_s,
        rates={name: gain / length_s for name, gain in gains.items()},
        own=own,
        user=user,
        system=own - user,
        thread=max(threads, default=0.0) / length_s,
        others=max((last.busy_s - first.busy_s) / length_s - own, 0.0),
        steal=(last.steal_s - first.steal_s) / length_s,
        throttled=min((last.throttled_s - first.throttled_s) / length_s, 1.0),
    )


def _neighbours(
    before: Mapping[str, float],
    after: Mapping[str, float],
    own: Mapping[str, float],
    length_s: float,
) -> dict[str, float]:
    """Return the busiest programs besides those of the target."""
    gained = {
        name: (time_s - before.get(name, 0.0) - own.get(name, 0.0)) / length_s
        for name, time_s in after.items()
    }
    busiest = sorted(gained.items(), key=lambda row: -row[1])[:_OTHERS_SHOWN]
    return {name: busy for name, busy in busiest if busy > _LEAST_SHOWN}
