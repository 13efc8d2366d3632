"""Error rates of single methods: each table is complete, and two answers match known values."""

import pytest

from benches.methods import Lines, crossovers, independence, saturation, spreads, warm_up

pytestmark = pytest.mark.deep


@pytest.mark.parametrize(
    ("lines", "cases"),
    [
        (independence(20, 500), 3),
        (warm_up(2), 2),
        (saturation(2, 1_000), 6),
        (crossovers(5), 4),
        (spreads(5), 4),
    ],
    ids=lambda value: value.__name__ if hasattr(value, "__name__") else "",
)
def test_each_line_of_a_table_fills_its_head(lines: Lines, cases: int) -> None:
    head, *rows = lines
    assert [len(row) for row in rows] == [len(head)] * cases


def test_dependent_responses_taken_as_independent_are_rarely_right() -> None:
    """An interval that knew the correlation of M/M/1 would cover 95%."""
    _, *rows = independence(200, 2_000)
    shares = [float(share.removesuffix("%")) for _, share in rows]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 20.0


def test_intervals_of_a_crossover_hold_it_as_often_as_they_say() -> None:
    """Of 60 at 95% fewer than 50 have a chance of 1e-4."""
    _, *rows = crossovers(60)
    assert all(int(found) >= 50 for _, _, found, _ in rows)
    assert all(float(right.removesuffix("%")) > 83.0 for *_, right in rows)
