"""Answers to observations whose law is known: what limits, how much is left, what it costs."""

import math

import pytest
from msgspec.structs import replace

from headroom.observe.answer import answer_of
from headroom.observe.shown import headline, sentences
from headroom.observe.windows import Observation, Window

DEMAND_S = 0.002


def observation(
    *, others: float = 0.0, client_s: float = 0.0, quota: float | None = None, swing: float = 0.8,
    threads: int = 8, usable: int = 2,
) -> Observation:  # fmt: skip
    """Return windows of a server that takes 2 ms, and 0.02 processors at rest."""
    windows = []
    for number in range(60):
        rate = 100.0 * (1.0 + swing * math.sin(number / 5.0))
        own = 0.02 + DEMAND_S * rate
        windows.append(Window(
            at_s=float(number), length_s=1.0, rates={"requests": rate}, own=own, user=0.75 * own,
            system=0.25 * own, thread=own / threads, others=others + client_s * rate, steal=0.0,
            throttled=0.0,
        ))  # fmt: skip
    return Observation(target="port 80 (nginx, python)", usable=usable, quota=quota,
                       names=["requests"], windows=windows, own_cpu=0.004)  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "part", "room", "demand_s", "background"),
    [
        (observation(others=0.5), "processors", 1.5, DEMAND_S, 0.02),
        (observation(quota=0.5), "quota", 0.5, DEMAND_S, 0.02),
        (observation(threads=1), "thread", 1.0, DEMAND_S, 0.02),
        (observation(others=0.1, client_s=0.004), "shared", 2.0, 0.006, 0.12),
    ],
    ids=["neighbours", "quota", "one thread", "clients on the same machine"],
)
def test_the_load_that_fills_what_there_is_follows_from_the_law(
    seen: Observation, part: str, room: float, demand_s: float, background: float
) -> None:
    """Oracle: room = background + demand times rate; costs leave out the background."""
    answer = answer_of(seen)
    limit = answer.limit
    assert limit.part == part
    assert limit.room == pytest.approx(room)
    truth = (room - background) / (demand_s * answer.rate)
    assert limit.times == pytest.approx(truth, rel=1e-6)
    assert (limit.low or math.inf) < truth < (limit.high or 0.0)
    found = [cost.value_s / DEMAND_S for cost in answer.costs]
    assert found == pytest.approx([1.0, 0.75, 0.25])


def test_what_cannot_be_told_is_said_with_what_would_tell_it() -> None:
    """A full machine: what others leave says nothing of what a busier server would get."""
    seen = observation()
    kept = seen.windows
    full = replace(seen, windows=[replace(one, others=2.0 - one.own) for one in kept])
    noisy = [replace(one, own=one.own * (1.2 if n % 2 else 0.8)) for n, one in enumerate(kept)]
    asleep = [replace(one, own=0.0, thread=0.0) for one in kept]
    for other, verdict, words in [
        (replace(seen, names=[]), "no_rate", "without a rate"),
        (observation(swing=0.02), "alike", "the load varied too little"),
        (replace(seen, windows=kept[:6]), "few_windows", "too briefly"),
        (replace(seen, windows=asleep), "idle", "nearly nothing"),
        (replace(seen, windows=noisy, usable=40), "unclear", "The range seen cannot tell"),
        (full, "unclear", "The range seen cannot tell"),
        (replace(full, quota=1.5), "unclear", "The range seen cannot tell"),
    ]:
        answer = answer_of(other)
        assert answer.verdict == verdict
        assert words in headline(answer, other)
    limit, rates = answer_of(full).limit, sorted(seen.rates)
    carried = rates[-4] / seen.mean(rates)
    assert limit.low == pytest.approx(carried, rel=0.01), "the highest band was carried"
    assert (limit.high or 0.0) > 1.98 / 0.2
    assert "the machine often is full" in text_of(full)
    assert "--rate" in text_of(replace(seen, names=[]))


def text_of(seen: Observation) -> str:
    return "\n".join(f"{label}: {text}" for label, text in sentences(answer_of(seen), seen))


def test_throttling_and_locks_are_named_before_processors_and_own_cost_last() -> None:
    seen = observation(quota=1.0)
    throttled = replace(seen, windows=[replace(one, throttled=0.2) for one in seen.windows])
    assert "Limit: its limit of processors holds it back in 20% of the time" in text_of(throttled)
    waiting = text_of(replace(seen, waits={"lock": 3.0, "none": 0.5}, statements=["UPDATE ?"]))
    assert "Limit: locks: 3 clients wait" in waiting
    assert "Waits: lock 3, none 0.5 clients on average\n: waiting in: UPDATE ?" in waiting
    full = replace(seen, windows=[replace(one, own=0.97) for one in seen.windows])
    assert "full now: 97% busy" in text_of(full)
    more = replace(seen, programs={"nginx": 0.15, "python": 0.05}, gaps=2, gap="it is gone")
    lines = text_of(more).splitlines()
    assert lines[0].startswith(": Port 80 carries 4.8 times this load (")
    assert "Programs: nginx 75%, python 25%" in lines
    assert "! Care: windows that do not count: 2, it is gone." in lines
    assert lines[-1] == "Own cost: 0.4% of a processor"
