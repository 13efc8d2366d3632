"""What the standards expect of a run, and how a run differs from it.

Source: TPC-C Standard Specification 5.11, clauses 4.1.3, 4.2.2, 5.2.3 and 5.5.
"""

from collections.abc import Iterator, Mapping

from headroom.systems.transactions.measured.parameters import Asked
from headroom.systems.transactions.workload.tpcc import DECK, KEYING_S, THINKING_S

TERMINALS_OF_A_WAREHOUSE = 10
MEASURED_S = 7200.0
"""Shortest measurement of a published result."""


def _cycle_s() -> float:
    """Return the mean time from one transaction of a terminal to the next, without answers."""
    cards = sum(DECK.values())
    return sum(DECK[kind] * (KEYING_S[kind] + THINKING_S[kind]) for kind in DECK) / cards


CEILING = 60.0 / _cycle_s() * DECK["New-Order"] / sum(DECK.values()) * TERMINALS_OF_A_WAREHOUSE
"""New orders per minute that the terminals of a warehouse ask for if answers take no time."""


def deviations(point: Asked, *, seconds: float, defers: bool) -> Iterator[str]:
    """Yield how a run differs from the specification.

    Examples
    --------
    >>> list(deviations(Asked(waits=False), seconds=10.0, defers=True))[0]
    'no keying or think times'
    """
    if point.workload == "tpcb":
        yield "TPC-B was retired in 1995"
        yield f"a run of {seconds:g} s"
        return
    if point.rate_per_s:
        yield "transactions arrive at a rate instead of from terminals"
    elif not point.waits:
        yield "no keying or think times"
    wanted = TERMINALS_OF_A_WAREHOUSE * point.warehouses
    if not point.rate_per_s and point.terminals != wanted:
        yield f"{point.terminals} terminals instead of {wanted}"
    if seconds < MEASURED_S:
        yield f"a run of {seconds:g} s instead of {MEASURED_S:g} s"
    if not defers:
        yield "deliveries are not put into a queue"
    yield "responses are measured at the driver, without terminals or menus"
    yield "money is in whole hundredths"
    yield "no space for 60 days"


def expected_rows(counts: Mapping[str, float]) -> dict[str, tuple[float, float, float]]:
    """Return table -> rows inserted, updated and deleted by transactions that were counted.

    Rows of an order that was rolled back are among them: databases count those too.

    Examples
    --------
    >>> counts = {"new_order_count": 1, "lines_written_count": 9, "payment_count": 0,
    ...           "delivered_count": 0, "delivered_line_count": 0, "change_count": 0}
    >>> expected_rows(counts)["order_line"]
    (9, 0, 0)
    """
    orders, lines = counts["new_order_count"], counts["lines_written_count"]
    paid, changes = counts["payment_count"], counts["change_count"]
    delivered, delivered_lines = counts["delivered_count"], counts["delivered_line_count"]
    return {
        "warehouse": (0, paid, 0),
        "district": (0, paid + orders, 0),
        "customer": (0, paid + delivered, 0),
        "history": (paid, 0, 0),
        "orders": (orders, delivered, 0),
        "new_order": (orders, 0, delivered),
        "order_line": (lines, delivered_lines, 0),
        "stock": (0, lines, 0),
        "item": (0, 0, 0),
        "branch": (0, changes, 0),
        "teller": (0, changes, 0),
        "account": (0, changes, 0),
        "ledger": (changes, 0, 0),
    }
