"""The database buffer in a node's memory: which accesses find their page there.

Pages are requested independently, each as often as the standard's skew says, and the buffer evicts
the least recently used page (LRU). A page then stays for about the same time T after each use, and
T is the value at which the buffer is just full (Che, Tung, Wang, *Hierarchical Web Caching
Systems*, 2002). Skew: TPC-C clause 2.1.6; sizes: clause 1.2.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import get_args

import numpy as np
import numpy.typing as npt
import scipy

from headroom.simulation.laws.discrete_laws import nurand_shares
from headroom.systems.transactions.workload.tpcc import (
    BY_NAME_SHARE,
    CUSTOMERS_OF_A_NAME,
    DECK,
    DISTRICTS,
    MEAN_LINES,
    Table,
)

FloatArray = npt.NDArray[np.float64]

RECENT_TABLES: frozenset[Table] = frozenset(
    {"warehouse", "district", "order", "order line", "new order"}
)
"""Tables of few pages, or whose rows are added at the end and used while they are new."""
RAW_WAREHOUSE_MB = 68.6
"""Rows of a warehouse without anything around them."""
ROW_BYTES: Mapping[Table, int] = {"stock": 306, "customer": 655, "item": 82}
CUSTOMERS, NAMES, ITEMS = 3000, 1000, 100_000
NAMED_IN_ORDER = 1000
"""Customers of a district who have the names in order; the others draw theirs (clause 4.3.2.3)."""


@lru_cache(maxsize=64)
def miss_shares(
    *, buffer_pages: float, warehouses: float, warehouse_mb: float, page_bytes: int
) -> Mapping[Table, float]:
    """Return the share of accesses to each table that do not find their page.

    Parameters
    ----------
    buffer_pages
        Pages of the buffer (> 0).
    warehouses
        Warehouses that share it (> 0); all of them share the items.
    warehouse_mb
        Size of a warehouse in pages (MB); more than its rows have if pages are not full.
    page_bytes
        Size of a page.

    Examples
    --------
    A fifth of the warehouse in memory answers most accesses:

    >>> found = miss_shares(
    ...     buffer_pages=16 * 13e6 / 4096, warehouses=16, warehouse_mb=68.6, page_bytes=4096
    ... )
    >>> {table: round(found[table], 2) for table in ("stock", "customer", "item")}
    {'stock': 0.32, 'customer': 0.59, 'item': 0.0}
    """
    per_byte = warehouse_mb / RAW_WAREHOUSE_MB
    uses = {
        table: _uses_of_pages(table, max(1, round(page_bytes / (per_byte * ROW_BYTES[table]))))
        for table in ROW_BYTES
    }
    # A page of items is used by all warehouses, and exists once.
    rates = {**uses, "item": warehouses * uses["item"]}
    copies = {"stock": warehouses, "customer": warehouses, "item": 1.0}
    if sum(copies[table] * len(rates[table]) for table in rates) <= buffer_pages:
        return dict.fromkeys(get_args(Table), 0.0)

    def too_full(log_stay: float) -> float:
        stay = np.exp(log_stay)
        held = sum(copies[rate] * -np.expm1(-rates[rate] * stay).sum() for rate in rates)
        return float(held - buffer_pages)

    stay = np.exp(scipy.optimize.brentq(too_full, -40.0, 40.0))
    missed = {
        rate: float(uses[rate] @ np.exp(-rates[rate] * stay) / uses[rate].sum()) for rate in rates
    }
    return {**dict.fromkeys(RECENT_TABLES, 0.0), **missed}


@lru_cache(maxsize=8)
def _uses_of_pages(table: Table, rows_of_a_page: int) -> FloatArray:
    """Return how often the average transaction of a warehouse uses each page of a table."""
    rows = _uses_of_customers() if table == "customer" else _uses_of_items()
    return np.add.reduceat(rows, np.arange(0, len(rows), rows_of_a_page))


def _uses_of_items() -> FloatArray:
    """Return the uses of each row of ITEM, or of a warehouse's STOCK: one for each line."""
    each = DECK["New-Order"] / sum(DECK.values()) * MEAN_LINES
    return each * _shares(8191, 1, ITEMS)


def _uses_of_customers() -> FloatArray:
    """Return the uses of each customer of a warehouse, all districts alike."""
    cards = sum(DECK.values())
    asked = (DECK["Payment"] + DECK["Order-Status"]) / cards
    by_number = (
        DECK["New-Order"] / cards
        + asked * (1 - BY_NAME_SHARE)
        + DECK["Delivery"] * DISTRICTS / cards
    )
    by_name = asked * BY_NAME_SHARE * CUSTOMERS_OF_A_NAME
    names = _names_of_customers()
    called = _shares(255, 0, NAMES - 1, 223)[names]
    uses = by_number * _shares(1023, 1, CUSTOMERS) + by_name * called / called.sum()
    return np.tile(uses / DISTRICTS, DISTRICTS)


def _names_of_customers() -> npt.NDArray[np.intp]:
    """Return the number of the name of each customer of a district, as initially loaded."""
    load = np.random.default_rng(1)
    drawn = load.choice(NAMES, CUSTOMERS - NAMED_IN_ORDER, p=_shares(255, 0, NAMES - 1, 157))
    return np.concatenate([np.arange(NAMED_IN_ORDER), drawn])


def _shares(mask: int, low: int, high: int, constant: int = 0) -> FloatArray:
    """Return how likely each record from `low` to `high` is."""
    numbers, weights = nurand_shares(mask, low, high, constant)
    # Several draws may come to one record: sums beyond the last begin again at the first.
    shares = np.bincount(numbers.astype(int) - low, weights, minlength=high - low + 1)
    return np.asarray(shares / weights.sum())
