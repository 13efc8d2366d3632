"""The table of real systems: its studies, its load program, and what is stored of it."""

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benches.real_systems.__main__ import compiled
from benches.real_systems.judge import PUBLISHED, publish, stored
from benches.real_systems.study import text
from benches.real_systems.systems import CASES, SYSTEMS, System
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_study_can_be_planned(name: str, tmp_path: Path) -> None:
    """Every word that a study, its services and their files use is known."""
    (tmp_path / "study.toml").write_text(text(SYSTEMS[name], 16, tmp_path, 1000.0), "utf-8")
    plan = make_plan(load_study(tmp_path), quick=False)
    assert [len(one.points) for one in plan.experiments] == [9, 4, 4]


def test_there_are_cases_enough() -> None:
    """At least sixty of at least ten products, each quiet and next to a neighbour."""
    assert len(CASES) >= 60
    assert len({system.product for system in SYSTEMS.values()}) >= 10
    assert set(stored()) == set(CASES)


def test_what_fits_are_compared_with_is_what_is_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The published figures come from the stored rows."""
    monkeypatch.setattr("benches.real_systems.judge.PUBLISHED", tmp_path / "published.json")
    publish(stored())
    assert (tmp_path / "published.json").read_text("utf-8") == PUBLISHED.read_text("utf-8")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the load program, which `rustc` compiles alone."""
    folder = tmp_path_factory.mktemp("programs")
    return compiled(folder, ("rustc",))


def burst(system: System, programs: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Measure a burst of 16 clients."""
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(text(system, 16, programs, None), "utf-8")
    headroom = str(Path(sys.prefix) / "bin" / "headroom")
    command = [headroom, "run", "--trust", "--quiet", str(folder)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "program", "at_most"),
    [
        ("postgres-hot", "", 500.0),
        ("mariadb-lock", "mariadbd", 500.0),
        ("nginx-gzip", "nginx", 1e5),
    ],
)
def test_the_load_program_speaks_to_real_servers(
    name: str, program: str, at_most: float, programs: Path, tmp_path: Path
) -> None:
    """2 ms under a lock let at most 500 operations through in a second, and not many fewer."""
    if program and shutil.which(program, path="/usr/sbin:/usr/bin") is None:
        pytest.skip(f"no {program}: install its Debian package")
    done = burst(SYSTEMS[name], programs, tmp_path)
    assert done.returncode == 0, done.stderr
    whole = json.loads((tmp_path / "results" / "results.json").read_text("utf-8"))
    rate = whole["experiments"][0]["points"][0]["estimates"]["throughput"]["value"]
    assert 0.1 * min(at_most, 500.0) <= rate <= 1.02 * at_most


@pytest.mark.deep
def test_an_answer_that_is_an_error_fails_the_run(programs: Path, tmp_path: Path) -> None:
    """A query of a table that is not there is no throughput."""
    broken = dataclasses.replace(SYSTEMS["postgres-select"], request="SELECT * FROM nowhere")
    done = burst(broken, programs, tmp_path)
    assert done.returncode != 0
    assert "nowhere" in done.stdout + done.stderr
