"""Demands and headroom against laws that are known exactly."""

import math
import random

import pytest

from headroom.observe.regression import costs, reach


def test_the_law_of_utilization_is_found_exactly() -> None:
    """Oracle: U = 0.1 + 0.002 X with 2 processors: 2.0 is reached at X = 950, 9.5 times 100."""
    rates = [100.0, 200.0, 300.0, 400.0, 850.0]
    found = reach(rates, [0.1 + 0.002 * x for x in rates], room=2.0, room_error=0.0, now=100.0)
    assert found is not None
    low, times, high = found
    assert times == pytest.approx(9.5)
    idle = [0.0, 0.0, *rates]
    found = reach(idle, [0.1 + 0.002 * x for x in idle], room=2.0, room_error=0.0, now=100.0)
    assert found is not None
    assert found[1] == pytest.approx(9.5)
    # A quarter of the published error (0.616) remains, of a fifth of the way: seen up to 0.9.
    half = 3.182 * 0.616 * 0.2 * 0.25
    assert math.log(high / 9.5) == pytest.approx(half, rel=1e-3)
    assert math.log(9.5 / low) == pytest.approx(half, rel=1e-3)


def test_without_background_the_line_goes_through_the_origin() -> None:
    """Oracle: a negative background is none; the demand is then sum of X over sum of X^2 / U."""
    rates, busy = [10.0, 20.0, 30.0, 40.0], [0.08, 0.19, 0.31, 0.40]
    found = reach(rates, busy, room=1.0, room_error=0.0, now=20.0)
    assert found is not None
    weighted = sum(rates) / sum(x * x / u for x, u in zip(rates, busy, strict=True))
    assert found[1] == pytest.approx(1.0 / (20.0 * weighted))


@pytest.mark.parametrize("rates", [[10.0] * 6, [10.0, 11.0, 12.0, 12.4], [1.0, 2, 3], [0.0] * 5])
def test_rates_that_are_alike_or_few_tell_nothing(rates: list[float]) -> None:
    busy = [0.1 + 0.01 * x for x in rates]
    assert reach(rates, busy, room=1.0, room_error=0.0, now=10.0) is None


def test_the_interval_holds_a_demand_that_falls_with_the_load() -> None:
    """Oracle: PostgreSQL, select, 64 clients: measured demands (us) below, and 32 us when full."""
    shares, times_us = [0.19, 0.25, 0.31, 0.37, 0.43, 0.54], [66, 62, 58, 54.5, 51, 43]
    rates = [share / time_us for share, time_us in zip(shares, times_us, strict=True)]
    found = reach(rates, shares, room=1.0, room_error=0.0, now=rates[2])
    assert found is not None
    assert found[0] < 1.0 / 32 / rates[2] < found[2]


@pytest.mark.parametrize(("highest", "spread", "widest"), [(0.9, 0.12, 1.5), (0.5, 0.6, 8.0)])
def test_intervals_hold_as_often_as_they_say_and_narrow_with_the_range(
    highest: float, spread: float, widest: float
) -> None:
    """Oracle: 200 servers with a demand that changes from half load to full by a random factor."""
    chance, held, widths = random.Random(7), 0, []  # noqa: S311 - chance, not secrets
    for _ in range(200):
        bend = math.exp(chance.gauss(0.0, spread))
        shares = [highest * (band + 1) / 8 for band in range(8)]
        seen = [u / bend ** (2.0 * u - 1.0) * math.exp(chance.gauss(0.0, 0.01)) for u in shares]
        rates, busy = zip(*sorted(zip(seen, shares, strict=True)), strict=True)
        found = reach(rates, busy, room=1.0, room_error=0.0, now=rates[4])
        assert found is not None
        held += found[0] <= 1.0 / bend / rates[4] <= found[2]
        widths.append(found[2] / found[0])
    assert held >= 180
    assert sorted(widths)[100] < widest


def test_scatter_and_neighbours_widen() -> None:
    """Oracle: with the load seen up to the room, only the error of the room remains."""
    rates = [10.0 * band for band in range(1, 9)]
    noisy = [0.005 * x * (1.3 if band % 2 else 0.7) for band, x in enumerate(rates)]
    found = reach(rates, noisy, room=1.0, room_error=0.0, now=40.0)
    assert found is not None
    assert found[2] / found[1] > 2.0
    wild = reach(rates, [0.05 + 0.0125 * x for x in rates], room=1.05, room_error=0.1, now=40.0)
    assert wild is not None
    assert math.log(wild[2] / wild[1]) == pytest.approx(2.447 * 0.1, rel=0.01)


def test_two_operations_are_told_apart_where_their_mix_varies() -> None:
    """Oracle: reads of 1 ms and writes of 5 ms, with a background of 0.05 processors."""
    rates = [(100.0 + 7 * (n % 11), 20.0 + 3 * (n % 7)) for n in range(60)]
    found = costs(rates, [0.05 + 0.001 * reads + 0.005 * writes for reads, writes in rates])
    assert found == [pytest.approx((0.001,) * 3), pytest.approx((0.005,) * 3)]
    assert costs(rates[:5], [0.1] * 5) == []
