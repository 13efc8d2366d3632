"""Levels equal the numbers that a person would write."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Parameter, ParameterType
from headroom.experiment.study.levels import expand_levels
from headroom.experiment.study.study import Levels, Range

FLOAT = Parameter(name="rate", type="float", unit="1/s", source="assumed")
INT = Parameter(name="users", type="int", unit="1", source="assumed", low=0)
ANY = Parameter(name="level", type="any", unit="1", source="assumed")
TEXT = Parameter(name="mode", type="str", unit="", source="assumed")


@given(st.integers(-50, 50), st.integers(1, 40), st.integers(1, 60))
def test_steps_are_exact_decimals(start: int, step: int, count: int) -> None:
    """Oracle: integers, divided once at the end."""
    numbers = [start + step * number for number in range(count + 1)]
    asked = Range(start=start / 10, stop=numbers[-1] / 10, step=step / 10)
    assert expand_levels(asked, FLOAT) == tuple(number / 10 for number in numbers)


def test_a_step_that_misses_the_end_stops_before_it() -> None:
    assert expand_levels(Range(start=0, stop=1, step=0.4), FLOAT) == (0.0, 0.4, 0.8)


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(2, 50),
    st.sampled_from(["linear", "log"]),
)
def test_a_range_with_count_starts_and_ends_where_it_says(
    start: float, width: float, count: int, scale: str
) -> None:
    first = abs(start) + 1e-3 if scale == "log" else start
    asked = Range(start=first, stop=first + width, count=count, scale=scale)  # type: ignore[arg-type]
    levels = [float(level) for level in expand_levels(asked, FLOAT)]
    assert len(levels) == count
    assert (levels[0], levels[-1]) == (first, first + width)
    assert levels == sorted(levels)


def test_a_log_range_has_equal_ratios() -> None:
    levels = [float(level) for level in expand_levels(_log(1, 32, 6), FLOAT)]
    assert levels == pytest.approx([1, 2, 4, 8, 16, 32])


def test_a_log_range_of_whole_numbers_has_no_doubles() -> None:
    assert expand_levels(_log(1, 4, 7), INT) == (1, 2, 3, 4)


def _log(start: float, stop: float, count: int) -> Range:
    return Range(start=start, stop=stop, count=count, scale="log")


def test_levels_have_the_type_of_their_parameter() -> None:
    levels = expand_levels([1, 2.5], FLOAT)
    assert [type(level) for level in levels] == [float, float]
    assert [type(level) for level in expand_levels([1.0, 2], INT)] == [int, int]


def test_true_and_one_are_two_levels() -> None:
    levels = expand_levels([1, "a", True, 0, False], ANY)
    assert [repr(level) for level in levels] == ["1", "'a'", "True", "0", "False"]


@pytest.mark.parametrize("kind", ["int", "float", "any"])
def test_whole_steps_are_whole_where_no_float_is_asked_for(kind: ParameterType) -> None:
    parameter = Parameter(name="level", type=kind, unit="1", source="assumed")
    levels = expand_levels(Range(start=1, stop=3, step=1), parameter)
    assert [str(level) for level in levels] == (
        ["1.0", "2.0", "3.0"] if kind == "float" else ["1", "2", "3"]
    )


@pytest.mark.parametrize(
    ("levels", "parameter", "cause"),
    [
        ([], INT, "no levels"),
        ([1, 2, 1], INT, "level 1 twice"),
        ([1, 1.0], INT, "twice"),
        ([1, True, True], ANY, "level true twice"),
        ([0.5], INT, "type is int"),
        ([-1], INT, "below"),
        ([math.nan], FLOAT, "nan"),
        ([math.inf], FLOAT, "inf"),
        (Range(start=1, stop=2), FLOAT, "either step or count"),
        (Range(start=1, stop=2, step=1, count=2), FLOAT, "either step or count"),
        (Range(start=2, stop=1, step=1), FLOAT, "ends before"),
        (Range(start=1, stop=2, step=0), FLOAT, "0 or less"),
        (Range(start=1, stop=2, step=-1), FLOAT, "0 or less"),
        (Range(start=0, stop=1, step=1e-9), FLOAT, "more than"),
        (Range(start=1, stop=2, step=0.5), INT, "type is int"),
        (Range(start=1, stop=2, step=1, scale="log"), FLOAT, "log scale"),
        (Range(start=0, stop=2, count=3, scale="log"), FLOAT, "0 or below"),
        (Range(start=0, stop=2, count=3), TEXT, "for numbers"),
    ],
)
def test_impossible_levels_are_refused(levels: Levels, parameter: Parameter, cause: str) -> None:
    with pytest.raises(StudyError, match=cause):
        expand_levels(levels, parameter)
