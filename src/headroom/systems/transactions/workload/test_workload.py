"""The five transactions against the row touches and calls of TPC-C, by type and over the mix.

Known numbers: rows and calls of Leutenegger and Dias (SIGMOD 1993), instructions that follow with
20 K a call, 3 K around it, 30 K a commit and 2 K a scanned row.
"""

import pytest

from headroom.systems.transactions import machine_model
from headroom.systems.transactions.theory.demands import counts, mean_counts
from headroom.systems.transactions.workload import tpcc as workload

SPAX = machine_model("spax").machine()
COUNTS = counts(SPAX)
MORE_CUSTOMERS = 0.6 * (3.4 - 3)
"""Rows of a name beyond the three of Leutenegger and Dias: 3.4 with a legal pair of constants."""


def test_the_deck_has_the_23_cards_of_the_standard() -> None:
    assert list(workload.DECK.values()) == [10, 10, 1, 1, 1]


def test_rows_read_by_key_are_those_of_the_standard() -> None:
    rows = {kind: activity.accesses for kind, activity in COUNTS.items()}
    assert rows["New-Order"] == 1 + 1 + 1 + 10 + 10
    by_name, by_number = 0.6 * 3.4, 0.4
    assert rows["Payment"] == pytest.approx(1 + 1 + by_number + by_name)
    # The ten lines of an order are together: one page instead of ten rows.
    assert rows["Order-Status"] == pytest.approx(by_number + by_name + 1 + 10 - 9)
    assert rows["Delivery"] == 130 - 10 * 9
    # The 200 recent lines and their stock are still in the buffer.
    assert rows["Stock-Level"] == 1


def test_calls_are_those_of_leutenegger_and_dias() -> None:
    calls = {kind: activity.calls for kind, activity in COUNTS.items()}
    undone_in_a_hundred = (1 + 10) + (2 + 10)
    assert calls["New-Order"] == pytest.approx(23 + 11 + 12 + 0.01 * undone_in_a_hundred)
    assert calls["Payment"] == pytest.approx(4.2 + 3 + 1 + 0.6 + MORE_CUSTOMERS)
    # Their Order-Status (11.4 + 0.6) leaves out the rows of a name that their Payment counts.
    assert calls["Order-Status"] == pytest.approx(11.4 + 0.6 + 0.6 * 3.4)
    assert calls["Delivery"] == 130 + 120 + 10
    assert calls["Stock-Level"] == 1


def test_stock_level_looks_at_200_lines_and_their_stock() -> None:
    assert COUNTS["Stock-Level"].scans == pytest.approx(200 + 200)
    assert all(activity.scans == 0 for kind, activity in COUNTS.items() if kind != "Stock-Level")


def test_records_are_written_by_those_that_change_something() -> None:
    assert [activity.records for activity in COUNTS.values()] == [0.99, 1, 0, 2, 0]


def test_pages_are_written_back_for_those_that_were_fetched_to_be_changed() -> None:
    changed = {kind: activity.write_backs / 0.3 for kind, activity in COUNTS.items()}
    assert changed["New-Order"] == pytest.approx(1 + 10)
    assert changed["Payment"] == pytest.approx(1 + 1 + 1)
    assert changed["Delivery"] == pytest.approx(4 * 10)
    assert changed["Order-Status"] == changed["Stock-Level"] == 0


def test_parts_for_other_warehouses_have_the_shares_of_the_standard() -> None:
    assert COUNTS["New-Order"].delegations == pytest.approx(10 * 0.01)
    assert COUNTS["Payment"].delegations == 0.15
    alone = counts(machine_model("spax").machine(processing_nodes=1, processors=1))
    assert not any(activity.delegations for activity in alone.values())


@pytest.mark.parametrize(
    ("kind", "instructions_m"),
    [
        ("New-Order", 1.09),
        ("Payment", 0.23),
        ("Order-Status", 0.31),
        ("Delivery", 6.0),
        ("Stock-Level", 0.8),
    ],
)
def test_instructions_are_near_those_of_the_cost_model_of_the_time(
    kind: workload.Kind, instructions_m: float
) -> None:
    activity = COUNTS[kind]
    actual_m = 23e-3 * activity.calls + 2e-3 * activity.scans + 30e-3
    assert actual_m == pytest.approx(instructions_m, rel=0.17)


def test_the_average_transaction_has_nine_hundred_thousand_instructions() -> None:
    activity = mean_counts(SPAX)
    actual_m = 23e-3 * activity.calls + 2e-3 * activity.scans + 30e-3
    assert actual_m == pytest.approx(0.9, rel=0.02)
    # 17.5 rows by key and about one by name; the lines of an order are one page.
    rows = (10 * 23 + 10 * 4.44 + (4.44 + 9) + 130 + 1) / 23
    pages_saved = (9 + 90) / 23
    assert activity.accesses == pytest.approx(rows - pages_saved, rel=0.001)
