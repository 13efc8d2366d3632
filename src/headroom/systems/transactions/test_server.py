"""A present-day machine: the same model with another file, and the expected bottleneck."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.simulation.runs.run import ready, run_ready
from headroom.systems.transactions import machine_model
from headroom.systems.transactions.tail import Tail
from headroom.systems.transactions.theory.demands import (
    Counts,
    counts,
    highest_throughput,
    mean_counts,
)
from headroom.systems.transactions.workload.tpcc import Kind
from tests.support.study_text import Head

SERVER = machine_model("server")


def tail(**changed: Any) -> Tail:
    return Tail.of(run_ready(ready(SERVER(transactions_per_terminal=20, **changed)), seed=6))


def work_ms(activity: Counts) -> float:
    """Return the processor time (ms) of the calls of a transaction, its requests left out."""
    machine = SERVER.machine()
    return machine.processor_ms(
        machine.commit_kiloinstructions
        + activity.calls * machine.call_kiloinstructions
        + activity.scans * machine.scan_kiloinstructions
    )


@pytest.mark.parametrize(
    ("kind", "measured_ms", "within"),
    [
        ("New-Order", 0.72, 0.25),
        ("Payment", 0.295, 0.1),
        ("Stock-Level", 1.0, 0.05),
        # The count of calls fits these least: a statement that touches many rows is one call there.
        ("Order-Status", 0.19, 0.75),
        ("Delivery", 1.5, 0.6),
    ],
)
def test_processor_times_are_near_those_measured(
    kind: Kind, measured_ms: float, within: float
) -> None:
    assert work_ms(counts(SERVER.machine())[kind]) == pytest.approx(measured_ms, rel=within)


def test_the_processor_time_of_the_mix_is_the_measured_one() -> None:
    assert work_ms(mean_counts(SERVER.machine())) == pytest.approx(0.54, rel=0.03)


def test_32_cores_pass_some_ten_thousand_transactions_and_are_the_limit() -> None:
    highest, row = highest_throughput(SERVER.machine())
    outcome = tail()
    assert row == "processor"
    assert 3e4 < outcome.throughput < 1e5
    assert outcome.throughput == pytest.approx(highest, rel=0.04)
    assert outcome.utilization("processor") > 0.98
    assert 0.001 < outcome.response_s < 0.02


@pytest.mark.parametrize(
    ("changed", "limit"),
    [
        (
            {"buffer_mb": 0.0, "io_probability": 1.0, "io_nodes": 1, "write_back_share": 0.0},
            "io switch port in",
        ),
        ({"buffer_mb": 0.0, "io_probability": 1.0, "disks": 1, "disk_parallelism": 4}, "disk"),
        ({"buffer_mb": 0.0, "io_probability": 1.0, "io_processors": 1}, "io processor"),
        ({"processor_mhz": 1e5, "io_processors": 2}, "communication processor"),
    ],
)
def test_another_bottleneck_appears_where_one_expects_it(
    changed: dict[str, Any], limit: str
) -> None:
    highest, row = highest_throughput(SERVER.machine(**changed))
    outcome = tail(**changed)
    assert row == limit
    assert outcome.utilization(limit) > 0.93
    assert 0.9 * highest < outcome.throughput < 1.02 * highest


@pytest.mark.deep
def test_racks_are_joined_by_a_level_of_switches() -> None:
    outcome = tail(clusters=2)
    assert outcome.throughput == pytest.approx(2 * tail().throughput, rel=0.04)
    assert outcome.gain(outcome.result.stations, "switch up", "completion_count") > 0


@pytest.mark.deep
def test_every_report_of_the_server_says_how_far_off_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(
        Head("mine", "A server", "load").then("""\
system = { name = "model", model = "server" }
replications = { count = 2 }
fixed = { processing_nodes = 1, processors = 2, terminals = 5, transactions_per_terminal = 100 }
factors.io_nodes = [1, 2]
""")
    )
    answer = CliRunner().invoke(app, ["run", ".", "--quiet", "--all"], env={"COLUMNS": "200"})
    assert "41% more at 16" in answer.stdout
    assert "41% more at 16" in (tmp_path / "results/report.html").read_text()
