"""TPC-C as demands on a machine: the accesses of each transaction, in order.

An *access* locates a row by key and needs its page: if the database's buffer does not have it, an
I/O node (or a disk) is asked. Some accesses change their row, so that the page has to be written
back. Updates and deletes of a row just read, and inserts at the end of a table, need no other page;
they are *calls* that cost only processor time, one for each row. Rows of a range are together in a
page: one access for all of them. Stock-Level reads recent lines, and stock that was changed with
them: their pages are in the buffer, so it *scans* them and requests only one page.

What a measured database is asked comes from the same constants (`transactions/inputs`).

Source: TPC-C Standard Specification 5.11, clauses 2.4 to 2.8 and 5.2.4.2 (the deck); calls as
counted by Leutenegger and Dias, *A Modeling Study of the TPC-C Benchmark* (SIGMOD 1993), Payment's
customers of a name in Order-Status too.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from headroom.systems.transactions import native

Kind: TypeAlias = Literal["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]
Table: TypeAlias = Literal[
    "warehouse", "district", "customer", "item", "stock", "order", "order line", "new order"
]

DECK: dict[Kind, int] = {kind: cards for kind, (cards, _, _) in native.KINDS.items()}
"""Cards of each transaction in a deck of 23 (clause 5.2.4.2)."""
KEYING_S: dict[Kind, float] = {kind: keying_s for kind, (_, keying_s, _) in native.KINDS.items()}
"""Time to key in the input of a transaction (clause 5.2.5.2)."""
THINKING_S: dict[Kind, float] = {kind: mean_s for kind, (_, _, mean_s) in native.KINDS.items()}
"""Mean time to think about its answer, exponential (clause 5.2.5.4)."""

LEAST_LINES, MOST_LINES = native.LINES
"""Lines of an order, each number equally likely (clause 2.4.1.3)."""
BY_NAME_SHARE = native.BY_NAME_SHARE
"""Customers that are chosen by last name (clauses 2.5.1.2 and 2.6.1.2)."""
CUSTOMERS_OF_A_NAME = 3.4
"""Rows that a last name finds on average, with a legal pair of constants (clause 2.1.6.1)."""
DISTRICTS = native.DISTRICTS
ORDERS_LOOKED_AT = 20
"""Orders whose lines Stock-Level reads (clause 2.8.2.2)."""
MEAN_LINES = (LEAST_LINES + MOST_LINES) / 2


@dataclass(frozen=True, slots=True)
class Access:
    """An access of a row by its key: of which table, and whether it changes the row."""

    table: Table
    changes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The demands of some part of a transaction, each time it comes by.

    Parameters
    ----------
    accesses
        Pages that may have to be fetched, in order.
    calls
        Calls of the database: select, update, insert, delete.
    scans
        Rows examined in addition to those that calls return.
    """

    accesses: tuple[Access, ...] = ()
    calls: float = 0.0
    scans: float = 0.0


HEADER = Work(
    accesses=(Access("warehouse"), Access("district", changes=True), Access("customer")), calls=6
)
"""New-Order: warehouse, district (read and updated), customer; inserts of order and new-order."""
ITEM = Work(accesses=(Access("item"),), calls=2)
"""A line: read the item, insert the line."""
STOCK = Work(accesses=(Access("stock", changes=True),), calls=2)
"""A line: read the stock and update it, at the warehouse that supplies."""
UNDO = Work(calls=3 + 2 * MEAN_LINES)
"""New-Order rolled back, once its last item is not found (clause 2.4.1.4): what it changed of the
district and of the stock, and the rows that it inserted, one by one."""
YEAR_TO_DATE = Work(
    accesses=(Access("warehouse", changes=True), Access("district", changes=True)), calls=5
)
"""Payment: warehouse and district read and updated, history inserted."""
CUSTOMER = Work(accesses=(Access("customer"),), calls=1)
"""A customer, by number or one of those of a name."""
PAYING_CUSTOMER = Work(accesses=(Access("customer", changes=True),), calls=1)
"""Payment: the customer whose balance changes."""
NAME = Work(calls=1)
"""Finding which customers have a name; the index is in memory."""
CUSTOMER_UPDATE = Work(calls=1)
LAST_ORDER = Work(accesses=(Access("order"), Access("order line")), calls=1 + MEAN_LINES)
"""Order-Status: the newest order, and its lines, which are together."""
DISTRICT_DELIVERY = Work(
    accesses=(
        Access("new order", changes=True),
        Access("order", changes=True),
        Access("customer", changes=True),
        Access("order line", changes=True),
    ),
    calls=6 + 2 * MEAN_LINES,
)
"""Delivery, one district: new-order read and deleted, order and customer read and updated, the
lines of the order, which are together, read and updated."""
DISTRICT_READ = Work(accesses=(Access("district"),), calls=1)
"""Stock-Level: the next order number."""
RECENT_LINES = int(ORDERS_LOOKED_AT * MEAN_LINES)
"""Stock-Level: the lines that it reads, each with the stock of its item."""
RECENT_STOCK = Work(scans=2.0 * RECENT_LINES)
"""Stock-Level: these lines and the stock of their items."""
