"""SPAX as a network of queues that formulas solve: what a transaction asks of each part, in all.

Where theory applies, the simulation must agree with it. The network keeps what each part has to do
for a mean transaction and that a process stays at its processor; it leaves out what formulas
cannot know: that a page travels as many packets at once, that each holds its place until the next
has room, and that the five transactions differ. Service is exponential, so the network has the
product form (Baskett, Chandy, Muntz, Palacios, 1975).
"""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.experiment.system import Parameter, Value
from headroom.simulation import Model, exponential
from headroom.solvers import solve
from headroom.systems.transactions import Machine, MachineModel, machine_model, workload
from headroom.systems.transactions.workload import DECK, Kind, Work

_BY_NAME = workload.BY_NAME_SHARE * workload.CUSTOMERS_OF_A_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a transaction asks for on average.

    Parameters
    ----------
    accesses
        Pages that may have to be fetched.
    kiloinstructions
        Instructions of the database, without those that requests to I/O nodes need.
    records
        Records written to an I/O node.
    delegations
        Parts that the owner of another warehouse does.
    """

    accesses: float
    kiloinstructions: float
    records: float
    delegations: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """Mean time (ms) that a transaction needs of all parts of a kind together."""

    processor_ms: float
    io_way_ms: float
    disk_ms: float


def asked_of(kind: Kind, machine: Machine) -> Asked:
    """Return what a transaction of a kind asks for."""
    parts = list(_parts(kind, machine))
    accesses = sum(times * work.accesses for times, work in parts)
    calls = sum(times * work.calls for times, work in parts)
    scans = sum(times * work.scans for times, work in parts)
    writes = kind in {"New-Order", "Payment", "Delivery"}
    remote = {
        "New-Order": workload.MEAN_LINES * machine.remote_line_share,
        "Payment": machine.remote_payment_share,
    }
    return Asked(
        accesses=accesses,
        kiloinstructions=calls * machine.call_kiloinstructions
        + scans * machine.scan_kiloinstructions
        + machine.commit_kiloinstructions,
        records=float(writes) + (kind == "Delivery"),
        delegations=remote.get(kind, 0.0),
    )


def _parts(kind: Kind, machine: Machine) -> Iterator[tuple[float, Work]]:
    """Yield each part of a transaction and how often it comes by on average."""
    lines = workload.MEAN_LINES
    if kind == "New-Order":
        yield from ((1, workload.HEADER), (lines, workload.ITEM), (lines, workload.STOCK))
    if kind == "Payment":
        yield from ((1, workload.YEAR_TO_DATE), (1, workload.CUSTOMER_UPDATE))
    if kind in {"Payment", "Order-Status"}:
        yield workload.BY_NAME_SHARE, workload.NAME
        yield _BY_NAME, workload.CUSTOMER_OF_NAME
        yield 1 - workload.BY_NAME_SHARE, workload.CUSTOMER_BY_NUMBER
    if kind == "Order-Status":
        yield 1, workload.LAST_ORDER
    if kind == "Delivery":
        yield workload.DISTRICTS, workload.DISTRICT_DELIVERY
    if kind == "Stock-Level":
        page = workload.page_of_recent_lines(machine.page_bytes)
        pages = workload.pages_of_recent_lines(machine.page_bytes)
        yield from ((1, workload.DISTRICT_READ), (pages, page))
        yield workload.RECENT_LINES, workload.STOCK_OF_ITEM


def mean_asked(machine: Machine) -> Asked:
    """Return what a transaction of the deck asks for on average."""
    cards = sum(DECK.values())
    each = {kind: asked_of(kind, machine) for kind in DECK}

    def mean(name: str) -> float:
        return float(sum(DECK[kind] * getattr(each[kind], name) for kind in DECK) / cards)

    return Asked(
        accesses=mean("accesses"),
        kiloinstructions=mean("kiloinstructions"),
        records=mean("records"),
        delegations=mean("delegations"),
    )


def demands_of(machine: Machine) -> Demands:
    """Return what a mean transaction needs of processors, I/O nodes' ways out, and disks."""
    asked = mean_asked(machine)
    pages = asked.accesses * machine.io_probability
    requests = pages + asked.records
    wakes = 1.0 + requests + 2.0 * asked.delegations
    thousand = (
        asked.kiloinstructions
        + requests * machine.io_kiloinstructions
        + wakes * machine.switch_kiloinstructions
        + 4.0 * asked.delegations * machine.message_kiloinstructions
    )
    packet_ms = machine.dma_ms + machine.pci_ms + machine.port_ms
    turn_ms = machine.disk_overhead_ms + machine.rotation_ms / 2
    turn_ms += 1e-3 * machine.page_bytes / machine.disk_mb_s
    seek_ms = machine.seek_ms * machine.elevator_factor
    return Demands(
        processor_ms=machine.processor_ms(thousand),
        io_way_ms=(pages * machine.page_packets + asked.records) * packet_ms,
        disk_ms=pages * machine.cache_miss_rate * (turn_ms + seek_ms)
        + asked.records * machine.destage_share * turn_ms,
    )


