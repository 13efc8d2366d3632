"""The observer sees what a whole process tree opens, and changes nothing of what it does."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headroom.recording.launching.launcher import Launch, Launcher, TimeLimitError, Usage
from headroom.recording.launching.observer import (
    NotObservedError,
    Report,
    next_tick_ns,
    observed,
    read_report,
    why_not,
)

Observe = Callable[..., tuple[Usage, Report]]
pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"nothing can be observed: {why_not()}")


@pytest.fixture
def observe(tmp_path: Path) -> Observe:
    """Return a function that runs a program in a folder of files a to f under the observer."""
    for name in "abcdef":
        (tmp_path / name).write_text(name)

    def run(*argv: str, time_limit_s: float = 60.0) -> tuple[Usage, Report]:
        launch = Launch(
            program=argv[0], argv=argv, environment=os.environ, folder=tmp_path,
            stdout=tmp_path / "stdout", stderr=tmp_path / "stderr", time_limit_s=time_limit_s,
        )  # fmt: skip
        with Launcher() as launcher:
            usage = launcher.run(observed(launch, tmp_path / "report"))
            return usage, read_report(tmp_path / "report")

    return run


def opened(report: Report, folder: Path) -> str:
    """Return the one-letter files of the folder that were there when they were opened, sorted."""
    return "".join(
        sorted(
            Path(path).name
            for path, (_, look) in report.paths.items()
            if Path(path).parent == folder and len(Path(path).name) == 1 and look is not None
        )
    )


WAYS = {
    "relative to the working folder": "open('a')",
    "relative to an open folder": "os.open('a', os.O_RDONLY, dir_fd=os.open('.', os.O_RDONLY))",
    "after a change of folder": "os.chdir('/'); os.chdir(d); open('a')",
    "in a thread": "t = threading.Thread(target=open, args=('a',)); t.start(); t.join()",
    "in a fork": "os.fork() or open('a'); os.wait() if os.getpid() == p else 0",
    "in a program that it spawns": "subprocess.run(['cat', 'a'])",
    "in a grandchild of another session": "subprocess.run(['setsid', '-w', 'sh', '-c', 'cat a'])",
    "for reading and writing": "open('a', 'r+')",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_seen_however_it_is_opened(observe: Observe, tmp_path: Path, way: str) -> None:
    head = "import os, subprocess, sys, threading; d, p = os.getcwd(), os.getpid(); "
    usage, report = observe(sys.executable, "-c", head + WAYS[way])
    assert usage.exit_code == 0
    assert opened(report, tmp_path) == "a"


def test_what_is_only_written_is_not_an_input(observe: Observe, tmp_path: Path) -> None:
    _, report = observe("/bin/sh", "-c", "echo > a; echo >> b; cat c > d; echo > g")
    assert opened(report, tmp_path) == "c"


def test_the_look_of_a_file_is_older_than_the_run(observe: Observe, tmp_path: Path) -> None:
    """What a run changes has a look of before, and times that are not older than its start."""
    size = (tmp_path / "a").stat().st_size
    since_ns = next_tick_ns()
    _, report = observe("/bin/sh", "-c", "cat a b; echo more >> a")
    _, look = report.paths[str(tmp_path / "a")]
    assert look is not None
    assert look.size == size
    assert look.touched_ns < since_ns <= (tmp_path / "a").stat().st_ctime_ns
    assert (tmp_path / "b").stat().st_ctime_ns < since_ns


def test_programs_loaders_folders_and_absent_files_are_seen(
    observe: Observe, tmp_path: Path
) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\ncat nothing\nls .\n")
    (tmp_path / "script").chmod(0o755)
    _, report = observe(str(tmp_path / "script"))
    programs = {Path(path).name for path, (kind, _) in report.paths.items() if kind == "x"}
    assert {"script", "cat", "ls", Path("/bin/sh").resolve().name} <= programs
    assert report.paths[str(tmp_path / "nothing")] == ("o", None)
    assert any(Path(path).name.startswith("ld") for path in report.paths)
    assert any(Path(path) == tmp_path for path in report.paths)


@pytest.mark.parametrize(("ending", "code"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_a_program_ends_as_it_would(observe: Observe, ending: str, code: int) -> None:
    assert observe("/bin/sh", "-c", ending)[0].exit_code == code


def test_signals_stops_and_groups_work_as_they_would(observe: Observe) -> None:
    script = (
        "trap 'exit 5' USR1; (sleep 0.05; kill -USR1 $$) & "
        "sh -c 'kill -STOP $$; exit 0' & child=$!; "
        "while kill -0 $child 2>/dev/null; do kill -CONT $child; done; wait; exit 1"
    )
    assert observe("/bin/sh", "-c", script)[0].exit_code == 5
    assert observe("/bin/sh", "-c", "trap 'exit 6' TERM; kill -TERM 0; exit 1")[0].exit_code == 6


def test_what_outlives_a_program_is_noted_and_killed(observe: Observe, tmp_path: Path) -> None:
    _, report = observe("/bin/sh", "-c", "sleep 600 & echo $! > pid")
    assert "l" in report.notes
    status = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/status")
    assert not status.exists() or "State:\tZ" in status.read_text()


def test_past_the_time_limit_nothing_is_left(observe: Observe, tmp_path: Path) -> None:
    with pytest.raises(TimeLimitError):
        observe("/bin/sh", "-c", "setsid sleep 600 & echo $! > pid; sleep 600", time_limit_s=1.0)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_program_that_does_not_start_is_reported(observe: Observe, tmp_path: Path) -> None:
    with pytest.raises(NotObservedError, match="No such file"):
        observe(str(tmp_path / "missing"))
