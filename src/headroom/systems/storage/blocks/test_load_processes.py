"""One load by several processes: what it adds up to, and what ends it."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.system import Value
from headroom.systems.storage.blocks import load_processes
from headroom.systems.storage.blocks.load_processes import descriptors, shares
from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets.setup_table import StorageSetup
from tests.support.storage_sessions import config_of, session_of


def setup(processes: int, **target: Any) -> StorageSetup:
    table = {"processes": processes, "targets": {"one": {"kind": "nothing", **target}}}
    return msgspec.convert(table, StorageSetup)


def config(system: StorageSystem, **given: Value) -> dict[str, Value]:
    return config_of(system, **{"seconds": 0.0, "requests": 3000, "depth": 6, **given})


def completions(system: StorageSystem, **given: Value) -> np.ndarray:
    run = system.run(config(system, **given), seed=1)
    assert run.is_sound
    (table,) = [table for table in run.resources if table.kind == "class"]
    counts = [one.counts.sum() for one in run.histograms if one.metric.endswith("response_s")]
    assert sum(counts) == table.columns["completion_count"][-1].sum()
    return np.asarray(table.columns["completion_count"][-1])


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_processes_share_the_requests_of_a_load(processes: int) -> None:
    """Conservation: together exactly as many as one would have made."""
    target = {"kind": "file", "path": "{memory}", "bytes": "8 MiB"}
    with session_of(setup(processes, **target)) as system:
        assert completions(system, read_share=0.5).sum() == 3000


def test_an_open_load_keeps_its_rate() -> None:
    with session_of(setup(2)) as system:
        given = config_of(system, load="open", rate=4000.0, seconds=1.0)
        run = system.run(given, seed=3)
        (table,) = [table for table in run.resources if table.kind == "class"]
        # Poisson arrivals: four standard deviations.
        assert abs(table.columns["arrival_count"][-1].sum() - 4000) < 4 * 4000**0.5


def test_shares_have_streams_of_their_own() -> None:
    job = {"seed": 5, "workload": {"kind": "micro", "depth": 7}, "stop": {"seconds": 1.0},
           "target": {"kind": "files", "files": [{"fd": 9}]}}  # fmt: skip
    parts = list(shares(job, 3))
    assert sum(one["workload"]["depth"] for one in parts) == 7
    assert len({one["seed"] for one in parts}) == 3
    assert parts[0]["seed"] == 5
    assert descriptors(parts[1]) == [9]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pattern": "sequential"}, "one sequence of requests"),
        ({"depth": 2}, "fewer than the processes"),
    ],
)
def test_a_load_that_cannot_be_shared_is_refused(given: dict[str, Value], message: str) -> None:
    with session_of(setup(3)) as system, pytest.raises(StudyError, match=message):
        system.run(config(system, **given), seed=1)


def test_another_workload_is_refused() -> None:
    message = "'spc1_like' is one sequence"
    with session_of(setup(3)) as system, pytest.raises(StudyError, match=message):
        system.fingerprint(config_of(system, workload="spc1_like"))


def test_one_process_leaves_fingerprints_as_they_were() -> None:
    one, other = (StorageSystem.load(setup(count), base=Path()) for count in (1, 2))
    plain = StorageSystem.load(StorageSetup(targets=setup(1).targets), base=Path())
    assert one.fingerprint(config(one)) == plain.fingerprint(config(plain))
    assert one.fingerprint(config(one)) != other.fingerprint(config(other))


@pytest.mark.deep
def test_a_killed_process_fails_the_replication_and_none_is_left() -> None:
    """Fault: one of two load processes is killed in the middle of the load."""
    with session_of(setup(2)) as system:
        before = children()

        def kill() -> None:
            deadline = time.monotonic() + 30.0
            while len(children() - before) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.5)
            os.kill(max(children() - before), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(EnvironmentUnfitError, match=r"load process [12] ended"):
            system.run(config(system, seconds=20.0, requests=0), seed=1)
        killer.join()
        assert children() == before


@pytest.mark.deep
def test_a_process_killed_before_the_word_to_begin_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cause: the word to begin, written to nobody, ended the run with a traceback."""
    expect = load_processes._expect

    def expect_and_kill(one: subprocess.Popen[bytes], number: int) -> None:
        expect(one, number)
        if number == 1:
            one.kill()
            one.wait()

    monkeypatch.setattr(load_processes, "_expect", expect_and_kill)
    with (
        session_of(setup(2)) as system,
        pytest.raises(EnvironmentUnfitError, match=r"load process 1 ended"),
    ):
        system.run(config(system, seconds=20.0, requests=0), seed=1)


def children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}
