"""The compiled inputs, which a measured database gets, against the modelled transactions."""

import math

import pytest

from headroom.systems.transactions import machine_model
from headroom.systems.transactions.native import count_inputs
from headroom.systems.transactions.theory.demands import counts
from headroom.systems.transactions.workload import tpcc as workload

TRANSACTIONS = 230_000
MODELLED = counts(machine_model("spax").machine())


@pytest.fixture(scope="module")
def drawn() -> dict[str, int]:
    return count_inputs(seed=5, warehouses=16, transactions=TRANSACTIONS)


def near(count: int, of: int, share: float) -> bool:
    """Return whether a share is within four standard errors of what it should be."""
    return abs(count / of - share) <= 4.0 * math.sqrt(share * (1.0 - share) / of)


def test_both_have_the_cards_of_the_deck(drawn: dict[str, int]) -> None:
    decks = TRANSACTIONS / sum(workload.DECK.values())
    assert {kind: drawn[kind] for kind in workload.DECK} == {
        kind: cards * decks for kind, cards in workload.DECK.items()
    }


def test_both_have_as_many_lines_and_as_many_of_other_warehouses(drawn: dict[str, int]) -> None:
    orders = drawn["New-Order"]
    rows_of_lines = MODELLED["New-Order"].accesses - 3  # warehouse, district, customer
    assert drawn["lines"] / orders == pytest.approx(rows_of_lines / 2, rel=0.005)
    assert near(drawn["remote lines"], drawn["lines"], MODELLED["New-Order"].delegations / 10)
    assert near(drawn["orders with remote lines"], orders, 0.0953)


def test_both_pay_for_others_and_roll_back_as_often(drawn: dict[str, int]) -> None:
    assert near(drawn["remote payments"], drawn["Payment"], MODELLED["Payment"].delegations)
    assert near(drawn["rolled back"], drawn["New-Order"], 1.0 - MODELLED["New-Order"].records)
    asked = drawn["Payment"] + drawn["Order-Status"]
    assert near(drawn["by name"], asked, workload.BY_NAME_SHARE)


def test_no_warehouse_is_refused() -> None:
    with pytest.raises(ValueError, match="no warehouse"):
        count_inputs(seed=1, warehouses=0, transactions=1)
