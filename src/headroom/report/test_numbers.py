"""Properties of formatted quantities."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.report.numbers import (
    choose_scale,
    format_bounds,
    format_quantity,
    format_short,
    to_ascii,
)
from headroom.report.test_example_results import estimate

VALUES = st.floats(min_value=1e-9, max_value=1e12)


def _printed_step(text: str) -> float:
    """Return the step of the last digit of the number that `text` starts with."""
    number = re.match(r"[\d,]+(?:\.(\d+))?", text)
    assert number is not None
    return 10.0 ** -len(number[1] or "")


@given(value=VALUES, share=st.floats(min_value=1e-6, max_value=1.0))
def test_no_more_digits_are_printed_than_the_half_width_supports(
    value: float, share: float
) -> None:
    """The last decimal printed is no finer than a tenth of the half-width."""
    half_width = value * share
    scale = choose_scale([value], "s")
    text = format_quantity(value, "s", half_width=half_width)
    has_decimals = "." in text
    assert not has_decimals or _printed_step(text) >= half_width * scale.factor / 20.0


@given(value=VALUES)
def test_a_printed_quantity_is_the_value_to_three_digits(value: float) -> None:
    """Reading the text back gives the value within half a unit of its third digit."""
    text = format_quantity(value, "s")
    number, label = text.rsplit(" ", 1)
    factor = {"ps": 1e-12, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}[label]
    assert float(number.replace(",", "")) * factor == pytest.approx(value, rel=5.1e-3)


@given(value=st.floats(min_value=1e-11, max_value=999.0))
def test_the_number_before_a_prefix_has_at_most_three_digits(value: float) -> None:
    """So 1000 ms is never printed where 1.00 s is meant."""
    number = float(format_quantity(value, "s").split(" ", 1)[0].replace(",", ""))
    assert 1.0 <= number < 1000.0


@given(value=VALUES, below=st.floats(0.001, 0.9), above=st.floats(0.001, 0.9))
def test_the_printed_interval_holds_the_printed_centre(
    value: float, below: float, above: float
) -> None:
    """Rounding never puts the centre outside its own interval."""
    text = format_bounds(value, value * (1 - below), value * (1 + above), "s")
    number, rest = text.split(" ", 1)
    low, high = re.findall(r"[\d,.]+", rest)[-2:]
    as_number = [float(part.replace(",", "")) for part in (low, number, high)]
    assert as_number == sorted(as_number)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_values_that_are_no_numbers_are_said_in_words(value: float) -> None:
    assert format_quantity(value, "1") in {"∞", "\N{MINUS SIGN}∞", "not a number"}


def test_an_unbounded_interval_is_said_and_not_invented() -> None:
    assert "without end" in format_bounds(1.0, 0.5, math.inf, "s")


def test_a_short_estimate_never_understates_its_interval() -> None:
    """The side behind ± is rounded up: 0.0341 becomes 0.04 at two decimals, not 0.03."""
    assert format_short(estimate("wait", "s", 1.0, relative=0.0341)) == "1.00 ±0.04 s"


@given(st.text())
def test_plain_terminals_get_only_plain_signs(text: str) -> None:
    assert to_ascii(text).isascii()