@dataclass(frozen=True, slots=True)
class QueueNetwork:
    """A model function: the network of queues of a machine, with the machine's parameters.

    Parameters
    ----------
    machine
        The machine.
    """

    machine: MachineModel

    @property
    def __name__(self) -> str:
        """Name for messages."""
        return f"{self.machine.name} as queues"

    @property
    def place(self) -> str:
        """Place for messages."""
        return self.machine.place

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The numbers of the machine."""
        return self.machine.parameters

    def __call__(self, **config: Value) -> Model:
        """Return the network: a class for each processor, whose processes stay there."""
        machine = self.machine.machine(**config)
        demands = demands_of(machine)
        model = Model(f"{self.machine.name} as queues", time_unit="ms")
        nodes = machine.clusters * machine.io_nodes
        ways = [model.station(f"way {one + 1}", group="way out") for one in range(nodes)]
        disks = [
            model.station(f"disk {one + 1}", group="disk") for one in range(nodes * machine.disks)
        ]
        for number in range(machine.warehouses):
            program = model.program(f"transaction {number + 1}")
            processor = model.station(f"processor {number + 1}", group="processor")
            program.use(processor, exponential(demands.processor_ms))
            program.use_one_of(ways, exponential(demands.io_way_ms), policy="probability")
            if disks:
                program.use_one_of(disks, exponential(demands.disk_ms), policy="probability")
            model.closed_class(
                f"warehouse {number + 1}", program, population=machine.terminals, start="ready"
            )
        model.stop(completions=machine.warehouses * machine.terminals * 100)
        return model


build = QueueNetwork(machine_model("spax"))


def theory_of(study: Mapping[str, Any]) -> dict[str, float]:
    """Return the throughput (1/s) by formulas for each claim of a study that cites this file."""
    fixed = {one["name"]: one.get("fixed", {}) for one in study["experiment"]}
    found = {}
    for claim in study["claim"]:
        if "formulas.py" in claim.get("source", ""):
            config = {name: _value(one) for name, one in fixed[claim["experiment"]].items()}
            found[claim["name"]] = solve(build(**config | claim["where"])).throughput_per_s
    return found


def _value(fixed: Any) -> Value:  # noqa: ANN401 - as TOML gives it
    """Return a fixed value, which may come with its source."""
    value: Value = fixed["value"] if isinstance(fixed, dict) else fixed
    return value


def main() -> None:
    """Print the values of the claims: `python studies/spax_tpcc/formulas.py`."""
    text = Path(__file__).with_name("study.toml").read_text(encoding="utf-8")
    for name, per_s in theory_of(tomllib.loads(text)).items():
        sys.stdout.write(f"{name:24} {per_s:.4g}\n")


if __name__ == "__main__":
    main()
