"""The five transactions of TPC-C as programs."""

from collections.abc import Callable

from headroom.simulation import Model, Program, discrete
from headroom.systems.transactions.parts.processes import Processes
from headroom.systems.transactions.workload import tpcc as workload
from headroom.systems.transactions.workload.tpcc import Kind

REMOTE_STOCK = "stock at its owner"
REMOTE_CUSTOMER = "customer at its owner"


def build_transactions(model: Model, processes: Processes) -> dict[Kind, Program]:
    """Return the five programs of TPC-C, each written onto `model`."""
    builders: dict[Kind, Callable[[Program, Processes], None]] = {
        "New-Order": _new_order,
        "Payment": _payment,
        "Order-Status": _order_status,
        "Delivery": _delivery,
        "Stock-Level": _stock_level,
    }
    programs = {}
    for kind, build in builders.items():
        programs[kind] = model.program(kind)
        processes.begin(programs[kind])
        build(programs[kind], processes)
        processes.end(programs[kind])
    return programs


def _new_order(program: Program, processes: Processes) -> None:
    """Clause 2.4: header, then 5 to 15 lines, each perhaps from another warehouse's stock."""
    processes.do(program, workload.HEADER)
    lines = list(range(workload.LEAST_LINES, workload.MOST_LINES + 1))
    with program.loop(discrete(lines, [1.0] * len(lines))):
        processes.do(program, workload.ITEM)
        _perhaps_remote(
            program,
            processes,
            REMOTE_STOCK,
            processes.machine.remote_line_share,
            lambda at: processes.do(at, workload.STOCK),
        )
    _commit_or_roll_back(program, processes)


def _commit_or_roll_back(program: Program, processes: Processes) -> None:
    """Clause 2.4.1.4: the last item of one order in a hundred does not exist."""
    share = processes.machine.rollback_share
    if share <= 0:
        processes.commit(program)
        return
    with program.branch() as last_item:
        with last_item.case(share):
            processes.do(program, workload.UNDO)
            processes.finish(program)
        with last_item.otherwise():
            processes.commit(program)


def _payment(program: Program, processes: Processes) -> None:
    """Clause 2.5: year-to-date sums, then the customer, perhaps of another warehouse."""
    share = processes.machine.remote_payment_share

    def customer(at: Program) -> None:
        _customer(at, processes, workload.PAYING_CUSTOMER)
        processes.do(at, workload.CUSTOMER_UPDATE)

    def pay(at: Program) -> None:
        processes.do(at, workload.YEAR_TO_DATE)
        _perhaps_remote(at, processes, REMOTE_CUSTOMER, share, customer)
        processes.commit(at)

    processes.locked(program, pay)


def _order_status(program: Program, processes: Processes) -> None:
    """Clause 2.6: the customer's newest order and its lines."""
    _customer(program, processes, workload.CUSTOMER)
    processes.do(program, workload.LAST_ORDER)
    processes.finish(program)


def _delivery(program: Program, processes: Processes) -> None:
    """Clause 2.7: the oldest new order of each district, as one transaction; then its result."""
    with program.loop(workload.DISTRICTS):
        processes.do(program, workload.DISTRICT_DELIVERY)
    processes.commit(program)
    processes.file_result(program)


def _stock_level(program: Program, processes: Processes) -> None:
    """Clause 2.8: the lines of the last orders of a district, and the stock of their items."""
    processes.do(program, workload.DISTRICT_READ)
    processes.do(program, workload.RECENT_STOCK)
    processes.finish(program)


def _customer(program: Program, processes: Processes, wanted: workload.Work) -> None:
    """Find the `wanted` customer: by last name, all of that name being read, or by number."""
    others, rest = divmod(workload.CUSTOMERS_OF_A_NAME - 1, 1)
    with program.branch() as choice:
        with choice.case(workload.BY_NAME_SHARE):
            processes.do(program, workload.NAME)
            with program.loop(int(others)):
                processes.do(program, workload.CUSTOMER)
            with program.branch() as one_more:
                with one_more.case(rest):
                    processes.do(program, workload.CUSTOMER)
                with one_more.otherwise():
                    pass
            processes.do(program, wanted)
        with choice.otherwise():
            processes.do(program, wanted)


def _perhaps_remote(
    program: Program,
    processes: Processes,
    name: str,
    share: float,
    work: Callable[[Program], None],
) -> None:
    """Do `work` here, or with the probability `share` at the owner of another warehouse."""
    if share <= 0 or not processes.has_others:
        work(program)
        return
    with program.branch() as owner:
        with owner.case(share):
            processes.at_owner(program, name, work)
        with owner.otherwise():
            work(program)
