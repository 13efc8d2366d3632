"""States of processes: running, waiting in the ready queue, asleep (Kim et al., figures 6 and 7).

``python -m headroom.systems.transactions.states --out FOLDER`` simulates a machine once, prints for
each transaction how its time is divided among the states, and draws both figures with the measured
values: share, mean stay, and how often a transaction takes each transition.

Work done by the owner of another warehouse counts as its state there: its process runs and waits at
the owner's processor. The rest of a response time is sleep, including the transfer of the
terminal's request and answer, a fraction of a millisecond.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headroom.experiment.protocol.system import Value
from headroom.output_file import write_output
from headroom.quantities import format_given, format_percent, format_plain
from headroom.simulation import SimulationResult, Table, simulate
from headroom.systems.transactions.machine import Machine
from headroom.systems.transactions.model import MachineModel, machine_model
from headroom.systems.transactions.state_diagram import Panel, draw_figure
from headroom.systems.transactions.tail import KEPT_SHARE, Tail
from headroom.systems.transactions.theory.demands import counts
from headroom.systems.transactions.workload.tpcc import DECK

FIGURES = {6: ("New-Order", "Payment"), 7: ("Order-Status", "Delivery", "Stock-Level")}
"""The transactions shown in the figures of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """The states of a transaction of one type, on average.

    Parameters
    ----------
    kind
        Type of transaction.
    running_s, waiting_s, sleeping_s
        Time (s) in each state.
    runs
        How often a process of it is scheduled.
    requests
        How often it sleeps for an I/O node: pages, log records, results.
    delegations
        How often it sleeps for the owner of another warehouse.
    """

    kind: str
    running_s: float
    waiting_s: float
    sleeping_s: float
    runs: float
    requests: float
    delegations: float

    @property
    def response_s(self) -> float:
        """Mean response time (s)."""
        return self.running_s + self.waiting_s + self.sleeping_s

    @property
    def sleeps(self) -> float:
        """How often it sleeps."""
        return self.requests + self.delegations

    def share(self, state_s: float) -> float:
        """Return the share of the response time that is spent in a state."""
        return state_s / self.response_s if self.response_s else 0.0


def asking_shares(machine: Machine) -> dict[str, float]:
    """Return for each type the share of requests at I/O nodes for which it sleeps."""
    return {
        kind: (activity.fetches + activity.records)
        / max(activity.fetches + activity.write_backs + activity.records, 1e-9)
        for kind, activity in counts(machine).items()
    }


def states_of(
    result: SimulationResult, asking: Mapping[str, float], *, kept_share: float = KEPT_SHARE
) -> tuple[States, ...]:
    """Return the states of each type of transaction, measured in the last part of a run.

    Parameters
    ----------
    result
        A run of a machine.
    kept_share
        Share of the run that counts, from its end (0 to 1].

    asking
        Share of the requests at I/O nodes for which a process of a type sleeps; the others write
        pages back while no process waits. `asking_shares` counts it for a machine.

    Examples
    --------
    >>> from headroom.simulation import simulate
    >>> from headroom.systems.transactions import machine_model
    >>> spax = machine_model("spax")
    >>> result = simulate(spax(transactions_per_terminal=2), seed=1)
    >>> order = states_of(result, asking_shares(spax.machine()))[0]
    >>> order.kind, order.sleeping_s > order.running_s > 0, order.requests > 1
    ('New-Order', True, True)
    """
    tail = Tail.of(result, kept_share=kept_share)
    return tuple(_of_kind(kind, tail, asking[kind]) for kind in result.classes.names)


def _of_kind(kind: str, tail: Tail, asking: float) -> States:
    result, at_processor = tail.result, f"processor.class.{kind}"
    ended = tail.gain(result.classes, kind, "completion_count")

    def each(table: Table, name: str, column: str) -> float:
        return tail.gain(table, name, column) / ended if ended else 0.0

    waiting_s = each(result.visits, at_processor, "wait_s_sum")
    running_s = each(result.visits, at_processor, "response_s_sum") - waiting_s
    response_s = each(result.classes, kind, "response_s_sum")
    runs = each(result.visits, at_processor, "completion_count")
    requests = asking * each(result.visits, f"io processor.class.{kind}", "completion_count")
    # A process runs once more than it sleeps; one for the owner's part comes with each delegation.
    return States(
        kind=kind,
        running_s=running_s,
        waiting_s=waiting_s,
        sleeping_s=max(0.0, response_s - running_s - waiting_s),
        runs=runs,
        requests=requests,
        delegations=max(0.0, (runs - 1.0 - requests) / 2.0),
    )


