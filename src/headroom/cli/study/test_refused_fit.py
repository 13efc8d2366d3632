"""A study with an experiment that can never run: it answers from the others, and says why."""

import json
from pathlib import Path

from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import ExitCode
from tests.support.study_text import Head

STUDY = Head("shop", "How long does a page take?", "one_level").then("""\
system = { name = "model", model = "mmc", completions = 2_000 }
fixed = { service_s = 0.01, servers = 2 }
factors.utilization = [0.5]
replications.count = 2
[[experiment]]
name = "predicted"
system = { name = "model", model = "mmc", completions = 2_000 }
factors.utilization = [0.8, 0.9]
replications.count = 3
[experiment.fit]
from = "one_level"
method = "least-squares"
[experiment.fit.options]
parameters = { service_s = [0.001, 0.1], servers = [1, 8] }
metrics = ["throughput"]
""")
REASON = "experiment 'predicted' has no runs: "


def test_a_refused_fit_leaves_nothing_to_resume_and_the_rest_answers(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    for command in ("run", "run", "show"):
        said = CliRunner().invoke(app, [command, str(tmp_path)], env={"COLUMNS": "200"})
        text = " ".join(said.stdout.split())
        assert "No answer" not in text
        assert "resume" not in said.output
        assert REASON in text
        assert said.exit_code == (ExitCode.POINTS_FAILED if command == "run" else ExitCode.DONE)
    found = json.loads((tmp_path / "results" / "results.json").read_text())
    assert (found["is_complete"], found["done"], found["planned"]) == (True, 2, 2)
