"""Cached output of `show` is reused only while nothing has changed."""

import py_compile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headroom.cli import session
from headroom.cli.app import app
from tests.support.study_text import Head

STUDY = Head("shop", "A shop", "load").then("""\
system = { name = "model", file = "model.py", completions = 500 }
replications = { count = 2 }
factors.rate = [0.5, 1.0]
""")
MODEL = """
import os
from pathlib import Path
from typing import Annotated
from headroom.simulation import Model, exponential
from headroom.systems.model import parameter
import helper
{extra}

RATE = parameter(unit="1/s", low=0.1, high=9, source="assumed", description="Arrivals")

def build(*, rate: Annotated[float, RATE] = 1.0):
    service = float((Path(__file__).parent / "service.txt").read_text())
    model = Model("shop", time_unit="s")
    server = model.station("server", servers=helper.SERVERS)
    job = model.program("job")
    job.use(server, exponential(service * float(os.environ.get("SHOP_FACTOR", "1"))))
    model.open_class("jobs", job, interarrival=exponential(1.0 / rate))
    return model
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Other tests meet defects on purpose, and a process that has met one keeps nothing.
    monkeypatch.setattr("headroom.defects._met", [])
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "model.py").write_text(MODEL.format(extra=""))
    (tmp_path / "helper.py").write_text("SERVERS = 1\n")
    (tmp_path / "service.txt").write_text("0.5\n")
    # Files that changed just now are kept by nobody: let a second have passed.
    later = "headroom.experiment.machine.program_identity.time_ns"
    monkeypatch.setattr(later, lambda: time.time_ns() + 10**9)
    return tmp_path


def invoke(*words: str, width: str = "100") -> Result:
    environment = {"COLUMNS": width, "NO_COLOR": "1"}
    return CliRunner().invoke(app, [*words, "."], env=environment)


@pytest.fixture
def is_planned(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Return whether `show` plans the study, rather than printing what it kept."""
    plans: list[Path] = []
    whole = session.looked_at

    def counted(*words: object, **named: object) -> object:
        plans.append(Path())
        return whole(*words, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "looked_at", counted)

    def asked(*words: str, width: str = "100") -> bool:
        before = len(plans)
        assert invoke("show", *words, width=width).exit_code == 0
        return len(plans) > before

    return asked


def test_an_unchanged_study_is_shown_without_being_planned(
    study: Path, is_planned: Callable[..., bool]
) -> None:
    del study
    ran = invoke("run", "--quiet")
    assert ran.exit_code == 0, ran.stderr
    assert not is_planned()
    assert invoke("show").stdout == ran.stdout


def test_other_options_are_other_questions(study: Path, is_planned: Callable[..., bool]) -> None:
    invoke("run", "--quiet")
    assert is_planned("--limit", "response_s_mean<=2s")
    assert is_planned("--point", "rate=1.0")
    assert not is_planned("--point", "rate=1.0")
    assert is_planned("--all")
    assert not is_planned("--all")
    assert "n   Limit" in invoke("show", "--all").stdout
    assert "n   Limit" not in invoke("show").stdout
    assert is_planned(width="60")
    assert not is_planned(width="60")
    assert not is_planned()
    del study


def test_a_file_that_planning_read_is_read_again_when_it_changes(
    study: Path, is_planned: Callable[..., bool]
) -> None:
    invoke("run", "--quiet")
    assert not is_planned()
    for name in ("service.txt", "study.toml", "model.py", "helper.py"):
        (study / name).write_text((study / name).read_text() + "\n")
        assert is_planned(), name
        assert not is_planned(), name
    (study / "another.txt").write_text("a model may have looked for it")
    assert is_planned()


def test_a_compiled_module_of_another_folder_is_known_by_its_source(
    study: Path, is_planned: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = study.parent / f"{study.name}_library"
    library.mkdir()
    source = library / "elsewhere.py"
    source.write_text("SERVICE = 1\n")
    py_compile.compile(str(source))
    monkeypatch.syspath_prepend(library)
    (study / "model.py").write_text(MODEL.format(extra="import elsewhere"))
    invoke("run", "--quiet")
    assert not is_planned()
    source.write_text("SERVICE = 2\n")
    assert is_planned()


def test_a_changed_variable_is_noticed(
    study: Path, is_planned: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke("run", "--quiet")
    monkeypatch.setenv("SHOP_FACTOR", "2")
    assert is_planned()
    del study


def test_new_rows_are_noticed(study: Path, is_planned: Callable[..., bool]) -> None:
    invoke("run", "--quiet")
    invoke("run", "--quiet", "--seed", "7")
    assert is_planned()
    del study


def test_the_text_after_a_run_of_a_model_that_asks_others_is_not_kept(
    study: Path, is_planned: Callable[..., bool]
) -> None:
    extra = "import subprocess\nsubprocess.run(['true'], check=True)"
    (study / "model.py").write_text(MODEL.format(extra=extra))
    assert invoke("run", "--quiet").exit_code == 0
    assert is_planned()
    assert not is_planned(), "looking asks the journal alone"


def test_a_damaged_file_of_texts_is_passed_over(
    study: Path, is_planned: Callable[..., bool]
) -> None:
    invoke("run", "--quiet")
    kept = study / "results/screens.cache"
    content = bytearray(kept.read_bytes())
    content[-3] ^= 1
    kept.write_bytes(content)
    assert is_planned()
    assert not is_planned()


def test_measurements_are_looked_at_each_time(study: Path, is_planned: Callable[..., bool]) -> None:
    command = '{ name = "command", argv = ["true"] }'
    (study / "study.toml").write_text(
        STUDY.replace('{ name = "model", file = "model.py", completions = 500 }', command).replace(
            "factors.rate = [0.5, 1.0]", ""
        )
    )
    assert invoke("run", "--quiet").exit_code == 0
    assert is_planned()
    assert is_planned()