def diagram(states: Sequence[States], figure: int) -> str:
    """Return a figure of the paper as SVG, with the measured values.

    Parameters
    ----------
    states
        The states of all types.
    figure
        6 (New-Order and Payment) or 7 (the others).
    """
    shown = [state for state in states if state.kind in FIGURES[figure]]
    return draw_figure([_panel(state) for state in shown], title=f"States of processes, {figure}")


def _panel(state: States) -> Panel:
    asks = [f"asks an I/O node {_times(state.requests)}"]
    created = "created"
    if state.kind in FIGURES[6]:
        asks.append(f"delegates {_times(state.delegations)}")
        created = f"created {_times(1 + state.delegations)}"
    return Panel(
        title=state.kind,
        subtitle=f"{format_given(state.response_s, 's')} on average",
        created=created,
        waiting=_told(state, state.waiting_s, state.runs),
        running=_told(state, state.running_s, state.runs),
        sleeping=_told(state, state.sleeping_s, state.sleeps),
        scheduled=_times(state.runs),
        asks=tuple(asks),
        woken=_times(state.sleeps),
    )


def _told(state: States, state_s: float, visits: float) -> tuple[str, ...]:
    share = f"{format_percent(state.share(state_s))} of the time"
    return (share, f"{format_given(state_s / visits, 's')} each") if visits else (share,)


def _times(count: float) -> str:
    return f"{format_plain(count, decimals=2 if count < 10 else 1)} times"  # noqa: PLR2004 - digits


def told(states: Sequence[States]) -> str:
    """Return a table of the states of each type, in plain text."""
    head = "transaction   response  running  waiting  asleep   runs  I/O sleeps  delegated"
    rows = [
        f"{state.kind:12}  {format_given(state.response_s, 's'):>8}  "
        + "  ".join(
            f"{format_percent(state.share(state_s)):>7}"
            for state_s in (state.running_s, state.waiting_s, state.sleeping_s)
        )
        + f" {state.runs:6.2f} {state.requests:11.2f} {state.delegations:10.3f}"
        for state in states
    ]
    return "\n".join([head, *rows])


def measured(
    machine: MachineModel, changed: Mapping[str, Value], *, seed: int
) -> tuple[States, ...]:
    """Return the states of each type in one run of a machine, in the order of the deck."""
    result = simulate(machine(**changed), seed=seed)
    asking = asking_shares(machine.machine(**changed))
    by_kind = {state.kind: state for state in states_of(result, asking)}
    return tuple(by_kind[kind] for kind in DECK)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, print the shares, and write the figures if requested."""
    parser = argparse.ArgumentParser(
        description="States of processes: figures 6 and 7 of Kim et al."
    )
    parser.add_argument("--machine", default="spax", help="spax, server, or a machine file")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for states-6.svg and states-7.svg")
    wishes = parser.parse_args(arguments)
    machine = machine_model(wishes.machine)
    states = measured(machine, _values(wishes.changes), seed=wishes.seed)
    print(told(states))  # noqa: T201 - it is a command
    if wishes.out is not None:
        wishes.out.mkdir(parents=True, exist_ok=True)
        for figure in FIGURES:
            path = wishes.out / f"states-{figure}.svg"
            write_output(path, diagram(states, figure))


def _values(changes: Sequence[str]) -> dict[str, Value]:
    pairs = (change.partition("=") for change in changes)
    return {name.strip(): _value(text.strip()) for name, _, text in pairs}


def _value(text: str) -> Value:
    """Return a value as TOML would read it: a number, true or false, else a word."""
    if text in {"true", "false"}:
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


if __name__ == "__main__":
    main()
