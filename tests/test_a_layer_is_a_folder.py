"""A third-party layer: one folder with both columns, a starter, a command and a reader.

It is installed like a package, by a folder of metadata that names its entry points, and used only
from the command line.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headroom.errors import ExitCode

SAMPLES = Path(__file__).parent / "data" / "audit" / "sound"
LAYER = '''
"""A toy layer: a cup of water that cools down."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Self

import msgspec
import typer

from headroom.audit.readers.format import Format
from headroom.audit.result import Result, Stated
from headroom.experiment.protocol.declared import Declared, FromDeclaration
from headroom.experiment.protocol.finding import Finding
from headroom.experiment.protocol.reference import Reference
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.section import Section, SectionPoint, StackedBars
from headroom.experiment.protocol.starters import Starter
from headroom.experiment.protocol.system import Column, Metric, Value
from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[experiment.system] of the toy."""

    cups: int = 1


class Stirring(Declared, frozen=True, kw_only=True):
    """What is done to a cup."""

    turns: Annotated[int, parameter(low=1, source="ours")] = 1
    """Turns of the spoon"""


class Toy(FromDeclaration):
    """The measured column."""

    name: ClassVar[str] = "toy"
    column: ClassVar[Column] = Column.MEASURE
    setup_type: ClassVar[type[msgspec.Struct]] = Setup
    declared: ClassVar[type[Declared]] = Stirring

    def __init__(self, cups: int) -> None:
        self.cups = cups

    @classmethod
    def load(cls, setup: msgspec.Struct, *, base: Path) -> Self:
        assert isinstance(setup, Setup)
        return cls(setup.cups)

    def metrics(self, config: Mapping[str, Value]) -> tuple[Metric, ...]:
        return (Metric(name="stirred", unit="1", better="high", description="Turns."),)

    def fingerprint(self, config: Mapping[str, Value]) -> str:
        return f"{self.cups} {config}"

    def sections(self, points: Sequence[SectionPoint]) -> Sequence[Section]:
        """Two sections, of which one cannot be drawn."""
        bars = StackedBars(
            title="Turns", bars=[point.label for point in points], parts=["stirred"],
            values=[[point.estimates["stirred"]] for point in points], metric="stirred", unit="1",
        )
        return [bars, msgspec.structs.replace(bars, title="Wrong", parts=[])]

    def run(self, config: Mapping[str, Value], *, seed: int) -> Run:
        time.sleep(0.001)
        return Run(values={"stirred": float(self.cups * Stirring.of(config).turns)})


def cooling(
    *, servers: Annotated[int, parameter(unit="1", low=1, source="assumed")] = 1
) -> Model:
    """The modelled column."""
    model = Model("cooling", time_unit="s")
    program = model.program("visit")
    program.use(model.station("table", servers=servers), exponential(1))
    model.open_class("cups", program, interarrival=exponential(2))
    return model


def stir(times: int = 3) -> None:
    """Stir the toy."""
    typer.echo("stir " * times)


def check() -> list[Finding]:
    """One finding."""
    return [Finding(check="kettle", state="cold", verdict="costs accuracy", effect="Tea.",
                    cure="boil it")]


def read_cups(text: str, source: str) -> list[Result]:
    """One result: cups a second, and how many are on the table."""
    rate, clients, mean = (float(word) for word in text.split()[1:])
    return [Result(tool="cups", source=source, name="table", clients=clients,
                   throughput=Stated(rate, 0.5), mean=Stated(mean, 0.005))]


FORMAT = Format(kind="text", expected="a line of cups", read=read_cups,
                fits=lambda text: text.startswith("cups "))
STARTER = Starter(folder=Path(__file__).with_name("starter"))
REFERENCE = Reference(example={"cups": 2}, title="Metrics of the toy")
'''
STUDY = """
schema = 1
name = "toy"
title = "A toy"
seed = 1

[[experiment]]
name = "measured"
factors = { turns = [1, 2] }
replications = { count = 8 }
[experiment.system]
name = "toy"
cups = 3

