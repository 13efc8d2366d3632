"""Counters of the driver against those of a database, and the driver's own cost."""

from dataclasses import replace

import numpy as np
import pytest

from headroom.experiment.protocol.run import Run
from headroom.systems.transactions.measured.conversion import miscounted_rows, with_driver_share

COUNTS = {
    "new_order_count": 3.0,
    "lines_written_count": 31.0,
    "payment_count": 2.0,
    "delivered_count": 10.0,
    "delivered_line_count": 98.0,
    "change_count": 0.0,
}
RIGHT = {
    "warehouse": (0, 2, 0),
    "district": (5, 5 + 5, 0),
    "order_line": (31, 98, 0),
    "stock": (0, 31, 0),
}
BEFORE = {"district": (5, 5, 0)}


def test_rows_that_agree_are_not_mentioned() -> None:
    assert miscounted_rows(COUNTS, BEFORE, RIGHT) == {}


def test_a_table_that_differs_is_named_with_the_number_of_rows() -> None:
    wrong = {**RIGHT, "order_line": (33, 97, 0)}
    assert miscounted_rows(COUNTS, BEFORE, wrong) == {"order_line": 3.0}


def test_a_server_that_counts_all_together_is_compared_as_a_whole() -> None:
    inserted, updated, deleted = 2 + 3 + 3 + 31, 2 + 5 + 12 + 10 + 98 + 31, 10
    assert miscounted_rows(COUNTS, {}, {"all": (inserted, updated, deleted)}) == {}
    assert miscounted_rows(COUNTS, {}, {"all": (inserted, updated + 4, deleted)}) == {"all": 4.0}


@pytest.mark.parametrize(("own_us", "is_said"), [(10, False), (100, True)])
def test_a_driver_that_takes_a_tenth_of_the_machine_is_said(
    own_us: float, *, is_said: bool
) -> None:
    empty = Run(values={}, snapshot_times_s=np.array([1.0]))
    values = {"driver_cpu_s_per_op": own_us * 1e-6, "service.db.cpu_s_per_op": 500e-6}
    run = with_driver_share(replace(empty, values=values))
    assert bool(run.remarks) == is_said
    assert run.values["driver_share"] == pytest.approx(own_us / (own_us + 500))
