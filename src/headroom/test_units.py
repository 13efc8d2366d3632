"""Units: every one has one base, quantities are read and refused."""

import pytest

from headroom.quantities import choose_scale
from headroom.units import UNITS, QuantityError, Unit, parse_quantity, unit_named


def test_a_unit_has_one_base() -> None:
    words = [word for units in UNITS.values() for word in units]
    assert len(words) == len(set(words))
    assert all(unit_named(base) == Unit(base, 1.0) for base in UNITS)


def test_what_is_printed_can_be_written() -> None:
    for unit, power in (("s", -3), ("s", -6), ("B", 6), ("B/s", 9), ("1/s", 0), ("W", -3)):
        scale = choose_scale([2.0 * 10.0**power], unit)
        found = unit_named(scale.label)
        assert found is not None
        assert found.base == unit
        assert found.factor == pytest.approx(1.0 / scale.factor)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("200ms", "s", 0.2), (" 1.5e3 us ", "s", 1.5e-3), ("0.2", "s", 0.2),
        ("100 /s", "1/s", 100.0), ("100 1/s", "1/s", 100.0), ("5 widgets", "widgets", 5.0),
        (".5%", "1", 0.005),
        ("-3 K", "K", -3.0), ("2 GB/s", "B/s", 2e9),
    ],
)  # fmt: skip
def test_a_quantity_is_read_in_the_base_unit(text: str, unit: str, value: float) -> None:
    assert parse_quantity(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit", "message", "hint"),
    [
        ("fast", "s", "`fast` is not a quantity", '"200 ms"'),
        ("5 GiB", "s", "has the unit `GiB`, but the value is in s", '"200 ms"'),
        ("5 ms", "1", "has the unit `ms`, but the value is a plain number", '"5%"'),
        ("5 ms ms", "s", "has the unit `ms ms`", '"200 ms"'),
    ],
)
def test_what_is_not_a_quantity_says_what_to_write(
    text: str, unit: str, message: str, hint: str
) -> None:
    with pytest.raises(QuantityError, match=message) as caught:
        parse_quantity(text, unit)
    assert hint in caught.value.hint
