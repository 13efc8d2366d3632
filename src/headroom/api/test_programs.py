"""Programs that use the front: scripts without a guard, Ctrl-C, event loops, start-up."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import assert_type

import pytest

import headroom as hr
from headroom.api import voice
from headroom.experiment.runner.progress import Pace, TextProgress

SCRIPT = """
import headroom as hr

def shop(rate: float = 50.0):
    model = hr.Model("shop", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("till"), hr.exponential(0.01))
    model.open_class("visits", visit, interarrival=hr.exponential(1 / rate))
    return model

found = hr.simulate(shop, rate=60.0, completions=LENGTH, replications=REPLICATIONS, processes=2)
print(found["throughput"].count)
"""


def script(length: int, replications: int) -> str:
    return SCRIPT.replace("LENGTH", str(length)).replace("REPLICATIONS", str(replications))


def running(group: int) -> list[str]:
    """Return the processes whose environment has the mark of a test."""
    mark = f"HEADROOM_TEST_MARK={group}".encode()
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.mark.deep
def test_a_module_that_simulates_when_it_is_imported_starts_no_workers_of_workers(
    tmp_path: Path,
) -> None:
    """Cause: each worker imported the module, and so started workers, without end."""
    # Should it go wrong again, the third generation stops it.
    guard = "import os\ndepth = int(os.environ.get('DEPTH', '0'))\nassert depth < 3\n"
    guard += "os.environ['DEPTH'] = str(depth + 1)\n"
    (tmp_path / "looping.py").write_text(guard + script(500, 2))
    done = subprocess.run(
        [sys.executable, "-c", "import looping"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "starts a run when it is imported" in done.stderr
    assert 'hint: put its calls under `if __name__ == "__main__":`' in done.stderr


@pytest.mark.deep
def test_a_script_without_a_guard_runs_once_and_leaves_no_process(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(script(500, 3))
    mark = os.getpid()
    environment = os.environ | {"HEADROOM_TEST_MARK": str(mark)}
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.stdout, done.stderr, done.returncode) == ("3\n", "", 0)
    assert not running(mark)


@pytest.mark.deep
def test_a_program_on_the_command_line_has_no_file_and_runs(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", script(500, 2)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("2\n", "", 0)
    assert not list(tmp_path.iterdir())


@pytest.mark.deep
def test_ctrl_c_ends_a_long_simulation_and_its_workers(tmp_path: Path) -> None:
    mark = os.getpid() + 1
    argv = [sys.executable, "-u", "-c", "print('ready')\n" + script(4_000_000, 400)]
    with subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"HEADROOM_TEST_MARK": str(mark)},
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        while len(running(mark)) < 3:  # the program, the server and a worker at least
            assert program.poll() is None
            time.sleep(0.02)
        for _ in range(2):
            program.send_signal(signal.SIGINT)
            os.sched_yield()
        said = program.communicate()[1]
    assert program.returncode != 0
    assert "KeyboardInterrupt" in said
    assert not running(mark)


def test_a_running_event_loop_is_no_obstacle() -> None:
    async def cell() -> int:
        return hr.simulate("mm1", completions=200, replications=2, processes=1)["throughput"].count

    assert asyncio.run(cell()) == 2


def test_importing_the_front_loads_nothing_until_a_name_is_used() -> None:
    code = (
        "import sys, headroom as hr; light = 'numpy' not in sys.modules; "
        "hr.simulate; print(light, 'pandas' in sys.modules, 'altair' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False False\n"


def test_types_tell_a_reader_and_a_checker_what_comes_back() -> None:
    """`make test` checks these types strictly, as the programs of users are checked."""

    def queue(rate: float = 50.0) -> hr.Model:
        model = hr.Model("queue", time_unit="s")
        job = model.program("job")
        job.use(model.station("server"), hr.exponential(0.01))
        model.open_class("jobs", job, interarrival=hr.exponential(1 / rate))
        return model

    found = hr.simulate(queue, rate=[20.0, 40.0], completions=100, replications=2, processes=1)
    assert_type(found, hr.Sweep)
    assert_type(found.at(rate=20.0)["throughput"].value, float)
    assert_type(found.at(rate=20.0)["throughput"].low, float | None)
    assert_type(hr.solve(queue)["throughput"], float)


def test_progress_in_a_notebook_is_a_line_that_goes_away() -> None:
    lines: list[str] = []
    progress = TextProgress(lines.append, io.StringIO(), every_s=0.0)
    progress.start({"load": Pace(open_count=2, parallel=1)}, reused=1)
    progress.finish("load", wall_s=0.1, is_done=True)
    progress.finish("load", wall_s=0.1, is_done=False)
    progress.stop()
    progress.stop()
    assert lines == [
        "headroom: 2/3 replications, 1 reused, 0 s left",
        "headroom: 3/3 replications, 1 reused, 1 failed, 0 s left",
        "",
    ]


def test_quick_work_shows_no_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(voice, "in_notebook", lambda: True)
    monkeypatch.setattr(voice.CellLine, "show", lambda _, text: shown.append(text))
    hr.simulate("mm1", completions=100, replications=2, processes=1)
    assert shown == []
