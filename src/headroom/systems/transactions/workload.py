"""TPC-C as what it asks of a machine: which accesses each transaction makes, and in which order.

An *access* locates a row by key and needs its page: it may have to ask an I/O node. Updates and
deletes of a row just read, and inserts at the end of a table, need no other page; they are *calls*
that cost the processor alone, one for each row. Rows of a range lie together in a page: one access
for all of them. Stock-Level alone is one call that joins; what it looks at is *scanned*.

Source: TPC-C Standard Specification 5.11, clauses 2.4 to 2.8 and 5.2.4.2 (the deck); calls as
counted by Leutenegger and Dias, *A Modeling Study of the TPC-C Benchmark* (SIGMOD 1993), Payment's
customers of a name in Order-Status too.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]

DECK: dict[Kind, int] = {
    "New-Order": 10,
    "Payment": 10,
    "Order-Status": 1,
    "Delivery": 1,
    "Stock-Level": 1,
}
"""Cards of each transaction in a deck of 23 (clause 5.2.4.2)."""

LEAST_LINES, MOST_LINES = 5, 15
"""Lines of an order, each number equally likely (clause 2.4.1.3)."""
BY_NAME_SHARE = 0.6
"""Customers that are chosen by last name (clauses 2.5.1.2 and 2.6.1.2)."""
CUSTOMERS_OF_A_NAME = 3.4
"""Rows that a last name finds on average, with a legal pair of constants (clause 2.1.6.1)."""
DISTRICTS = 10
ORDERS_LOOKED_AT = 20
"""Orders whose lines Stock-Level looks at (clause 2.8.2.2)."""
MEAN_LINES = (LEAST_LINES + MOST_LINES) / 2
ORDER_LINE_BYTES = 54
"""Bytes of a row of ORDER-LINE (clause 1.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What some part of a transaction asks for, each time it comes by.

    Parameters
    ----------
    accesses
        Pages that may have to be fetched.
    calls
        Calls of the database: select, update, insert, delete.
    scans
        Rows that are looked at beside those that calls return.
    """

    accesses: int
    calls: float
    scans: float = 0.0


HEADER = Work(accesses=3, calls=6)
"""New-Order: warehouse, district (read and updated), customer; inserts of order and new-order."""
ITEM = Work(accesses=1, calls=2)
"""A line: read the item, insert the line."""
STOCK = Work(accesses=1, calls=2)
"""A line: read the stock and update it, at the warehouse that supplies."""
YEAR_TO_DATE = Work(accesses=2, calls=5)
"""Payment: warehouse and district read and updated, history inserted."""
CUSTOMER_BY_NUMBER = Work(accesses=1, calls=1)
NAME = Work(accesses=0, calls=1)
"""Finding which customers have a name; the index is in memory."""
CUSTOMER_OF_NAME = Work(accesses=1, calls=1)
"""One of the customers of a name."""
CUSTOMER_UPDATE = Work(accesses=0, calls=1)
LAST_ORDER = Work(accesses=2, calls=1 + MEAN_LINES)
"""Order-Status: the newest order, and its lines, which lie together."""
DISTRICT_DELIVERY = Work(accesses=4, calls=6 + 2 * MEAN_LINES)
"""Delivery, one district: new-order read and deleted, order and customer read and updated, the
lines of the order, which lie together, read and updated."""
DISTRICT_READ = Work(accesses=1, calls=1)
"""Stock-Level: the next order number."""


RECENT_LINES = int(ORDERS_LOOKED_AT * MEAN_LINES)
"""Stock-Level: lines that it looks at, each with the stock of its item."""
STOCK_OF_ITEM = Work(accesses=1, calls=0, scans=1.0)
"""Stock-Level: the stock of one of the items found."""


def pages_of_recent_lines(page_bytes: int) -> int:
    """Return the pages of the lines that Stock-Level looks at, which lie together.

    Examples
    --------
    >>> pages_of_recent_lines(4096)
    3
    """
    return math.ceil(RECENT_LINES * ORDER_LINE_BYTES / page_bytes)


def page_of_recent_lines(page_bytes: int) -> Work:
    """Return the work on one of these pages.

    Examples
    --------
    >>> page_of_recent_lines(8192).scans
    100.0
    """
    return Work(accesses=1, calls=0, scans=RECENT_LINES / pages_of_recent_lines(page_bytes))
