"""Windows of natural load: rates and busy processors between two looks, until time is up.

Invariant: a window has all rates, or it does not count; whatever stops the observation, the windows
before count.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from headroom.observe.counters import Counters, Totals
from headroom.observe.rates.adapter import Adapter, AdapterError

MACHINE_FULL = 0.95
"""Busy share of the usable processors from which others may give way."""
OFTEN = 0.25
"""Share of the windows from which a full machine is no exception."""
STOLEN = 0.05
"""Share of the usable processors that a hypervisor takes from which a window does not count."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Means between two looks: rates (1/s) by adapter, and busy processors.

    `own` are those of the target, in programs, in the kernel and of its busiest thread; of those
    that it may use, `others` keep some busy and a hypervisor took `steal`; `throttled` is a share
    of the time.
    """

    at_s: float
    length_s: float
    rates: dict[str, float]
    own: float
    user: float
    system: float
    thread: float
    others: float
    steal: float
    throttled: float


class Observation(msgspec.Struct, kw_only=True):
    """Everything that was observed.

    The target may use `usable` processors, and its limit leaves `quota` of them. The first name of
    a rate is the load. Windows do not count if `stolen` by a hypervisor, or `gaps` of a rate, for
    the reason `gap`. `programs` and `own_cpu` are busy processors of programs and of the observer.
    """

    target: str
    usable: int
    quota: float | None
    names: list[str]
    windows: list[Window] = []
    stolen: int = 0
    gaps: int = 0
    gap: str = ""
    programs: dict[str, float] = {}
    waits: dict[str, float] = {}
    statements: list[str] = []
    own_cpu: float = 0.0

    def column(self, name: str) -> list[float]:
        """Return a figure of all windows."""
        return [float(getattr(one, name)) for one in self.windows]

    def mean(self, values: Sequence[float] | str) -> float:
        """Return the mean over time of one value for each window, or of their figure."""
        values = self.column(values) if isinstance(values, str) else values
        return float(np.average(values, weights=self.column("length_s")))

    @property
    def is_full(self) -> bool:
        """Whether the machine often is full, so that others may give way."""
        most = MACHINE_FULL * self.usable
        full = [one.own + one.others + one.steal > most for one in self.windows]
        return sum(full) >= OFTEN * len(full)

    @property
    def rates(self) -> list[float]:
        """The load (1/s) in each window; empty without a rate."""
        return [one.rates[self.names[0]] for one in self.windows] if self.names else []


@dataclass(frozen=True, slots=True)
class _Look:
    at_s: float
    totals: Totals
    counts: Mapping[str, float]
    gap: str


def observe(
    counters: Counters,
    adapters: Mapping[str, Adapter],
    *,
    for_s: float,
    window_s: float,
    say: Callable[[float], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Observation:
    """Observe a target for a time (s), in windows (s); a `KeyboardInterrupt` ends it.

    `say` is told the time (s) that has passed.
    """
    found = Observation(
        target=counters.target.label, usable=len(counters.usable), quota=counters.quota,
        names=list(adapters),
    )  # fmt: skip
    cpu_s, first = sum(os.times()[:4]), _look(counters, adapters)
    last, number = first, 0
    try:
        while last.at_s - first.at_s < for_s - 0.5 * window_s:
            number += 1
            wait(max(first.at_s + window_s * number - time.monotonic(), 0.0))
            before, last = last, _look(counters, adapters)
            _add(found, first.at_s, before, last)
            say(last.at_s - first.at_s)
    except KeyboardInterrupt:
        pass
    length_s = max(time.monotonic() - first.at_s, 1e-9)
    gained_s = counters.by_program(first.totals, last.totals)
    found.programs = {name: time_s / length_s for name, time_s in gained_s.items()}
    for adapter in adapters.values():
        found.waits = {**found.waits, **adapter.waits()}
        found.statements = [*found.statements, *adapter.statements()]
        adapter.close()
    found.own_cpu = (sum(os.times()[:4]) - cpu_s) / length_s
    return found


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
    gap = before.gap or after.gap
    gains = {} if gap else {n: after.counts[n] - before.counts[n] for n in found.names}
    if min(gains.values(), default=0.0) < 0.0:
        gap = "a counter went back: the server has started again"
    window = _window(before, after, gains, began_s)
    if gap:
        found.gaps, found.gap = found.gaps + 1, gap
    elif window.steal > STOLEN * found.usable:
        found.stolen += 1
    else:
        found.windows = [*found.windows, window]


def _window(before: _Look, after: _Look, gains: Mapping[str, float], began_s: float) -> Window:
    length_s = after.at_s - before.at_s
    first, last = before.totals, after.totals
    own = max(last.own_s - first.own_s, 0.0) / length_s
    # Of processes that have ended, the parts are gone from these.
    user_s, system_s = (
        max(last.user_s - first.user_s, 0.0),
        max(last.system_s - first.system_s, 0.0),
    )
    user = own * user_s / (user_s + system_s) if user_s + system_s > 0.0 else own
    threads = (time_s - first.threads_s.get(key, 0.0) for key, time_s in last.threads_s.items())
    return Window(
        at_s=before.at_s - began_s, length_s=length_s, own=own, user=user, system=own - user,
        rates={name: gain / length_s for name, gain in gains.items()},
        thread=max(threads, default=0.0) / length_s,
        others=max((last.busy_s - first.busy_s) / length_s - own, 0.0),
        steal=(last.steal_s - first.steal_s) / length_s,
        throttled=min((last.throttled_s - first.throttled_s) / length_s, 1.0),
    )  # fmt: skip
