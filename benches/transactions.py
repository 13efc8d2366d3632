"""The machine of Kim et al. under TPC-C: speed compared with SimPy, a shortcut, cost of size.

Four questions, each with the answers next to the times, because a fast simulation of a different
machine is worth nothing:

- the transactions and events per second of processor time, in Headroom and in SimPy for the same
  machine (`benches/peers/simpy_machine.py`);
- the time saved, and the effect on the answers, of moving the packets of a buffer through the
  switch as one;
- the cost of a transaction as the machine and its pages grow;
- the cost of building and checking the model, compared with a run.

``headroom run studies/spax_tpcc`` prints the total time of the paper's study. `python -m
benches.transactions --table` prints the table of `docs/reference/speed-transactions.md` from the
stored results, without measuring anything.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benches.harness import Case, Row, Work, aligned, figure, print_stored
from benches.peers import simpy_machine
from headroom.experiment.protocol.system import Value
from headroom.simulation import simulate
from headroom.systems.transactions.model import SPAX

RESULTS = Path(__file__).resolve().parent / "results" / "transactions.json"
RATE = "transactions per processor second"
ANSWER = "throughput of the machine"
EVENTS = "events per transaction"
VISITS = "station visits per transaction"
BUILD = "processor time"
PACKETS = "packet by packet"

PER_TERMINAL = 5
"""Transactions of a terminal in a run: short, for the sake of the peer. All start from an empty
machine, so all answers are those of the same stretch of time."""
OWN_RUNS = 8
"""Runs of Headroom whose mean is its answer."""
GROWTH_RUN = 10
"""Transactions of a terminal when Headroom is alone."""
CLUSTERS = (2, 4, 8, 16)
PAGES = (4096, 16384, 65536)

POINTS: dict[str, dict[str, Value]] = {
    "as in section 4.1 of the paper": {},
    "all pages cached, 40% I/O: packets limit": {
        "cache_miss_rate": 0.0,
        "disks": 0,
        "io_probability": 0.4,
    },
    "2 clusters, 20% of the lines remote": {"clusters": 2, "remote_line_share": 0.2},
}
"""Cases for the shortcut: in daily use, where packets limit, and between clusters."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of some runs: transactions done, and the throughput (1/s) of the machine."""

    transactions: float
    tps: float


@dataclass(slots=True)
class Contender:
    """A simulator, run after run, each with its own seed."""

    simulate: Callable[[int], Outcome]
    answers: list[float] = field(default_factory=list)
    seed: int = 0

    def work(self) -> float:
        """Simulate once more and return how many transactions were done."""
        self.seed += 1
        outcome = self.simulate(self.seed)
        self.answers.append(outcome.tps)
        return outcome.transactions

    def answer(self) -> float:
        """Return the throughput of the first run that was not yet returned."""
        return self.answers.pop(0)


def own(config: dict[str, Value], *, runs: int = 1, each: int = PER_TERMINAL) -> Contender:
    """Return Headroom as contender: `runs` simulations at a time, the model built before."""
    model = SPAX(**config, transactions_per_terminal=each)
    transactions = _transactions(config, each)

    def simulated(seed: int) -> Outcome:
        done = [simulate(model, seed=1000 * seed + run).counters for run in range(runs)]
        tps = [transactions / run["simulated_s"] for run in done]
        return Outcome(transactions * runs, sum(tps) / runs)

    return Contender(simulated)


def peer(seed: int) -> Outcome:
    """Simulate the machine with SimPy."""
    transactions = _transactions({})
    simulation = simpy_machine.Simulation(SPAX.machine(), seed)
    return Outcome(transactions, simulation.run(transactions))


def _transactions(config: dict[str, Value], each: int = PER_TERMINAL) -> int:
    machine = SPAX.machine(**config)
    return each * machine.terminal_count


