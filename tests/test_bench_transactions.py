"""The machine in SimPy is the machine in Headroom, and the benchmark compares like with like."""

import math

import numpy as np
import pytest
from scipy import stats

from benches import transactions as part
from benches.harness import read_rows
from benches.peers.simpy_machine import Simulation
from headroom.experiment.protocol.system import Value
from headroom.simulation.runs.run import ready, run_ready
from headroom.systems.transactions.model import SPAX

pytestmark = pytest.mark.deep

SEEDS = range(1, 4)
SMALL: dict[str, Value] = {"processing_nodes": 2, "processors": 2, "terminals": 4}
MACHINES: dict[str, dict[str, Value]] = {
    "disks limit": SMALL,
    "packets limit": SMALL | {"cache_miss_rate": 0.0, "disks": 0, "io_probability": 1.0},
    "packet by packet": SMALL | {"packet_trains": False},
    "clusters": SMALL
    | {"clusters": 2, "remote_payment_share": 1.0, "processors": 1, "terminals": 3},
    "nobody needs an I/O node": SMALL | {"io_probability": 0.0},
}


@pytest.mark.parametrize("name", MACHINES)
def test_simpy_and_headroom_give_the_same_throughput(name: str) -> None:
    """Two programs that share nothing but the numbers of the machine; Welch's test at 0.1%."""
    config = MACHINES[name]
    machine = SPAX.machine(**config)
    transactions = 5 * machine.terminal_count
    theirs = [Simulation(machine, seed).run(transactions) for seed in SEEDS]
    model = SPAX(**config, transactions_per_terminal=5)
    ours = [
        transactions / run_ready(ready(model), seed=seed).counters["simulated_s"]
        for seed in range(1, 31)
    ]
    found = stats.ttest_ind(theirs, ours, equal_var=False)
    assert found.pvalue > 0.001, (np.mean(theirs), np.mean(ours))
    assert np.mean(theirs) == pytest.approx(np.mean(ours), rel=0.1)


def test_simpy_and_headroom_come_to_as_many_stations() -> None:
    machine, transactions = SPAX.machine(**SMALL), 200
    peer = Simulation(machine, 1)
    peer.run(transactions)
    ours = run_ready(ready(SPAX(**SMALL)), seed=1, completions=transactions).counters["visits"]
    assert peer.visit_count == pytest.approx(ours, rel=0.1)


def test_speeds_and_answers_come_from_the_same_runs() -> None:
    asked: list[int] = []

    def simulated(seed: int) -> part.Outcome:
        asked.append(seed)
        return part.Outcome(transactions=10.0, tps=100.0 + seed)

    contender = part.Contender(simulated)
    assert [contender.work(), contender.work()] == [10.0, 10.0]
    assert [contender.answer(), contender.answer()] == [101.0, 102.0]
    assert asked == [1, 2]


def test_a_speed_case_is_followed_by_its_answers() -> None:
    """The second case of a pair needs the result of the first, so it must come right after it."""
    cases = part.cases()
    for number, case in enumerate(cases):
        if case.metric == part.ANSWER:
            assert cases[number - 1].name == case.name
            assert cases[number - 1].metric == part.RATE
            assert cases[number - 1].repeats == case.repeats
            assert cases[number - 1].unmeasured == case.unmeasured


def test_the_stored_shortcut_gives_the_answers_of_packet_by_packet() -> None:
    rows = [
        row
        for row in read_rows(part.RESULTS)
        if row.metric == part.ANSWER and row.peer == part.PACKETS
    ]
    assert {row.case for row in rows} == set(part.POINTS)
    assert all(math.isclose(row.ratio or 0.0, 1.0, rel_tol=0.02) for row in rows)


def test_the_stored_table_is_printed_without_measuring(capsys: pytest.CaptureFixture[str]) -> None:
    assert part.main(["--table"]) == 0
    said = capsys.readouterr().out
    assert all(title in said for title in part.POINTS)
    assert part.main([]) == 2
