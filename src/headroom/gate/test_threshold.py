"""The gate: suspicions, second looks, and missing results."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from headroom.gate.result import Noise, Row
from headroom.gate.threshold import (
    AIM,
    FIRST_LEVEL,
    MeasureAgain,
    again_level,
    blocks_again,
    gate_of,
    is_hidden,
    is_slower,
    one_sided,
)

ROW = Row(arm="B", base="A", metric="wall_s", unit="s", better="low")
SAME = msgspec.structs.replace(ROW, ratio=1.0, low=0.99, high=1.01, p_value=0.8)
SLOW = msgspec.structs.replace(ROW, ratio=1.05, low=1.03, high=1.07, p_value=0.0001)
SLIGHT = msgspec.structs.replace(ROW, ratio=1.01, low=1.005, high=1.015, p_value=0.0001)
FAST = msgspec.structs.replace(ROW, ratio=0.9, low=0.88, high=0.92, p_value=0.0001)
LESS = msgspec.structs.replace(FAST, metric="rate", better="high")


def again(row: Row, noise: Noise | None = None) -> MeasureAgain:
    return lambda suspected, _: [(row, noise) for _ in suspected]


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (SAME, SLOW, "passed"),
        (SLOW, SLOW, "regression"),
        (SLOW, SAME, "passed"),
        (SLOW, ROW, "unconfirmed"),
        (SLIGHT, SLOW, "passed"),
        (FAST, SLOW, "passed"),
        (LESS, LESS, "regression"),
        (ROW, SLOW, "missing"),
    ],
)
def test_a_regression_is_slower_twice_and_may_reach_the_threshold(
    first: Row, second: Row, verdict: str
) -> None:
    found = gate_of([first, SAME], threshold=0.03, again=again(second))
    assert found.verdict == verdict


def test_the_second_look_has_the_blocks_that_confirm_nine_of_ten_slowdowns() -> None:
    """Oracle: the power of a z test of redrawn blocks that scatter as the first ones did."""
    row, level = msgspec.structs.replace(SLOW, pairs=16), 0.01
    blocks = blocks_again(row, level, 0.001, least=5, most=10_000)
    scatter = math.log(1.07 / 1.03) / 2 / 1.95996 * math.sqrt(16)
    drawn = np.random.default_rng(3).normal(math.log(1.03), scatter, (4000, blocks)).mean(axis=1)
    confirmed = np.mean(drawn > 2.32635 * scatter / math.sqrt(blocks))
    assert 0.87 < confirmed < 0.94
    assert blocks_again(row, level, 0.001, least=5, most=7) == 7
    assert blocks_again(row, level, 5.0, least=6, most=7) == 6


def test_only_suspected_rows_are_measured_again() -> None:
    asked: list[Row] = []

    def measure(suspected: Sequence[Row], level: float) -> list[tuple[Row, Noise | None]]:
        assert level == again_level(4)
        asked.extend(suspected)
        return [(row, None) for row in suspected]

    gate_of([SAME, SLOW, FAST, SLIGHT], threshold=0.03, again=measure)
    assert asked == [SLOW]


def test_one_look_has_to_be_sure_at_the_level_of_the_whole_gate() -> None:
    weak = msgspec.structs.replace(SLOW, p_value=0.015)
    alone = gate_of([weak], threshold=0.03, again=None, why_not="lost")
    assert alone.verdict == "regression"
    assert alone.not_repeated == "lost"
    assert gate_of([weak, SAME], threshold=0.03, again=None, why_not="lost").verdict == "passed"


def test_new_runs_have_to_be_sure_at_their_own_level_and_then_nothing_was_left_out() -> None:
    """At one row that is 2%, one-sided, whatever the threshold is."""
    for p_value, verdict in ((0.03, "regression"), (0.05, "cleared")):
        second = again(msgspec.structs.replace(SLOW, p_value=p_value))
        found = gate_of([SLOW], threshold=0.03, again=second, why_not="it can")
        assert [one.verdict for one in found.suspicions] == [verdict]
        assert found.not_repeated == ""
    assert gate_of([SAME], threshold=0.03, again=None, why_not="lost").not_repeated == ""


def test_a_gate_without_rows_does_not_pass() -> None:
    neutral = msgspec.structs.replace(SLOW, better="none")
    assert gate_of([neutral], threshold=0.03, again=None).verdict == "missing"
    assert gate_of([SAME], threshold=0.03, again=None, missing=["x"]).verdict == "missing"


def test_the_p_value_of_not_worse_is_half_of_the_two_sided_one_or_the_rest() -> None:
    pair = [one_sided(msgspec.structs.replace(row, p_value=0.04)) for row in (SLOW, FAST)]
    assert pair == pytest.approx([0.02, 0.98])


def test_a_metric_that_may_be_zero_regresses_by_its_direction() -> None:
    errors = msgspec.structs.replace(ROW, value=3.0, base_value=0.0, p_value=0.001)
    assert is_slower(errors, 0.01, 0.03)
    assert not is_slower(msgspec.structs.replace(errors, value=0.0, base_value=3.0), 0.01, 0.03)


@pytest.mark.parametrize("high", [1.01, 1.06])
def test_a_slowdown_within_the_noise_of_the_base_is_no_regression(high: float) -> None:
    """The base against itself in the new blocks is a floor, in whichever direction it differs."""
    for low, end in ((0.999, high), (1.0 / high, 1.001)):
        noise = Noise(metric="wall_s", ratio=1.0, low=low, high=end, scatter=None, detectable=None)
        found = gate_of([SLOW], threshold=0.03, again=again(SLOW, noise))
        expected = "regression" if high < 1.05 else "noise"
        assert [one.verdict for one in found.suspicions] == [expected]
        assert found.verdict == ("regression" if high < 1.05 else "blind")


@pytest.mark.parametrize("rows", [1, 7, 300])
@pytest.mark.parametrize("looks", [0, 1, 3])
def test_all_looks_and_rows_together_keep_to_the_aim(rows: int, looks: int) -> None:
    first = looks * FIRST_LEVEL if looks else 1.0
    assert first * again_level(rows, looks=looks) * rows == pytest.approx(AIM)


def test_noise_hides_a_row_until_its_interval_is_narrow_or_excludes_the_threshold() -> None:
    wide = msgspec.structs.replace(SAME, low=0.96, high=1.04)
    narrow = msgspec.structs.replace(SAME, ratio=1.02, low=1.005, high=1.035, p_value=0.2)
    fast = msgspec.structs.replace(SAME, ratio=0.95, low=0.89, high=1.02)
    assert [is_hidden(row, 0.03) for row in (wide, narrow, fast, SLOW)] == [
        True,
        False,
        False,
        False,
    ]
    assert not is_hidden(msgspec.structs.replace(wide, better="none"), 0.03)
    # Slower, but not surely so at the level of a first look.
    unsure = msgspec.structs.replace(wide, ratio=1.04, high=1.09, p_value=4.0 * FIRST_LEVEL)
    assert is_hidden(unsure, 0.03)
    assert not is_hidden(msgspec.structs.replace(unsure, p_value=1.6 * FIRST_LEVEL), 0.03)


def test_noise_asks_for_more_new_blocks_and_a_large_slowdown_for_fewer() -> None:
    def needed(row: Row) -> int:
        return blocks_again(row, 0.001, 0.03, least=1, most=10_000)

    noisy = msgspec.structs.replace(SLOW, pairs=25, low=0.99, high=1.13, ratio=1.06)
    assert needed(noisy) > needed(msgspec.structs.replace(noisy, low=1.03, high=1.09)) > 1
    assert needed(noisy) > needed(msgspec.structs.replace(noisy, ratio=1.5, low=1.4, high=1.6))
    assert blocks_again(noisy, 0.001, 0.03, least=75, most=80) == 80


WIDE = msgspec.structs.replace(SAME, low=0.84, high=1.19, pairs=25, count=25)


def test_a_gate_that_could_not_have_seen_the_threshold_is_blind_and_says_what_would() -> None:
    """A 95% interval of ±19% needs (2.93 standard errors of 8.9%) about 80 times the blocks."""
    gate = gate_of([WIDE], threshold=0.03, again=again(SLOW))
    (sight,) = gate.blind
    reach = math.log(1.19 / 0.84) / 2.0
    z = 1.6449 + 1.2816  # One-sided 5%, and 90% of power.
    assert gate.verdict == "blind"
    assert sight.detectable == pytest.approx(math.expm1(z * reach / 1.96))
    assert sight.needed == math.ceil(25 * (z * reach / 1.96 / math.log1p(0.03)) ** 2)
    assert gate_of([WIDE], threshold=0.5, again=again(SLOW)).verdict == "passed"


def test_an_interval_that_excludes_the_threshold_is_sight_enough() -> None:
    faster = msgspec.structs.replace(WIDE, ratio=0.7, low=0.5, high=0.9)
    assert gate_of([faster], threshold=0.03, again=again(SLOW)).verdict == "passed"


def test_processor_time_sees_for_wall_time_unless_the_user_names_wall_time() -> None:
    processor = msgspec.structs.replace(SAME, metric="processor_time_s")
    memory = msgspec.structs.replace(WIDE, metric="peak_memory_bytes")
    seen = again(SLOW)
    assert gate_of([WIDE, processor], threshold=0.03, again=seen).verdict == "passed"
    assert gate_of([WIDE, processor], threshold=0.03, again=seen, named=True).verdict == "blind"
    assert gate_of([memory, processor], threshold=0.03, again=seen).verdict == "passed"
    assert gate_of([memory, processor], threshold=0.03, again=seen, named=True).verdict == "blind"
    assert gate_of([memory], threshold=0.03, again=seen).verdict == "blind"
    elsewhere = msgspec.structs.replace(processor, levels={"n": 2})
    assert gate_of([WIDE, elsewhere], threshold=0.03, again=seen).verdict == "blind"


def test_a_suspicion_is_cleared_only_by_new_runs_that_would_have_seen_it() -> None:
    assert gate_of([SLOW], threshold=0.03, again=again(WIDE)).verdict == "blind"
