"""Types of the compiled functions of transactions."""

from typing import Literal

KINDS: dict[
    Literal["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"],
    tuple[int, float, float],
]
"""Transaction to its cards in a deck of 23, the time (s) to key it in, and the mean to think."""
LINES: tuple[int, int]
"""Fewest and most lines of an order."""
BY_NAME_SHARE: float
REMOTE_LINE_SHARE: float
REMOTE_PAYMENT_SHARE: float
ROLLBACK_SHARE: float
CUSTOMERS: int
"""Customers of a district."""
DISTRICTS: int
"""Districts of a warehouse."""
ITEMS: int
NAMED_IN_ORDER: int
"""Customers of a district who have the last names in order; the others draw theirs."""
NAMES: int
"""Last names."""

def count_inputs(*, seed: int, warehouses: int, transactions: int) -> dict[str, int]:
    """Draw the inputs of one terminal, and count what they hold."""
