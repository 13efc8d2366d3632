"""What `headroom run` has made is kept for `headroom show`, until the journal changes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.study_text import Head

STUDY = Head("programs", "Programs", "run").then("""\
system = {{ name = "command", argv = ["echo", {word}] }}
replications.count = 2
""")


FITTED = """
schema = 1
name = "loop"
title = "Fit and predict"
question = "Does the prediction hold?"
seed = 7
[[experiment]]
name = "sweep"
system = { name = "model", model = "mmc", completions = 2_000 }
fixed = { service_s = 0.013, servers = 3 }
factors.utilization = [0.2, 0.5, 0.7]
replications.count = 3
[[experiment]]
name = "predict"
system = { name = "model", model = "mmc", completions = 2_000 }
fixed = { servers = 3 }
factors.utilization = [0.85]
replications.count = 3
what_if.parts = "none"
[experiment.fit]
from = "sweep"
method = "least-squares"
[experiment.fit.options]
parameters = { service_s = [0.001, 0.1] }
metrics = ["throughput", "response_s_mean"]
"""


CALL = """
import sys
from headroom.analysis import analyse
from headroom.cli import main
if sys.argv[1] == "show":
    analyse.analyse = None
main()
"""


def called(script: Path, *words: str) -> str:
    """Return the output of a command in another process, as from a shell."""
    command = [sys.executable, str(script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.deep
@pytest.mark.parametrize("text", [FITTED, STUDY.format(word='"one"')])
def test_a_result_that_a_run_kept_is_shown_without_analysing_again(
    text: str, tmp_path: Path
) -> None:
    """Causes: the script that called `run` counted as a file of the study, but only there.

    A fitted experiment was kept under the values that it had before the run.
    """
    (tmp_path / "study.toml").write_text(text)
    script = tmp_path / "call.py"
    script.write_text(CALL)
    called(script, "run", str(tmp_path), "--quiet")
    shown = called(script, "show", str(tmp_path))
    assert "report.html" in shown.replace("\n", "").replace(" ", "")
