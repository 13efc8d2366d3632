"""The row lock that transactions wait for: that of their warehouse, which Payment updates.

A row is a pool of one token, held until the transaction has committed. The other rows are left out
because they cannot become the bottleneck first: a district has a tenth of the Payments and
New-Orders of its warehouse, and there are many rows of stock and customers.
"""

from collections.abc import Callable

from headroom.simulation import Attribute, Model, Program
from headroom.systems.transactions.machine import Machine

HOLDER = 1
"""Priority of a process that has found its row free, and so did not leave its processor."""


class Locks:
    """The rows of the warehouses, and the programs that hold them."""

    def __init__(self, model: Model, machine: Machine, warehouse: Attribute) -> None:
        self._model = model
        self._warehouse = warehouse
        self._asked = model.attribute("asked for its row at")
        self._rows = [
            model.pool(f"warehouse row {index + 1}", tokens=1, group="warehouse row")
            for index in range(machine.warehouse_count)
        ]

    def hold(
        self, program: Program, work: Callable[[Program], None], woken: Callable[[Program], None]
    ) -> None:
        """Do `work` while the row is held, after `woken` if another transaction held it."""
        inside = self._model.program(f"{program.name} with its row")
        with inside.branch() as way:
            with way.when(self._model.now > self._asked):
                woken(inside)
            with way.otherwise():
                inside.prioritize(HOLDER)
        work(inside)
        inside.prioritize(0)
        program.set(self._asked, self._model.now)
        with program.branch("index", by=self._warehouse) as chosen:
            for row in self._rows:
                with chosen.case(), program.holding(row):
                    program.call(inside)
