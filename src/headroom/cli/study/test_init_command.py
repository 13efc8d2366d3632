"""A new study runs as written; invalid machines and starters are rejected."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import ExitCode
from headroom.experiment.protocol.system import Modelled
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.shipped import shipped_names
from headroom.experiment.study.file.study_file import load_study
from headroom.simulation import model_data


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["server", "spax"])
def test_a_machine_that_is_like_another_says_only_what_differs(name: str) -> None:
    answer = CliRunner().invoke(app, ["init", "mine", "--like", name])
    assert answer.exit_code == 0, answer.stderr
    lines = Path("mine/machine.toml").read_text().splitlines()
    said = [line for line in lines if line and not line.startswith(("#", "["))]
    assert said == [f'like = "{name}"']
    planned = CliRunner().invoke(app, ["run", "mine", "--dry-run"])
    assert planned.exit_code == 0, planned.stderr
    assert "the points are known once the study has run" in planned.stderr


@pytest.mark.deep
def test_the_machine_of_the_starter_is_spax_by_both_ways() -> None:
    """So what a test of its answer shows is true of the variant as well."""
    models = []
    for folder, *words in (("one",), ("two", "--like", "spax")):
        CliRunner().invoke(app, ["init", folder, "--system", "machine", *words])
        (experiment,) = make_plan(load_study(Path(folder)), quick=True).experiments
        assert isinstance(experiment.system, Modelled)
        models.append(
            [model_data(experiment.system.model(point.config)) for point in experiment.points]
        )
    assert models[0] == models[1]
    assert Path("one/study.toml").read_bytes() == Path("two/study.toml").read_bytes()


def test_the_numbers_of_the_example_are_ones_of_a_machine() -> None:
    """What is commented out must be right once it is not."""
    CliRunner().invoke(app, ["init", "mine", "--like", "server"])
    path = Path("mine/machine.toml")
    path.write_text(path.read_text().replace("# processor_mhz", "processor_mhz"))
    path.write_text(path.read_text().replace("# terminals", "terminals"))
    answer = CliRunner().invoke(app, ["model", "show", "mine/model.py"])
    assert answer.exit_code == 0, answer.stderr
    assert "processor_mhz = 3500 MHz" in answer.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--like", "serve"), "unknown machine 'serve'"),
        (("--like", "spax", "--system", "storage"), "belongs to --system machine, not storage"),
    ],
)
def test_what_a_machine_cannot_be_like_is_refused(words: tuple[str, ...], why: str) -> None:
    answer = CliRunner().invoke(app, ["init", "mine", *words])
    assert answer.exit_code == 2
    assert why in " ".join(answer.stderr.split())
    assert not Path("mine").exists()


_JOB = """
[global]
directory={folder}
size=1m
direct=1
[reads]
rw=randread
rate_iops=400
rate_process=poisson
runtime={seconds}
time_based
"""


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_job_of_fio_and_its_study_do_the_same(tmp_path: Path) -> None:
    """Oracle: fio itself, asked for a rate that both must reach."""
    disk, study = tmp_path / "disk", tmp_path / "study"
    disk.mkdir()
    job = tmp_path / "reads.fio"
    job.write_text(_JOB.format(folder=disk, seconds=2))
    argv = ["fio", "--output-format=json", str(job)]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    by_fio = json.loads(said[said.index("{") :])["jobs"][0]["read"]["iops"]
    written = CliRunner().invoke(app, ["init", str(study), "--from", str(job)])
    assert written.exit_code == ExitCode.DONE, written.output
    ran = CliRunner().invoke(
        app, ["run", str(study), "--json", "--set", "experiment.replications.count=2"]
    )
    (point,) = json.loads(ran.stdout)["content"]["experiments"][0]["points"]
    assert point["estimates"]["throughput"]["value"] == pytest.approx(by_fio, rel=0.3)


def test_a_refused_job_file_makes_no_folder(tmp_path: Path) -> None:
    job = tmp_path / "a.fio"
    job.write_text("[a]\nsize=1m\nthinktime=7\n")
    answer = CliRunner().invoke(app, ["init", str(tmp_path / "study"), "--from", str(job)])
    assert answer.exit_code == ExitCode.USAGE
    assert f"{job}:3: `thinktime=7`" in answer.stderr.replace("\n", "")
    assert not (tmp_path / "study").exists()


def test_from_goes_with_no_other_starter(tmp_path: Path) -> None:
    argv = ["init", str(tmp_path / "study"), "--from", "a.fio", "--system", "storage"]
    assert CliRunner().invoke(app, argv).exit_code == ExitCode.USAGE


@pytest.mark.deep
@pytest.mark.parametrize("name", shipped_names())
def test_a_copy_of_a_shipped_study_is_whole(name: str, tmp_path: Path) -> None:
    """Its files are found: the plan of a study loads its models. Tests and results stay behind."""
    copy = tmp_path / "mine"
    answer = CliRunner().invoke(app, ["init", str(copy), "--from", name])
    assert answer.exit_code == ExitCode.DONE, answer.output
    assert answer.stdout == f"wrote {copy}/study.toml; next: headroom run {copy}\n"
    assert make_plan(load_study(copy), quick=True).experiments
    left = {path.name for path in copy.rglob("*")}
    assert not [
        file for file in left if file.startswith("test_") or file in {"results", "pictures"}
    ]


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        ("disk_chek", "no study `disk_chek` ships", "did you mean 'disk_check'?"),
        ("nowhere.fio", "nowhere.fio", ""),
        ("jobs/nowhere", "nowhere", ""),
        (".", "this is a folder", "headroom init --list"),
    ],
)
def test_a_source_that_is_neither_study_nor_file_is_refused(
    source: str, message: str, hint: str
) -> None:
    answer = CliRunner().invoke(app, ["init", "mine", "--from", source])
    assert answer.exit_code == ExitCode.USAGE, answer.output
    assert message in " ".join(answer.stderr.split())
    assert hint in " ".join(answer.stderr.split())
    assert not Path("mine").exists()


def test_a_file_wins_over_a_study_of_its_name() -> None:
    Path("quickstart").write_text("[a]\nsize=1m\nthinktime=7\n")
    answer = CliRunner().invoke(app, ["init", "mine", "--from", "quickstart"])
    assert "`thinktime=7`" in answer.stderr


def test_the_list_of_studies_needs_no_folder() -> None:
    document = json.loads(CliRunner().invoke(app, ["init", "--list", "--json"]).stdout)
    assert document["kind"] == "shipped-studies"
    assert {"name": "quickstart", "title": "What should the web shop buy next?"} in document[
        "content"
    ]
    nothing = CliRunner().invoke(app, ["init"])
    assert nothing.exit_code == ExitCode.USAGE
    assert "the folder of the new study is missing" in nothing.stderr
    assert CliRunner().invoke(app, ["init", "mine", "--json"]).exit_code == ExitCode.USAGE


def test_a_folder_with_files_is_never_written_to() -> None:
    Path("mine").mkdir()
    Path("mine/note").write_text("")
    answer = CliRunner().invoke(app, ["init", "mine", "--from", "quickstart"])
    assert answer.exit_code == ExitCode.USAGE
    assert [path.name for path in Path("mine").iterdir()] == ["note"]
