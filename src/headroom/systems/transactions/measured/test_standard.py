"""What follows from the standard's times and rows, against numbers that others computed."""

import pytest

from headroom.systems.transactions.measured.parameters import Asked
from headroom.systems.transactions.measured.standard import (
    CEILING,
    deviations,
    expected_rows,
)


def test_the_ceiling_of_a_warehouse_is_that_of_its_terminals() -> None:
    assert pytest.approx(12.605, abs=5e-4) == CEILING


def test_rows_of_each_type_are_those_that_the_standard_touches() -> None:
    one_of_each = {
        "new_order_count": 1,
        "lines_written_count": 10,
        "payment_count": 1,
        "delivered_count": 10,
        "delivered_line_count": 100,
        "change_count": 0,
    }
    rows = expected_rows(one_of_each)
    inserted, updated, deleted = (
        sum(counts[place] for counts in rows.values()) for place in range(3)
    )
    assert (inserted, updated, deleted) == (12 + 1, 11 + 3 + 120, 10)


def test_a_run_with_all_terminals_that_wait_differs_by_its_length_first() -> None:
    said = list(deviations(Asked(warehouses=4, terminals=40), seconds=60.0, defers=True))
    assert said[0] == "a run of 60 s instead of 7200 s"
    fast = list(deviations(Asked(waits=False, terminals=3), seconds=7200.0, defers=False))
    assert fast[:3] == [
        "no keying or think times",
        "3 terminals instead of 10",
        "deliveries are not put into a queue",
    ]
