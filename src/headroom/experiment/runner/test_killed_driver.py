"""A driver killed with SIGKILL loses no finished replication; a rerun gives the same results."""

import json
import os
import random
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headroom.experiment.conftest import HEADER
from headroom.experiment.journal.journal import Journal
from headroom.experiment.journal.journal_rows import run_of
from headroom.experiment.journal.run_codec import encode_run
from headroom.experiment.machine.machine_watch import PREFIX
from tests.support.study_sessions import Stage

STUDY = (
    HEADER
    + """
[[experiment]]
name = "model"
system = { name = "fake-model", observations = 200 }
factors = { users = [1, 2, 3], mode = ["plain", "faulty"] }
replications.count = 4

[[experiment]]
name = "open-ended"
system = { name = "fake-model" }
factors.users = [1, 2]
replications = { metric = "throughput", half_width = 0.1, minimum = 2, maximum = 12 }

[[experiment]]
name = "measure"
system = { name = "fake-measure", log = "log" }
factors.users = [1, 2, 3]
replications.count = 4
"""
)
TABLE = (
    "SELECT experiment, point_key, replication, seed, fingerprint, levels, state, error, run "
    "FROM replication ORDER BY experiment, point_key, replication, id"
)


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.study_sessions", str(folder)]
    return subprocess.Popen(
        [*command, *(str(argument) for argument in arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path, jobs: int = 2) -> dict[str, Any]:
    process = start(folder, jobs)
    stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    outcome: dict[str, Any] = json.loads(stdout)
    return outcome


def study(folder: Path, text: str = STUDY) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(text)
    return folder


def table(folder: Path) -> list[tuple[Any, ...]]:
    path = folder / "results" / "journal.sqlite"
    with Journal.open(path, create=False) as journal:
        return [(*head, without_machine(run)) for *head, run in journal._connection.execute(TABLE)]


def without_machine(encoded: bytes | None) -> bytes | None:
    """Return a run without what else happened on the machine, which no two runs share."""
    run = run_of(encoded)
    if run is None:
        return None
    own = {name: value for name, value in run.counters.items() if not name.startswith(PREFIX)}
    return encode_run(replace(run, counters=own))


def row_count(folder: Path) -> int:
    path = folder / "results" / "journal.sqlite"
    return len(table(folder)) if path.exists() and path.stat().st_size else 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    folder = study(tmp_path_factory.mktemp("undisturbed") / "study")
    outcome = finish(folder)
    assert outcome["failed"] == 0
    rows = table(folder)
    assert len(rows) == outcome["done"] > 40
    return rows


KILLS: tuple[tuple[int, Stage], ...] = (
    (1, "before"),
    (2, "during"),
    (2, "after"),
    (4, "during"),
    (2, "before"),
)


@pytest.mark.deep
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_driver_killed_around_commits_ends_with_the_same_table(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]], jobs: int
) -> None:
    """Fault: several kills in a row, within simulations and within measurements."""
    folder = study(tmp_path / "study")
    for number, stage in KILLS:
        before = row_count(folder)
        process = start(folder, jobs, number, stage)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert row_count(folder) >= before + number + (stage == "after")
    stored = row_count(folder)
    outcome = finish(folder, jobs)
    assert outcome["reused"] == stored
    assert outcome["reused"] + outcome["done"] == len(undisturbed)
    assert table(folder) == undisturbed


@pytest.mark.deep
def test_a_driver_killed_at_random_moments_ends_with_the_same_table(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]]
) -> None:
    """Fault: kills at any time, start-up and close included; rows never become fewer."""
    folder = study(tmp_path / "study")
    moments = random.Random(20)  # noqa: S311 - moments need no secrecy
    known = 0
    for _ in range(4):
        process = start(folder, 2)
        try:
            process.communicate(timeout=moments.uniform(0.3, 1.5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        assert row_count(folder) >= known
        known = row_count(folder)
    finish(folder)
    assert table(folder) == undisturbed


def logged(folder: Path, mode: str, kind: str) -> Path:
    """Return a study whose runs say that they have begun through a named pipe."""
    text = f"""{HEADER}
[[experiment]]
name = "slow"
system = {{ name = "{kind}", log = "log" }}
fixed.mode = "{mode}"
replications.count = 3
"""
    study(folder, text)
    os.mkfifo(folder / "log")
    return folder


def begun(folder: Path) -> int:
    """Wait until a run has begun; returns the process that runs it."""
    with (folder / "log").open() as log:
        return int(log.readline().split()[0])


def has_ended(process: int) -> bool:
    """Wait until a process that need not be a child has ended."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    ready, _, _ = select.select([descriptor], [], [], 60)
    os.close(descriptor)
    return bool(ready)


def test_workers_end_with_a_driver_that_was_killed(tmp_path: Path) -> None:
    folder = logged(tmp_path / "study", "hangs", "fake-model")
    driver = start(folder, 1)
    worker = begun(folder)
    assert worker != driver.pid
    driver.kill()
    driver.wait()
    try:
        assert has_ended(worker)
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
        driver.communicate()


@pytest.mark.deep
def test_a_driver_killed_within_a_measurement_runs_it_again(tmp_path: Path) -> None:
    folder = logged(tmp_path / "study", "hangs", "fake-measure")
    driver = start(folder, 1)
    assert begun(folder) == driver.pid
    driver.kill()
    driver.communicate()
    assert table(folder) == []
    (folder / "log").unlink()
    text = (folder / "study.toml").read_text().replace("hangs", "plain")
    (folder / "study.toml").write_text(text)
    assert finish(folder)["done"] == 3


def test_ctrl_c_once_finishes_and_saves_what_runs(tmp_path: Path) -> None:
    folder = logged(tmp_path / "study", "waits", "fake-measure")
    os.mkfifo(folder / "go")
    driver = start(folder, 1)
    begun(folder)
    driver.send_signal(signal.SIGINT)
    assert driver.stderr is not None
    assert driver.stderr.readline() == "\n"
    assert "press Ctrl-C again" in driver.stderr.readline()
    (folder / "go").write_text("")
    stdout, _ = driver.communicate()
    outcome = json.loads(stdout)
    assert (outcome["done"], outcome["remaining"], outcome["interrupted"]) == (1, 2, True)
    assert len(table(folder)) == 1


@pytest.mark.parametrize("kind", ["fake-model", "fake-measure"])
def test_ctrl_c_twice_stops_at_once_and_keeps_what_is_stored(tmp_path: Path, kind: str) -> None:
    folder = logged(tmp_path / "study", "hangs", kind)
    driver = start(folder, 1)
    runner = begun(folder)
    driver.send_signal(signal.SIGINT)
    assert driver.stderr is not None
    driver.stderr.readline()
    driver.send_signal(signal.SIGINT)
    stdout, _ = driver.communicate()
    outcome = json.loads(stdout)
    assert (outcome["done"], outcome["remaining"], outcome["interrupted"]) == (0, 3, True)
    assert has_ended(runner)


def test_sigterm_stops_at_once(tmp_path: Path) -> None:
    folder = logged(tmp_path / "study", "hangs", "fake-model")
    driver = start(folder, 1)
    worker = begun(folder)
    driver.terminate()
    stdout, _ = driver.communicate()
    assert json.loads(stdout)["interrupted"]
    assert has_ended(worker)
