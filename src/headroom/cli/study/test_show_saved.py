"""`headroom show` of results without a study file."""

from pathlib import Path

from typer.testing import CliRunner

import headroom as hr
from headroom.cli.app import app


def show(*words: str) -> str:
    answer = CliRunner().invoke(app, ["show", *words], env={"NO_COLOR": "1"})
    return answer.output if answer.exit_code == 0 else f"{answer.exit_code} {answer.output}"


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
