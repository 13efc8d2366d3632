"""The storage engine from Python: tables that obey the operational laws, real files, and Ctrl-C."""

import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroom.analysis.run.operational_laws import check_laws
from headroom.analysis.run.windows import Window
from headroom.experiment.protocol.run import ResourceTable, Run
from headroom.systems.storage import native

MIB = 1 << 20


def measure(**changes: Any) -> dict[str, Any]:
    workload = {"kind": "micro", "block_bytes": 4096, **changes.pop("workload", {})}
    job = {"seed": 1, "target": {"kind": "nothing"}, "workload": workload, **changes}
    return native.run(job=json.dumps(job).encode())


@pytest.fixture(name="target")
def _target(tmp_path: Path) -> Iterator[dict[str, Any]]:
    path = tmp_path / "target"
    path.write_bytes(os.urandom(MIB))
    descriptor = os.open(path, os.O_RDWR)
    yield {"kind": "files", "files": [{"fd": descriptor, "bytes": MIB}]}
    os.close(descriptor)


def run_of(measured: Mapping[str, Any]) -> Run:
    snapshots = measured["snapshots"]

    def table(kind: Any, rows: Mapping[str, Any]) -> ResourceTable:
        return ResourceTable(
            kind=kind,
            names=tuple(rows["names"]),
            capacity=rows["capacity"],
            columns=rows["columns"],
        )

    tables = (table("class", snapshots["classes"]), table("station", snapshots["stations"]))
    return Run(snapshot_times_s=snapshots["times_s"], resources=tables)


def _whole(run: Run) -> Window:
    return Window(run=run, first=-1, start_s=0.0, end_s=float(run.snapshot_times_s[-1]))


@pytest.mark.parametrize("interface", ["io_uring", "threads"])
@pytest.mark.parametrize("load", [{"depth": 4}, {"rate_per_s": 50_000.0}], ids=str)
def test_every_run_obeys_the_operational_laws(
    target: dict[str, Any], interface: str, load: dict[str, Any]
) -> None:
    measured = measure(
        target=target,
        interface=interface,
        workload={**load, "read_share": 0.5},
        stop={"requests": 2000},
        sync={"every": 100, "kind": "fdatasync"},
    )
    report = check_laws(_whole(run_of(measured)))
    assert report.faults == ()
    assert {(gap.kind, gap.name) for gap in report.gaps} >= {
        ("system", ""),
        ("class", "read"),
        ("station", "device"),
    }


@pytest.mark.parametrize("interface", ["io_uring", "threads"])
def test_histograms_count_each_success_once_and_lie_between_the_extremes(interface: str) -> None:
    measured = measure(interface=interface, workload={"depth": 2}, stop={"requests": 5000})
    total = measured["classes"]["read"]
    assert total["completion_count"] == 5000
    for quantity in ("response_s", "service_s"):
        table = measured["histograms"][quantity]["read"]
        assert table["counts"].sum() == 5000
        assert table["bin_low"][0] <= total[f"{quantity}_min"] < table["bin_high"][0]
        assert table["bin_low"][-1] <= total[f"{quantity}_max"] < table["bin_high"][-1]
    series = measured["series"]["read"]
    assert np.all(np.diff(series["end_times_s"]) >= 0)


def test_a_pulse_waits_behind_itself_and_counts_from_its_due_time() -> None:
    """Known answer: of n requests at once, each served in s, the k-th responds after k s."""
    script = {"servers": 1, "read_s": [0.001]}
    measured = measure(
        target={"kind": "soft", "bytes": MIB, "script": script},
        workload={"rate_per_s": 100.0, "arrivals": {"pulses": {"count": 10}}},
        stop={"seconds": 1.0},
    )
    assert measured["classes"]["read"]["completion_count"] == 100
    responses = measured["histograms"]["response_s"]["read"]
    assert responses["totals"]["sums"].sum() == pytest.approx(100 * 0.001 * 11 / 2, rel=1e-4)
    assert measured["classes"]["read"]["response_s_max"] == pytest.approx(0.010, rel=1e-3)


def test_the_run_says_what_it_was_made_with_and_what_it_used() -> None:
    measured = measure(interface="threads", stop={"requests": 1000})
    assert measured["facts"] == {"interface": "threads", "threads": "1"}
    assert measured["counters"]["cpu_s"] > 0.0
    assert measured["stop_reason"] == "requests"
    assert measured["interrupt"] is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": {"kind": "files", "files": []}}, "no file"),
        ({"stop": {"seconds": -1.0}}, "stop.seconds"),
        ({"sync": {"every": 0, "kind": "fsync"}}, "sync.every"),
        ({"data": {"compressible_share": 2.0}}, "compressible_share"),
        ({"interface": "telepathy"}, "telepathy"),
        ({"workload": {"kind": "nonsense"}}, "nonsense"),
    ],
)
def test_a_job_that_cannot_be_is_refused_with_a_cure(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(native.StorageError) as refused:
        measure(**changes)
    message, cure = refused.value.args
    assert words in message
    assert cure


def test_ctrl_c_ends_a_run_and_keeps_what_was_measured() -> None:
    # The load has no end of its own: without the signal this test would not end.
    def handle(number: int, _frame: object) -> None:
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        measured = measure(workload={"rate_per_s": 2000.0})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert measured["stop_reason"] == "interrupted"
    assert isinstance(measured["interrupt"], KeyboardInterrupt)
    assert measured["classes"]["read"]["completion_count"] > 0
