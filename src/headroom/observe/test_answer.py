"""Answers to observations whose law is known: what limits, how much is left, what it costs."""

import math
from dataclasses import replace

import pytest

from headroom.observe.answer import Answer, answer_of
from headroom.observe.shown import headline, sentences
from headroom.observe.windows import Observation, Window

DEMAND_S = 0.002


def observation(
    *, others: float = 0.0, per_op_of_others_s: float = 0.0, quota: float | None = None,
    swing: float = 0.8, threads: int = 8, usable: int = 2,
) -> Observation:  # fmt: skip
    """Return windows of a server that takes 2 ms, and 0.02 processors at rest."""
    windows = []
    for number in range(60):
        rate = 100.0 * (1.0 + swing * math.sin(number / 5.0))
        own = 0.02 + DEMAND_S * rate
        windows.append(
            Window(
                at_s=float(number), length_s=1.0, rates={"requests": rate}, own=own,
                user=0.75 * own, system=0.25 * own, thread=own / threads,
                others=others + per_op_of_others_s * rate, steal=0.0, throttled=0.0,
            )
        )  # fmt: skip
    return Observation(
        target="port 80 (nginx, python)", usable=usable, quota=quota, names=["requests"],
        windows=windows, own_cpu=0.004,
    )  # fmt: skip


def answered(seen: Observation) -> Answer:
    return answer_of(seen)[0]


@pytest.mark.parametrize(
    ("seen", "part", "room", "demand_s", "background"),
    [
        (observation(others=0.5), "processors", 1.5, DEMAND_S, 0.02),
        (observation(quota=0.5), "quota", 0.5, DEMAND_S, 0.02),
        (observation(threads=1), "thread", 1.0, DEMAND_S, 0.02),
        (observation(others=0.1, per_op_of_others_s=0.004), "processors", 2.0, 0.006, 0.12),
    ],
    ids=["neighbours", "quota", "one thread", "clients on the same machine"],
)
def test_the_load_that_fills_what_there_is_follows_from_the_law(
    seen: Observation, part: str, room: float, demand_s: float, background: float
) -> None:
    """Oracle: room = background + demand times rate, exactly."""
    answer = answered(seen)
    assert answer.limit.part == part
    assert answer.limit.room == pytest.approx(room)
    assert answer.rate is not None
    truth = (room - background) / (demand_s * answer.rate)
    assert answer.limit.times == pytest.approx(truth, rel=1e-6)
    assert answer.limit.low is not None
    assert answer.limit.high is not None
    assert answer.limit.low < truth < answer.limit.high


def test_the_cost_of_an_operation_leaves_out_the_background_and_is_split() -> None:
    whole, user, system = answered(observation()).costs
    assert (whole.value_s, user.value_s, system.value_s) == pytest.approx(
        (DEMAND_S, 0.75 * DEMAND_S, 0.25 * DEMAND_S)
    )


def test_without_a_rate_or_range_the_answer_says_what_would_tell() -> None:
    seen = observation()
    bare = replace(seen, names=[], windows=[replace(one, rates={}) for one in seen.windows])
    short = replace(seen, windows=seen.windows[:6])
    asleep = replace(seen, windows=[replace(one, own=0.0, thread=0.0) for one in seen.windows])
    for other, verdict, words in [
        (bare, "no_rate", "without a rate"),
        (observation(swing=0.02), "alike", "the load varied too little"),
        (short, "few_windows", "too briefly"),
        (asleep, "idle", "does nearly nothing"),
    ]:
        answer = answered(other)
        assert answer.verdict == verdict
        assert words in headline(answer)
    assert any("--rate" in text for _, text in sentences(answered(bare)))


def test_a_narrow_range_at_low_load_cannot_tell_and_says_between_what() -> None:
    """A machine of 40 processors whose load was never above 1%: the published error of low load."""
    answer = answered(observation(usable=40))
    ratio = 40.0 / (0.02 + DEMAND_S * 180.0)
    assert ratio > 100.0
    assert answer.limit.times == pytest.approx((40.0 - 0.02) / (DEMAND_S * (answer.rate or 0.0)))
    noisy = observation(usable=40)
    noisy.windows = [
        replace(one, own=one.own * (1.2 if place % 2 else 0.8))
        for place, one in enumerate(noisy.windows)
    ]
    answer = answered(noisy)
    assert answer.verdict == "at_least"
    assert headline(answer).startswith("The range seen cannot tell")


def test_on_a_full_machine_neighbours_may_give_way_so_the_answer_is_a_wide_range() -> None:
    """Cause: what others leave on a full machine says nothing of what a busier server would get."""
    seen = observation()
    windows = [replace(one, others=2.0 - one.own) for one in seen.windows]
    answer = answered(replace(seen, windows=windows))
    assert answer.is_full
    assert answer.verdict == "at_least"
    low, high = 0.22 / 0.2, 1.98 / 0.2
    assert answer.limit.low is not None
    assert answer.limit.high is not None
    assert answer.limit.low < low * 1.05
    assert answer.limit.high > high * 0.95
    assert any("the machine is full" in text for _, text in sentences(answer))


def test_throttling_and_locks_are_named_before_processors() -> None:
    seen = observation(quota=1.0)
    throttled = replace(seen, windows=[replace(one, throttled=0.2) for one in seen.windows])
    lines = dict(sentences(answered(throttled)))
    assert lines["Limit"].startswith("its limit of processors holds it back in 20% of the time")
    waiting = replace(seen, waits={"lock": 3.0, "none": 0.5}, statements=["UPDATE accounts"])
    lines = dict(sentences(answered(waiting)))
    assert lines["Limit"].startswith("locks: 3 clients wait")
    assert lines["Waits"] == "lock 3, none 0.5 clients on average"
    full = replace(seen, windows=[replace(one, own=0.97) for one in seen.windows])
    assert "full now: 97% busy" in dict(sentences(answered(full)))["Limit"]


def test_the_first_line_is_the_answer_and_own_cost_is_printed() -> None:
    seen = observation(others=0.5)
    seen = replace(seen, programs={"nginx": 0.15, "python": 0.05}, neighbours={"cc1": 0.5}, gaps=2,
                   gap="a counter went back", stolen=1)  # fmt: skip
    lines = list(sentences(answered(seen)))
    assert lines[0][0] == ""
    assert lines[0][1].startswith("Port 80 carries 7.")
    texts = [text for _, text in lines]
    assert "nginx 75%, python 25%" in texts
    assert "0.4% of a processor" in texts
    assert any("cc1 0.5" in text for text in texts)
    assert any("2 windows do not count: a counter went back" in text for text in texts)
    assert any("1 windows do not count: a hypervisor" in text for text in texts)