def cases() -> list[Case]:
    """Return the comparisons of this part."""
    return [
        *beside_simpy(),
        made_of(),
        *(case for title, config in POINTS.items() for case in trains(title, config)),
        *growth("machine", "1 cluster", {}, {f"{n} clusters": {"clusters": n} for n in CLUSTERS}),
        *growth(
            "page", "1,024 B", {"page_bytes": 1024}, {f"{n:,} B": {"page_bytes": n} for n in PAGES}
        ),
        building(1),
        building(16),
    ]


def beside_simpy() -> list[Case]:
    """Return the cases of one cluster against SimPy: speed, then answers."""
    title = f"one cluster, runs of {_transactions({}):,} transactions"
    ours, theirs = own({}, runs=OWN_RUNS), Contender(peer)
    return _speed_and_answers(title, ours, {simpy_machine.NAME: theirs})


def trains(title: str, config: dict[str, Value]) -> list[Case]:
    """Return the cases of the shortcut against packet by packet, with the same seeds."""
    ours = own(config | {"packet_trains": True}, runs=OWN_RUNS)
    theirs = own(config | {"packet_trains": False}, runs=OWN_RUNS)
    return _speed_and_answers(title, ours, {PACKETS: theirs})


def _speed_and_answers(title: str, ours: Contender, theirs: dict[str, Contender]) -> list[Case]:
    return [
        Case(
            name=title,
            metric=RATE,
            unit="1/s",
            headroom=ours.work,
            peers={name: contender.work for name, contender in theirs.items()},
        ),
        Case(
            name=title,
            metric=ANSWER,
            unit="1/s",
            measure="returned",
            headroom=ours.answer,
            peers={name: contender.answer for name, contender in theirs.items()},
        ),
    ]


def made_of() -> Case:
    """Return the case that shows the make-up of a transaction of one cluster."""
    return Case(
        name="one cluster",
        metric=EVENTS,
        unit="1",
        measure="returned",
        headroom=_counted("events", {}),
        peers={VISITS: _counted("visits", {})},
        repeats=1,
        unmeasured=0,
    )


def _counted(counter: str, config: dict[str, Value]) -> Work:
    """Return a function that counts events or visits of a transaction."""

    def work() -> float:
        model = SPAX(**config, transactions_per_terminal=PER_TERMINAL)
        return float(simulate(model, seed=1).counters[counter]) / _transactions(config)

    return work


def growth(
    what: str, base: str, config: dict[str, Value], others: dict[str, dict[str, Value]]
) -> list[Case]:
    """Return the cases of a machine that grows: speed, and visits of a transaction."""
    return [
        Case(
            name=f"{what}: {base}",
            metric=RATE,
            unit="1/s",
            headroom=own(config, each=GROWTH_RUN).work,
            peers={name: own(larger, each=GROWTH_RUN).work for name, larger in others.items()},
        ),
        Case(
            name=f"{what}: {base}",
            metric=VISITS,
            unit="1",
            measure="returned",
            better="low",
            headroom=_counted("visits", config),
            peers={name: _counted("visits", larger) for name, larger in others.items()},
            repeats=1,
            unmeasured=0,
        ),
    ]


def building(clusters: int) -> Case:
    """Return the case of building, checking and compiling a model against a run of it."""
    config: dict[str, Value] = {"clusters": clusters}

    def build() -> float:
        return float(simulate(SPAX(**config), seed=1, completions=1).counters["events"])

    def run() -> float:
        model = SPAX(**config, transactions_per_terminal=GROWTH_RUN)
        return float(simulate(model, seed=1).counters["events"])

    stations = len(SPAX(**config).stations)
    return Case(
        name=f"model of {clusters} cluster{'s' if clusters > 1 else ''}, {stations} stations",
        metric=BUILD,
        unit="s",
        measure="cpu_s",
        headroom=build,
        peers={f"{_transactions(config, GROWTH_RUN):,} transactions": run},
    )


