"""`headroom show`, `export`, `report` and `history` of results without a study file."""

import csv
import io
from pathlib import Path

from typer.testing import CliRunner

import headroom as hr
from headroom.cli.app import app


def command(*words: str) -> str:
    answer = CliRunner().invoke(app, words, env={"NO_COLOR": "1"})
    return answer.output if answer.exit_code == 0 else f"{answer.exit_code} {answer.output}"


def show(*words: str) -> str:
    return command("show", *words)


def test_the_results_of_a_study_that_python_built_are_shown(tmp_path: Path) -> None:
    load = hr.Experiment(
        "load", "mm1", factors={"utilization": [0.3, 0.5]}, replications=2, completions=300
    )
    hr.run(hr.Study("queue", [load], title="A queue", folder=tmp_path), progress=False)
    for name in ("", "results/results.json", "results/report.html"):
        assert "No limit found up to utilization" in show(str(tmp_path / name))
    assert "utilization = 0.3" in show(str(tmp_path), "--point", "utilization=0.3")
    assert "`--limit` needs the study file" in show(str(tmp_path), "--limit", "throughput<=1")
    assert show(str(tmp_path.parent)).startswith("2 ")


def test_a_folder_that_python_left_is_exported_reported_and_followed(tmp_path: Path) -> None:
    runs = hr.Experiment("runs", "mm1", factors={"utilization": [0.3, 0.5]}, completions=2000)
    result = hr.run(hr.Study("queue", [runs], folder=tmp_path), progress=False)
    rows = csv.DictReader(io.StringIO(command("export", str(tmp_path))))
    found = [(float(row["factor.utilization"]), float(row["value"])) for row in rows]
    assert found == [(row["utilization"], row["value"]) for row in result.to_rows()]
    page = tmp_path / "results" / "report.html"
    page.unlink()
    assert str(page) in command("report", str(tmp_path)).replace("\n", "")
    assert "<html" in page.read_text()
    assert "Throughput" in command("history", str(tmp_path))
    refused = command("export", str(tmp_path), "--what", "replications")
    assert "result.replications()" in " ".join(refused.split())