[[experiment]]
name = "modelled"
factors = { servers = [1, 2] }
replications = { count = 3 }
[experiment.system]
name = "model"
model = "cooling"
completions = 2000
"""
ENTRY_POINTS = """
[headroom.systems]
toy = toy_layer:Toy
[headroom.models]
cooling = toy_layer:cooling
[headroom.starters]
toy = toy_layer:STARTER
[headroom.commands]
stir = toy_layer:stir
[headroom.readers]
cups = toy_layer:FORMAT
cracked = toy_layer.cracked:FORMAT
study = toy_layer:STARTER
[headroom.checks]
kettle = toy_layer:check
[headroom.reference]
toy = toy_layer:REFERENCE
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of packages that contains the layer."""
    site = tmp_path_factory.mktemp("site")
    (site / "toy_layer" / "starter").mkdir(parents=True)
    (site / "toy_layer" / "__init__.py").write_text(LAYER)
    (site / "toy_layer" / "cracked.py").write_text("FORMAT = 1 / 0\n")
    (site / "toy_layer" / "starter" / "study.toml").write_text(STUDY)
    metadata = site / "toy_layer-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-layer\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return site


def _python(site: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv],
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=site,
        check=False,
        capture_output=True,
        text=True,
    )


def _headroom(site: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    answer = _python(site, "-m", "headroom", *argv)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer


@pytest.mark.deep
def test_its_starter_runs_in_both_columns(installed: Path) -> None:
    assert "toy" in _headroom(installed, "init", "--help").stdout
    _headroom(installed, "init", "mine", "--system", "toy")
    _headroom(installed, "run", "mine")
    results = json.loads((installed / "mine" / "results" / "results.json").read_text("utf-8"))
    measured, modelled = results["experiments"]
    assert (measured["column"], modelled["column"]) == ("measure", "model")
    stirred = [point["estimates"]["stirred"]["value"] for point in measured["points"]]
    assert stirred == [3.0, 6.0]
    assert len(modelled["points"]) == 2


@pytest.mark.deep
def test_its_check_is_one_of_the_doctor(installed: Path) -> None:
    said = _headroom(installed, "doctor").stdout
    assert "  kettle: cold\n    Tea.\n    hint: boil it\n" in said


@pytest.mark.deep
def test_its_section_is_in_the_results_and_one_that_cannot_be_drawn_says_why(
    installed: Path,
) -> None:
    results = json.loads((installed / "mine" / "results" / "results.json").read_text("utf-8"))
    measured = next(one for one in results["experiments"] if one["system"] == "toy")
    assert [one["title"] for one in measured["sections"]] == ["Turns"]
    (left_out,) = measured["sections_left_out"]
    assert left_out["title"] == "Wrong"
    assert "of 0 parts" in left_out["problem"]


@pytest.mark.deep
def test_its_system_and_its_model_are_listed(installed: Path) -> None:
    listed = _headroom(installed, "list").stdout
    assert "toy" in listed
    assert "cooling" in _headroom(installed, "model", "list").stdout


@pytest.mark.deep
def test_its_command_stands_in_the_help_and_runs(installed: Path) -> None:
    assert "Stir the toy." in _headroom(installed, "--help").stdout
    assert _headroom(installed, "stir", "--times", "2").stdout == "stir stir \n"


@pytest.mark.deep
def test_its_reader_is_used_by_audit_and_import(installed: Path) -> None:
    """Oracle: of 10 cups on the table for 0.2 s each, 50 leave a second; 100 cannot."""
    for name, rate in (("sound", 50), ("spoilt", 100)):
        (installed / name).write_text(f"cups {rate} 10 0.2")
    assert _headroom(installed, "audit", "sound").stdout.startswith("Possible: ")
    spoilt = _python(installed, "-m", "headroom", "audit", "spoilt", "--format", "cups")
    assert spoilt.returncode == ExitCode.CLAIMS_DIFFER
    assert "Not possible as stated: table: 100/s x 200 ms" in spoilt.stdout
    assert spoilt.stderr == ""
    _headroom(installed, "import", "sound", "--to", "cups")
    assert 'name = "cups"' in (installed / "cups" / "study.toml").read_text("utf-8")


@pytest.mark.deep
def test_a_broken_reader_is_named_and_leaves_the_others_alone(installed: Path) -> None:
    shutil.copy(SAMPLES / "wrk.txt", installed)
    said = _headroom(installed, "audit", "wrk.txt").stderr
    assert "note: the reader of results 'cracked' is registered as toy_layer.cracked:FORMAT" in said
    assert "cannot be imported: ZeroDivisionError: division by zero\n  hint: install" in said
    assert "'study' is registered as toy_layer:STARTER, which is not a Format" in said
    asked = _python(installed, "-m", "headroom", "audit", "wrk.txt", "--format", "cracked")
    assert asked.returncode == ExitCode.ENVIRONMENT
    assert "error: the reader of results 'cracked'" in asked.stderr


@pytest.mark.deep
def test_the_help_names_its_reader_without_loading_it(installed: Path) -> None:
    code = "import sys; from headroom.cli.app import app\n"
    code += "app(['audit', '--help'], standalone_mode=False); assert 'toy_layer' not in sys.modules"
    answer = _python(installed, "-c", code)
    assert answer.returncode == 0, answer.stderr
    assert {"cups", "fio-log"} <= set(re.findall(r"[\w-]+", answer.stdout))


@pytest.mark.deep
def test_the_reference_shows_it(installed: Path) -> None:
    root = Path(__file__).resolve().parent.parent
    code = f"import sys; sys.path.insert(0, {str(root)!r})\n"
    code += "from headroom.reference.systems import systems; print(systems())"
    answer = _python(installed, "-c", code)
    assert answer.returncode == 0, answer.stderr
    assert "## `toy` (column: measure)" in answer.stdout
    assert "### Metrics of the toy" in answer.stdout
    assert "`stirred`" in answer.stdout
    assert "### Registered model `cooling`" in answer.stdout


def test_nothing_outside_a_layer_names_storage() -> None:
    """A name in code; texts for users, and measurements elsewhere, may name it."""
    root = Path(__file__).resolve().parent.parent
    outside = [*(root / "src" / "headroom").rglob("*.py"), *(root / "scripts").rglob("*.py")]
    outside += [root / "studies" / "conftest.py", *(root / "bindings").rglob("*.rs")]
    found = [
        file
        for file in outside
        if "systems/storage" not in file.as_posix()
        and any(
            name in file.read_text(encoding="utf-8")
            for name in ("systems.storage", "systems::storage", 'name == "storage"')
        )
        and not file.name.startswith("test_")
    ]
    assert found == []
