"""Trims: holes in files, discards of block devices, with the confirmation that writing needs."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.system import Value
from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets.setup_table import StorageSetup, TargetTable
from tests.support.storage_sessions import config_of, session_of

MIB = 1 << 20
Attach = Callable[..., Path]
INTERFACES = pytest.mark.parametrize("interface", ["io_uring", "threads"])


def _session(**table: Any) -> AbstractContextManager[StorageSystem]:
    return session_of(StorageSetup(targets={"one": TargetTable(**table)}))


def _config(system: StorageSystem, **given: Value) -> dict[str, Value]:
    trims: dict[str, Value] = {
        "read_share": 0.0,
        "trim_share": 1.0,
        "pattern": "sequential",
        "block_bytes": 65536,
    }
    return config_of(system, **{"target": "one", "seconds": 0.0, **trims, **given})


@INTERFACES
def test_what_is_discarded_on_a_block_device_is_a_hole_of_what_lies_behind_it(
    tmp_path: Path, attach: Attach, interface: str
) -> None:
    """Half of a loop device is trimmed: that half of its file is released and reads as zeros."""
    image = tmp_path / "image"
    content = os.urandom(4 * MIB)
    image.write_bytes(content)
    os.sync()
    full = image.stat().st_blocks * 512
    device = attach(image)
    with _session(kind="block_device", path=str(device)) as system:
        config = _config(system, interface=interface, requests=32)
        with pytest.raises(EnvironmentUnfitError, match="would overwrite"):
            system.run(config, seed=1)
        assert image.read_bytes() == content
        system.confirm([f"{device} {4 * MIB}"])
        run = system.run(config, seed=1)
        declared = {metric.name for metric in system.metrics(config)}
    assert run.is_sound
    assert run.values["error_count"] == 0.0
    (classes,) = [table for table in run.resources if table.kind == "class"]
    assert classes.names == ("trim",)
    assert classes.columns["completion_count"][-1].sum() == 32
    assert "class.trim.throughput" in declared
    assert "class.write.throughput" not in declared
    os.sync()
    assert image.stat().st_blocks * 512 <= full - 2 * MIB
    assert image.read_bytes() == bytes(2 * MIB) + content[2 * MIB :]


def test_reads_writes_and_trims_share_a_load(tmp_path: Path) -> None:
    with _session(kind="file", path=str(tmp_path), bytes="4 MiB") as system:
        config = _config(
            system, read_share=0.5, trim_share=0.25, pattern="random", block_bytes=4096,
            requests=4000, direct="no",
        )  # fmt: skip
        run = system.run(config, seed=1)
    (classes,) = [table for table in run.resources if table.kind == "class"]
    done = dict(zip(classes.names, classes.columns["completion_count"][-1], strict=True))
    assert sum(done.values()) == 4000
    # Three standard deviations of a binomial count.
    for name, share in (("read", 0.5), ("write", 0.25), ("trim", 0.25)):
        assert abs(done[name] - 4000 * share) < 3 * (4000 * share * (1 - share)) ** 0.5


def test_shares_above_one_are_refused(tmp_path: Path) -> None:
    with _session(kind="file", path=str(tmp_path), bytes="4 MiB") as system:
        config = _config(system, read_share=0.8, trim_share=0.5, requests=10)
        with pytest.raises(StudyError, match="sum to more than 1"):
            system.run(config, seed=1)
