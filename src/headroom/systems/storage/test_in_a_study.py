"""Storage studies from the command line: another target, confirmations, leftovers of a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from headroom.recording.leftovers import PREFIX
from headroom.systems.storage.targets.places import memory_folder
from tests.support.study_text import Head

MIB = 1 << 20
LOOK_EVERY_S = 0.005
"""Pause between two looks at a state without an event; busy waiting takes a processor."""
STUDY = Head("disks", "Two targets", "load", seed=7).then("""\
fixed = {{ seconds = {seconds}, read_share = {read_share} }}
factors = {{ target = ["one", "two"] }}
responses = ["throughput", "response_s_mean"]
replications = {{ count = 2 }}
warm_up = {{ method = "none" }}  # a stall of a disk leaves 0.2 s without a steady state

[experiment.system]
name = "storage"
reserve = "1 MiB"
[experiment.system.targets.one]
kind = "file"
path = "{{memory}}"
bytes = "2 MiB"
[experiment.system.targets.two]
kind = "file"
path = "{place}"
bytes = "1 MiB"

[[claim]]
name = "memory-is-faster"
text = "Memory answers faster"
kind = "ordering"
experiment = "load"
metric = "response_s_mean"
factor = "target"
order = ["one", "two"]
""")


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    """Write the study with some of its values."""

    def written(*, seconds: float = 0.2, read_share: float = 1.0) -> Path:
        place, folder = tmp_path / "place", tmp_path / "study"
        for path in (place, folder):
            path.mkdir(exist_ok=True)
        text = STUDY.format(seconds=seconds, read_share=read_share, place=place)
        (folder / "study.toml").write_text(text)
        return folder

    return written


def _headroom(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-m", "headroom", *map(str, words)]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(argv, check=False, capture_output=True, text=True, env=environment)


def _points(folder: Path) -> list[dict[str, object]]:
    content = json.loads((folder / "results" / "results.json").read_text())
    points: list[dict[str, object]] = content["experiments"][0]["points"]
    return points


def _left(places: Sequence[Path]) -> list[Path]:
    return [left for place in places for left in place.glob(f"{PREFIX}*")]


@pytest.mark.deep
def test_a_study_of_two_real_targets_runs_to_its_claims_and_leaves_nothing(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    folder = study()
    before = _left([memory_folder()])
    answer = _headroom("run", folder, "--all")
    assert answer.returncode == 0, answer.stderr
    assert "removed after" in answer.stderr
    assert "memory-is-faster" in answer.stdout or "Memory answers faster" in answer.stdout
    for point in _points(folder):
        assert point["done"] == 2
        assert point["estimates"]["throughput"]["value"] > 0.0  # type: ignore[index]
    assert _left([tmp_path / "place"]) == []
    assert _left([memory_folder()]) == before
    content = json.loads((folder / "results" / "results.json").read_text())
    facts = content["experiments"][0]["facts"]
    assert "tool_threads_per_read_s" in facts
    assert "tmpfs" in facts["target one"]
    assert "what fio calls lat" in facts["service_s"]


def test_a_dry_run_says_what_is_made_and_written_and_makes_nothing(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    answer = _headroom("run", study(read_share=0.5), "--dry-run")
    assert answer.returncode == 0, answer.stderr
    assert "target two: writes files of 1.05 MB in" in answer.stdout
    assert "target two: writes for 0.2 s per run" in answer.stdout
    assert not (tmp_path / "study" / "results").exists()
    assert list((tmp_path / "place").iterdir()) == []


def test_a_dry_run_says_what_postmark_makes(study: Callable[..., Path], tmp_path: Path) -> None:
    file = study() / "study.toml"
    text = file.read_text().replace("seconds = 0.2, read_share = 1.0", 'workload = "postmark"')
    file.write_text(text.replace('kind = "file"', 'kind = "folder"'))
    answer = _headroom("run", file.parent, "--dry-run")
    assert answer.returncode == 0, answer.stderr
    # Twice the 500 files, each of at most 10,000 B.
    place = tmp_path / "place"
    assert f"makes 500 files and more in {place}, 10.0 MB at most at once" in answer.stdout
    assert list(place.iterdir()) == []


@pytest.mark.deep
def test_a_setting_is_another_target_with_rows_of_its_own(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    """The study stays unchanged; the rows of both targets stay in the journal."""
    folder = study()
    (tmp_path / "other").mkdir()
    setting = f"experiment.system.targets.two.path={tmp_path / 'other'}"
    assert _headroom("run", folder, "--quiet").returncode == 0
    changed = _headroom("run", folder, "--set", setting)
    assert changed.returncode == 0, changed.stderr
    assert "2 replications of earlier runs reused" in changed.stderr
    content = json.loads((folder / "results" / "results.json").read_text())
    assert f"--set {setting}" in content["command"]
    status = json.loads(_headroom("status", folder, "--set", setting, "--json").stdout)
    assert status["content"][0]["finished"] == 2
    again = _headroom("run", folder)
    assert "4 replications of earlier runs reused" in again.stderr


@pytest.mark.deep
def test_a_file_of_the_user_is_written_only_with_the_words_that_the_refusal_prints(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    folder = study(read_share=0.0)
    precious = tmp_path / "precious"
    precious.write_bytes(bytes(MIB))
    words: list[str | Path] = [
        "run",
        folder,
        "--set",
        f"experiment.system.targets.two.path={precious}",
    ]
    refused = _headroom(*words)
    assert refused.returncode == 5
    needed = f'--overwrite "{precious} {MIB}"'
    assert needed in refused.stderr
    assert precious.read_bytes() == bytes(MIB)
    assert needed in _headroom(*words, "--dry-run").stdout
    wrong = _headroom(*words, "--overwrite", f"{precious} {MIB - 1}")
    assert wrong.returncode == 5
    assert precious.read_bytes() == bytes(MIB)
    allowed = _headroom(*words, "--overwrite", f"{precious} {MIB}")
    assert allowed.returncode == 0, allowed.stderr
    assert precious.read_bytes() != bytes(MIB)
    assert precious.stat().st_size == MIB


def test_words_that_nothing_needs_are_refused(study: Callable[..., Path]) -> None:
    answer = _headroom("run", study(), "--overwrite", "/dev/sdz 1")
    assert answer.returncode == 2
    assert "names nothing that this run would overwrite" in answer.stderr


@pytest.mark.deep
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 130), (signal.SIGHUP, 130), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
)
def test_an_interrupt_removes_all_and_a_kill_is_cleaned_up_by_the_next_run(
    number: signal.Signals, code: int, study: Callable[..., Path], tmp_path: Path
) -> None:
    folder = study(seconds=60.0)
    place = tmp_path / "place"
    argv = [sys.executable, "-m", "headroom", "run", str(folder)]
    # Tests that run under nohup ignore SIGHUP, and so would the child.
    child = subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # noqa: PLW1509
    )
    memory = memory_folder()
    before = set(_left([place, memory]))
    while child.poll() is None and not _is_running(set(_left([place, memory])) - before):
        time.sleep(LOOK_EVERY_S)
    child.send_signal(number)
    if number == signal.SIGINT:
        # The kernel merges two signals that wait together: the answer to the first comes before the
        # second is sent.
        assert child.stderr is not None
        assert any("press Ctrl-C again" in line for line in child.stderr)
        child.send_signal(number)
    child.communicate()
    assert child.returncode in {code, 128 + number}
    status = json.loads(_headroom("status", folder, "--json").stdout)["content"][0]
    assert status["replications"] == 0, "it waited for the end of what was running"
    left = set(_left([place, memory])) - before
    if number != signal.SIGKILL:
        assert left == set()
        return
    assert left
    settings = ["--set", "experiment.fixed.seconds=0.1"]
    answer = _headroom("run", folder, *settings)
    assert answer.returncode == 0, answer.stderr
    assert set(_left([place, memory])) - before == set()


@pytest.mark.deep
def test_leftovers_are_removed_and_said_also_where_every_replication_is_reused(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    folder = study()
    assert _headroom("run", folder, "--quiet").returncode == 0
    place = tmp_path / "place"
    code = "import sys, pathlib; from headroom.recording.leftovers import make_folder;"
    code += "make_folder(pathlib.Path(sys.argv[1])); import os; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(place)], check=False)
    (left,) = place.glob(f"{PREFIX}*")
    answer = _headroom("run", folder, "--all")
    assert answer.returncode == 0, answer.stderr
    assert "4 replications of earlier runs reused" in answer.stderr
    assert f"removed {left}, which a run that was killed left behind" in answer.stderr
    assert not left.exists()


@pytest.mark.deep
def test_a_target_that_is_too_large_is_refused_before_anything_is_measured(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    setting = "experiment.system.targets.two.bytes=8000 TiB"
    answer = _headroom("run", study(), "--set", setting)
    assert answer.returncode == 5
    assert "are free on its file system" in answer.stderr
    assert "hint: make the target smaller" in answer.stderr
    assert list((tmp_path / "place").iterdir()) == []
    status = _headroom("status", tmp_path / "study", "--set", setting, "--json")
    assert json.loads(status.stdout)["content"][0]["replications"] == 0


def _is_running(folders: set[Path]) -> bool:
    """Return whether a file of a target is whole, so that the load begins or has begun."""
    sizes = [file.stat().st_size for folder in folders for file in folder.glob("data-*")]
    return any(size in {MIB, 2 * MIB} for size in sizes)
