"""`headroom check-disk` runs what the disks allow, and keeps the results where it reports."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headroom.cli.app import app
from headroom.errors import ExitCode
from headroom.experiment.study.file.shipped import shipped_study


def check_disk(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["check-disk", *map(str, words)])


def planned(*words: str | Path) -> list[dict[str, Any]]:
    """Return the points of a plan."""
    done = check_disk(*words, "--quick", "--dry-run", "--json")
    assert done.exit_code == ExitCode.DONE, done.stderr
    points: list[dict[str, Any]] = json.loads(done.stdout)["content"]
    return points


def written_study(folder: Path, name: str) -> dict[str, Any]:
    return tomllib.loads((folder / name / "study.toml").read_text("utf-8"))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of the user, as large as the quick variant needs."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(96 << 20)
    return path


def test_a_folder_is_asked_everything(tmp_path: Path, disk: Path) -> None:
    experiments = {point["experiment"] for point in planned(disk)}
    (folder,) = tmp_path.glob("disk-check-*-disk")
    study = tomllib.loads((shipped_study("disk_check") / "study.toml").read_text("utf-8"))
    assert experiments == {experiment["name"] for experiment in study["experiment"]}
    assert "ask" not in written_study(tmp_path, folder.name)
    table = written_study(tmp_path, folder.name)["experiment"][0]["system"]["targets"]["device"]
    assert table == {"kind": "file", "path": str(disk), "bytes": "1 GiB"}


def test_a_file_that_is_there_is_only_read_unless_its_words_are_typed(
    image: Path,
) -> None:
    reading = planned(image, "--into", "out")
    assert reading
    assert {word for point in reading for word in point["confirm"]} == set()
    shares = {point["levels"].get("read_share", 1.0) for point in reading}
    assert shares == {1.0}
    words = f"{image} {96 << 20}"
    writing = planned(image, "--into", "out", "--overwrite", words)
    assert {word for point in writing for word in point["confirm"]} == {words}
    assert {"durable", "steady"} <= {point["experiment"] for point in writing}


def test_without_words_the_ones_to_type_are_said(image: Path) -> None:
    done = check_disk(image, "--quick", "--dry-run")
    assert f'--overwrite "{image} {96 << 20}"' in done.stderr
    assert "left out: mixed, durable" in done.stderr


def test_wrong_words_write_nothing(image: Path) -> None:
    before = image.stat().st_mtime_ns
    done = check_disk(image, "--quick", "--overwrite", f"{image} 1")
    assert done.exit_code == ExitCode.ENVIRONMENT
    assert image.stat().st_mtime_ns == before


@pytest.mark.deep
def test_two_disks_are_compared_on_one_page_and_a_second_call_reuses(
    tmp_path: Path, disk: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first = check_disk(disk, other, "--quick", "--only", "reference", "--only", "durable", "--json")
    (page,) = tmp_path.glob("disk-check-*/results/quick/report.html")
    assert page.parents[2].name in first.stderr
    results = {
        experiment["name"]: experiment
        for experiment in json.loads(first.stdout)["content"]["experiments"]
    }
    for name in ("reference", "durable"):
        rows = results[name]["compared"]["rows"]
        assert {row["level"] for row in rows} == {"other"}
        assert all(row["verdict"] for row in rows)
    assert all(
        point["levels"]["target"] in {"disk", "other"} for point in results["steady"]["points"]
    )
    claims = {claim["name"]: claim for claim in json.loads(first.stdout)["content"]["claims"]}
    assert {"reference-other", "depths-reads-other", "depths-writes-other"} <= claims.keys()
    assert claims["reference-other"]["verdict"] in {"holds", "differs", "undecided"}
    assert "other is at least as fast as disk" in page.read_text("utf-8")
    again = check_disk(disk, other, "--quick", "--only", "reference", "--only", "durable")
    assert "reused" in again.output
    assert [*disk.iterdir(), *other.iterdir()] == []


def test_what_another_program_wrote_is_never_replaced(tmp_path: Path, disk: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "study.toml").write_text("# mine\n", encoding="utf-8")
    done = check_disk(disk, "--into", "mine", "--quick", "--dry-run")
    assert done.exit_code == ExitCode.USAGE
    assert "--into" in done.stderr
    assert (mine / "study.toml").read_text("utf-8") == "# mine\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing", "there is no disk"), ("/dev/null", "neither a folder"), ("disk", "named twice")],
)
def test_what_is_no_disk_is_refused(tmp_path: Path, disk: Path, name: str, message: str) -> None:
    done = check_disk(disk, name)
    assert done.exit_code == ExitCode.USAGE
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == [disk]