def shown(rows: list[Row]) -> str:
    """Return all rows as text and columns, under a description of the machine."""
    return "\n\n".join(
        [
            rows[0].machine,
            _simpy_table(rows),
            _trains_table(rows),
            *(_growth_table(rows, what) for what in ("machine", "page")),
            _building_table(rows),
        ]
    )


def _simpy_table(rows: list[Row]) -> str:
    rate, answer = _found(rows, RATE, "one cluster, "), _found(rows, ANSWER, "one cluster, ")
    parts = _found(rows, EVENTS, "")[0]
    events, visits = parts.headroom, parts.peer_value or 0.0
    own_rate = rate[0].headroom
    lines = [(rate[0].case, "Headroom", rate[0].peer, "Headroom is faster by")]
    peer_rate = rate[0].peer_value or 0.0
    lines += [
        ("  transactions/s", _whole(own_rate), _whole(peer_rate), _ratio(rate[0])),
        (
            "  million station visits/s",
            figure(own_rate * visits / 1e6),
            figure(peer_rate * visits / 1e6),
            "",
        ),
        ("  million events/s", figure(own_rate * events / 1e6), "", ""),
    ]
    table = aligned(lines)
    same = (
        f"  throughput of the machine: Headroom {figure(answer[0].headroom)}/s, {answer[0].peer} "
        f"{figure(answer[0].peer_value or 0.0)}/s, ratio {_ratio(answer[0])}"
    )
    made = f"  a transaction is {figure(events)} events and {figure(visits)} station visits"
    return f"{table}\n{same}\n{made}"


def _trains_table(rows: list[Row]) -> str:
    lines = [("packets of a buffer as one", "faster by", "TPS", PACKETS, "ratio of the answers")]
    for title in POINTS:
        speed = _found(rows, RATE, title)[0]
        answer = _found(rows, ANSWER, title)[0]
        lines.append(
            (
                f"  {title}",
                _ratio(speed),
                figure(answer.headroom),
                figure(answer.peer_value or 0.0),
                _ratio(answer, digits=4),
            )
        )
    return aligned(lines)


def _growth_table(rows: list[Row], what: str) -> str:
    rates, visits = _found(rows, RATE, f"{what}: "), _found(rows, VISITS, f"{what}: ")
    base = rates[0].case.partition(": ")[2]
    figures = [(base, rates[0].headroom, visits[0].headroom, "")]
    figures += [
        (rate.peer, rate.peer_value or 0.0, many.peer_value or 0.0, _ratio(rate))
        for rate, many in zip(rates, visits, strict=True)
    ]
    head = (what, "transactions/s", "visits of each", "million visits/s", f"{base} is faster by")
    lines = [
        (f"  {name}", _whole(rate), _whole(each), figure(rate * each / 1e6), ratio)
        for name, rate, each, ratio in figures
    ]
    return aligned([head, *lines])


def _building_table(rows: list[Row]) -> str:
    lines = [("build, check, compile", "s", "with a run of", "s", "times as long")]
    lines += [
        (
            f"  {row.case}",
            figure(row.headroom),
            row.peer,
            figure(row.peer_value or 0.0),
            _ratio(row),
        )
        for row in _found(rows, BUILD, "")
    ]
    return aligned(lines)


def _found(rows: list[Row], metric: str, case: str) -> list[Row]:
    return [row for row in rows if row.metric == metric and row.case.startswith(case)]


def _whole(value: float) -> str:
    """Return a count or a rate with three digits, without an exponent."""
    return figure(value) if value < 100 else f"{float(f'{value:.3g}'):,.0f}"  # noqa: PLR2004


def _ratio(row: Row, *, digits: int = 3) -> str:
    """Return the ratio of a row with its range."""
    low, high = row.ratio_range or (0.0, 0.0)
    return "{} ({} to {})".format(
        *(f"{number:#.{digits}g}".rstrip(".") for number in (row.ratio or 0.0, low, high))
    )


def main(arguments: list[str]) -> int:
    """Print the stored table."""
    return print_stored(RESULTS, shown, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
