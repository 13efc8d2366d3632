"""The gate: suspicions, second looks, and missing results."""

from collections.abc import Sequence

import msgspec
import pytest

from headroom.gate.result import Row
from headroom.gate.threshold import gate_of, is_slower

ROW = Row(arm="B", base="A", metric="wall_s", unit="s", better="low")
SAME = msgspec.structs.replace(ROW, ratio=1.0, low=0.97, high=1.03, p_value=0.8)
SLOW = msgspec.structs.replace(ROW, ratio=1.05, low=1.03, high=1.07, p_value=0.0001)
SLIGHT = msgspec.structs.replace(ROW, ratio=1.01, low=1.005, high=1.015, p_value=0.0001)
FAST = msgspec.structs.replace(ROW, ratio=0.9, low=0.88, high=0.92, p_value=0.0001)
LESS = msgspec.structs.replace(FAST, metric="rate", better="high")


def again(row: Row) -> object:
    return lambda suspected: [row for _ in suspected]


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
    found = gate_of([first, SAME], threshold=0.03, again=again(second))  # type: ignore[arg-type]
    assert found.verdict == verdict


def test_only_suspected_rows_are_measured_again() -> None:
    asked: list[Row] = []

    def measure(suspected: Sequence[Row]) -> Sequence[Row]:
        asked.extend(suspected)
        return suspected

    gate_of([SAME, SLOW, FAST, SLIGHT], threshold=0.03, again=measure)
    assert asked == [SLOW]


def test_one_look_has_to_be_sure_at_the_level_of_the_whole_gate() -> None:
    weak = msgspec.structs.replace(SLOW, p_value=0.015)
    alone = gate_of([weak], threshold=0.03, again=None, why_not="lost")
    assert alone.verdict == "regression"
    assert alone.not_repeated == "lost"
    assert gate_of([weak, SAME], threshold=0.03, again=None, why_not="lost").verdict == "passed"


def test_a_gate_without_rows_does_not_pass() -> None:
    neutral = msgspec.structs.replace(SLOW, better="none")
    assert gate_of([neutral], threshold=0.03, again=None).verdict == "missing"
    assert gate_of([SAME], threshold=0.03, again=None, missing=["x"]).verdict == "missing"


def test_a_metric_that_may_be_zero_regresses_by_its_direction() -> None:
    errors = msgspec.structs.replace(ROW, value=3.0, base_value=0.0, p_value=0.001)
    assert is_slower(errors, 0.01, 0.03)
    assert not is_slower(msgspec.structs.replace(errors, value=0.0, base_value=3.0), 0.01, 0.03)
