"""Properties of formatted quantities."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.quantities import (
    choose_scale,
    format_bounds,
    format_given,
    format_limit,
    format_quantity,
    format_ratio,
    to_ascii,
)

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


@given(
    value=st.floats(min_value=1e-9, max_value=1e14), unit=st.sampled_from(["s", "1/s", "B", "1"])
)
def test_a_given_number_is_read_back_as_it_was_stated(value: float, unit: str) -> None:
    """Four digits survive the prefix; a number is never written shorter than it needs."""
    text = format_given(value, unit)
    number = re.match(r"[\d,.]+", text)
    assert number is not None
    scale = choose_scale([value], unit)
    assert text.endswith(scale.suffix)
    assert float(number[0].replace(",", "")) / scale.factor == pytest.approx(value, rel=6e-4)
    assert not re.search(r"\.\d*0$", number[0])


@given(share=st.floats(min_value=1e-7, max_value=0.99))
def test_a_limit_is_never_below_what_it_bounds_and_close_to_it(share: float) -> None:
    limit = float(format_limit(share).removesuffix("%")) / 100.0
    assert share * (1.0 - 1e-9) <= limit <= share * 1.11


@given(
    value=st.floats(min_value=1e-3, max_value=1e3), share=st.floats(min_value=1e-5, max_value=0.9)
)
def test_a_ratio_is_marked_as_one_and_holds_its_interval(value: float, share: float) -> None:
    text = to_ascii(format_ratio(value, value * (1 - share), value * (1 + share)))
    assert re.fullmatch(r"[\d,.]+x \([\d,.]+ to [\d,.]+\)", text)


@given(st.text())
def test_plain_terminals_get_only_plain_signs(text: str) -> None:
    assert to_ascii(text).isascii()
