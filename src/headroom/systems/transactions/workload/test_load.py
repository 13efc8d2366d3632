"""Sources of transactions: terminals with or without the standard's waiting, and arrivals."""

from typing import Any

import pytest

from headroom.simulation.runs.run import ready, run_ready
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.tail import Tail
from headroom.systems.transactions.theory.law import law
from headroom.systems.transactions.workload.load import think_time
from headroom.systems.transactions.workload.tpcc import DECK

SERVER, SPAX = machine_model("server"), machine_model("spax")
SMALL: dict[str, Any] = {"processing_nodes": 1, "processors": 4}


def tail(**changed: Any) -> Tail:
    return Tail.of(run_ready(ready(SERVER(**{**SMALL, **changed})), seed=2))


def test_the_offered_load_is_a_number_of_its_own() -> None:
    """Whatever the warehouses and the cores: what comes is done, in the shares of the deck."""
    for warehouses, processors in ((40, 4), (400, 16)):
        outcome = tail(
            arrivals_per_s=4000.0,
            warehouses=warehouses,
            processors=processors,
            transactions_in_all=20_000,
        )
        assert outcome.throughput == pytest.approx(4000, rel=0.05)
        assert outcome.utilization("processor") == pytest.approx(
            4000 * 0.55e-3 / processors, rel=0.1
        )
        done = {
            kind: outcome.gain(outcome.result.classes, kind, "completion_count") for kind in DECK
        }
        assert done["New-Order"] / sum(done.values()) == pytest.approx(10 / 23, rel=0.05)


def test_paced_terminals_ask_as_often_as_they_think() -> None:
    """1,000 terminals of the standard wait 20.7 s each: 48 a second, and no more."""
    outcome = tail(
        terminals_in_all=1000,
        warehouses=100,
        think_ms=20_696.0,
        think_law="standard",
        start_within_ms=20_000.0,
        transactions_in_all=5000,
    )
    assert outcome.throughput == pytest.approx(1000 / 20.696, rel=0.05)
    assert outcome.response_s < 0.01


def test_the_law_of_the_standard_has_its_mean_and_starts_with_the_keys() -> None:
    of_standard = think_time(SPAX.machine(think_ms=20_696.0, think_law="standard"))
    assert of_standard is not None
    assert of_standard.mean == pytest.approx(476e3 / 23, rel=1e-4)
    halved = think_time(SPAX.machine(think_ms=10_348.0, think_law="standard"))
    assert halved is not None
    assert halved.c2 == pytest.approx(of_standard.c2)
    assert think_time(SPAX.machine()) is None
    constant = think_time(SPAX.machine(think_ms=5.0, think_law="constant"))
    assert constant is not None
    assert (constant.mean, constant.c2) == (5.0, 0.0)


def test_terminals_do_not_all_begin_at_once() -> None:
    each_once: dict[str, Any] = {
        "transactions_per_terminal": 1,
        "think_ms": 1e6,
        "think_law": "constant",
    }
    model = SPAX(start_within_ms=60_000.0, terminals=4, **each_once)
    result = run_ready(ready(model), seed=3)
    assert 50 < result.snapshot_times_s[-1] < 70


def test_the_law_knows_what_is_offered() -> None:
    machine = SERVER.machine(arrivals_per_s=1000.0)
    assert law(machine)["throughput"] == 1000
    assert "response_s_mean" not in law(machine)
    paced = SERVER.machine(terminals_in_all=100, think_ms=1000.0)
    assert law(paced)["throughput"] == pytest.approx(100)
