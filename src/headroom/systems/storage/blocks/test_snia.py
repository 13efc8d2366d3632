"""Round-based tests of a solid-state device: the matrix, and ending when steady."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.system import Value
from headroom.systems.storage import measure
from headroom.systems.storage.blocks.conversion import LIMITS_CLOSED
from headroom.systems.storage.soft.soft_script import SoftScript
from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets.setup_table import StorageSetup, TargetTable
from headroom.systems.storage.workloads.snia_cells import MIXES, SIZES, Cell, cells_of
from tests.support.storage_sessions import config_of, session_of

MIB = 1 << 20


def _session(**table: Any) -> AbstractContextManager[StorageSystem]:
    return session_of(StorageSetup(targets={"one": TargetTable(**table)}))


def _config(system: StorageSystem, **given: Value) -> dict[str, Value]:
    plain: dict[str, Value] = {
        "target": "one",
        "workload": "snia_like",
        "seconds": 0.0,
        "snia_precondition": 0.0,
    }
    return config_of(system, **{**plain, **given})


def test_the_matrix_is_that_of_the_specification() -> None:
    """Published: seven mixes by eight sizes."""
    cells = cells_of({"snia_mixes": MIXES, "snia_sizes": SIZES})
    assert sorted({cell.read_percent for cell in cells}) == [0, 5, 35, 50, 65, 95, 100]
    kib = [cell / 1024 for cell in sorted({cell.block_bytes for cell in cells})]
    assert kib == [0.5, 4, 8, 16, 32, 64, 128, 1024]
    assert len(set(cells)) == len({cell.name for cell in cells}) == 56


@pytest.mark.deep
def test_all_cells_are_run_in_every_round_and_reported_each_as_a_class() -> None:
    """Oracle: a soft device that serves one at a time, reads in 1 ms and writes in 3 ms."""
    script = SoftScript(servers=1, read_s=[1e-3], write_s=[3e-3])
    with _session(kind="soft", bytes="4 MiB", script=script) as system:
        config = _config(system, requests=200, depth=2)
        run = system.run(config, seed=1)
        declared = {metric.name for metric in system.metrics(config)}
    cells = cells_of(config)
    assert run.is_sound
    assert run.notes == (LIMITS_CLOSED,)
    assert run.values["round_count"] == 5.0
    assert {f"class.{cell.name}.throughput" for cell in cells} <= run.values.keys()
    assert run.values.keys() <= declared
    for cell in (Cell(100, 4096), Cell(0, 4096), Cell(100, 1 << 20), Cell(0, 512)):
        per_s = 1000.0 if cell.read_percent else 1000.0 / 3.0
        own = f"class.{cell.name}"
        assert run.values[f"{own}.throughput"] == pytest.approx(per_s, rel=0.02)
        bytes_per_s = cell.block_bytes * run.values[f"{own}.throughput"]
        assert run.values[f"{own}.bytes_per_s"] == pytest.approx(bytes_per_s)
    # Between them by the share of each: 50% is 2 ms a request on average, to three deviations.
    mixed = run.values["class.r50-4KiB.throughput"]
    assert mixed == pytest.approx(500.0, rel=3 * 1e-3 / (1000**0.5 * 2e-3))
    counted = {histogram.metric: histogram.counts.sum() for histogram in run.histograms}
    for cell in cells:
        assert counted[f"class.{cell.name}.response_s"] == 5 * 200
    (series,) = run.series
    assert series.values == pytest.approx(np.full(5, 1000.0 / 3.0), rel=0.02)


def test_extremes_of_rounds_are_exact() -> None:
    script = SoftScript(servers=1, write_s=[*[1e-3] * 99, 7e-3])
    with _session(kind="soft", bytes="4 MiB", script=script) as system:
        config = _config(system, requests=1000, snia_mixes="0", snia_sizes="4 KiB")
        run = system.run(config, seed=1)
    (services,) = [
        histogram for histogram in run.histograms if histogram.metric == "class.r0-4KiB.service_s"
    ]
    assert services.totals is not None
    assert services.totals.minima[0] == pytest.approx(1e-3, rel=1e-9)
    assert services.totals.maxima[0] == pytest.approx(7e-3, rel=1e-9)
    assert services.totals.sums[0] == pytest.approx(5 * (990 * 1e-3 + 10 * 7e-3), rel=1e-9)


def test_rounds_end_when_they_are_steady_or_carry_the_fault(tmp_path: Path) -> None:
    with _session(kind="file", path="{memory}", bytes="2 MiB") as system:
        config = _config(
            system, requests=1500, snia_rounds=6, snia_precondition=2.0, snia_mixes="65, 0",
            snia_sizes="8 KiB, 4 KiB",
        )  # fmt: skip
        run = system.run(config, seed=1)
    (tracked,) = run.series
    assert len(tracked.values) == run.values["round_count"]
    assert 5 <= run.values["round_count"] <= 6
    is_steady = run.values["round_range_share"] <= 0.2 and run.values["round_slope_share"] <= 0.1
    assert run.is_sound is is_steady
    if not is_steady:
        assert "not steady after 6 rounds" in run.faults[0]
    for cell in cells_of(config):
        (histogram,) = [
            candidate
            for candidate in run.histograms
            if candidate.metric == f"class.{cell.name}.response_s"
        ]
        assert histogram.counts.sum() == 5 * 1500
        assert np.all(np.diff(histogram.bin_low) > 0)
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_gets_slower_is_never_steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault: each round is a tenth slower than the one before, which five rounds do not allow."""
    calls: list[float] = []

    def slower(job: dict[str, Any]) -> dict[str, Any]:
        calls.append(1e-3 * 1.1 ** len(calls))
        target = {**job["target"], "script": {"servers": 1, "write_s": [calls[-1]]}}
        return measure.run_job({**job, "target": target})

    monkeypatch.setattr("headroom.systems.storage.blocks.snia_run.run_job", slower)
    with _session(kind="soft", bytes="1 MiB") as system:
        config = _config(system, requests=50, snia_rounds=7, snia_mixes="0", snia_sizes="4 KiB")
        run = system.run(config, seed=1)
    assert len(calls) == run.values["round_count"] == 7.0
    assert "not steady after 7 rounds: the last 5 scatter by 38% (20% allowed)" in run.faults[0]
    (series,) = run.series
    assert series.values == pytest.approx(1.0 / np.array(calls), rel=1e-6)


