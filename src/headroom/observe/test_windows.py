"""Windows: what counts and what does not, from looks that a test makes."""

import os

import pytest

from headroom.observe.counters import Counters, Totals
from headroom.observe.rates.adapter import Adapter, AdapterError
from headroom.observe.targets import target_of
from headroom.observe.windows import observe


class Stepped(Counters):
    """A target that takes 0.5 s between looks; a hypervisor takes much before the third."""

    number = -1

    def read(self) -> Totals:
        """Return the totals of the next look."""
        self.number += 1
        now = float(self.number)
        return Totals(
            own_s=0.5 * now, throttled_s=0.1 * now, user_s=0.3 * now, system_s=0.1 * now,
            busy_s=0.9 * now, steal_s=50.0 if now >= 3.0 else 0.0,
            threads_s={(1, 1): 0.2 * now, (1, 2): 0.3 * now},
        )  # fmt: skip


class Listed(Adapter):
    """Counts what a test lists, then fails."""

    def __init__(self, counts: list[float]) -> None:
        super().__init__("here")
        self.counts = iter(counts)

    def count(self) -> float:
        """Return the next count."""
        found = next(self.counts, None)
        if found is None:
            raise AdapterError("it does not answer")
        return found


def test_windows_that_are_stolen_restarted_or_without_a_rate_do_not_count() -> None:
    """Known answer: of six windows three count, until the user stops it."""
    waits = iter([0.0] * 6)

    def wait(_: float) -> None:
        if next(waits, None) is None:
            raise KeyboardInterrupt

    rates = {"hits": Listed([0.0, 10.0, 20.0, 30.0, 40.0, 5.0])}
    counters = Stepped(target_of(pid=os.getpid()))
    seen = observe(counters, rates, for_s=1e9, window_s=1.0, wait=wait)
    assert (len(seen.windows), seen.stolen, seen.gaps) == (3, 1, 2)
    assert seen.gap == "it does not answer"
    one = seen.windows[0]
    found_s = [busy * one.length_s for busy in (one.own, one.others, one.thread, one.user)]
    assert found_s == pytest.approx([0.5, 0.4, 0.3, 0.375])
    assert one.rates["hits"] * one.length_s == pytest.approx(10.0)
    assert sum(seen.programs.values()) > 0.0