def test_a_target_that_fails_in_a_cell_ends_the_rounds_with_what_was_measured() -> None:
    script = SoftScript(servers=1, read_s=[1e-3], write_s=[1e-3], vanishes_at_s=1.0)
    with _session(kind="soft", bytes="4 MiB", script=script) as system:
        config = _config(system, requests=2000, snia_sizes="4 KiB")
        run = system.run(config, seed=1)
    assert "the target failed" in run.faults[0]
    assert run.values["round_count"] == 1.0
    assert run.values["error_count"] >= 1.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"snia_mixes": "101"}, "'101'"),
        ({"snia_mixes": "half"}, "'half'"),
        ({"snia_mixes": "0, 0"}, "names a value twice"),
        ({"snia_mixes": ""}, "snia_mixes is ''"),
        ({"snia_sizes": "4 KiB,"}, "snia_sizes is"),
        ({"snia_sizes": "4 XB"}, "is not a size"),
        ({"snia_sizes": "1 GiB"}, "'1 GiB'"),
    ],
)
def test_a_matrix_that_cannot_be_is_refused(given: dict[str, Value], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        cells_of({"snia_mixes": MIXES, "snia_sizes": SIZES, **given})


def test_sizes_that_the_target_cannot_take_are_left_out_and_said_or_refused() -> None:
    with _session(kind="soft", bytes="512 KiB", script=SoftScript(servers=1)) as system:
        run = system.run(_config(system, requests=20), seed=1)
        assert any("left out of the matrix: 1048576 B" in remark for remark in run.remarks)
        assert "class.r0-1024KiB.throughput" not in run.values
        with pytest.raises(StudyError, match="cannot take: 1048576 B"):
            system.run(_config(system, requests=20, snia_sizes="1 MiB, 4 KiB"), seed=1)
