"""The job script of the guide, with stand-ins for the two commands of Slurm that it needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.documents import ROOT, blocks
from tests.support.model_study import write_model_study

pytestmark = pytest.mark.deep

SRUN = """#!/bin/bash
count=$SLURM_NTASKS
while [[ $1 == --* ]]; do
  [[ $1 == --ntasks=* ]] && count=${1#--ntasks=}
  shift
done
trap 'kill $(jobs -p) 2>/dev/null' TERM
for _ in $(seq "$count"); do "$@" & done
wait
"""
SBCAST = """#!/bin/bash
[[ $1 == --force && -f $2 && $2 == "$3" ]]
"""


def job_script() -> str:
    page = ROOT / "docs" / "guides" / "run-on-a-cluster.md"
    (script,) = (one for one in blocks(page.read_text()) if one.language == "bash")
    return script.content


def test_the_job_script_runs_a_study_over_tls_and_leaves_nothing(tmp_path: Path) -> None:
    study = write_model_study(tmp_path / "study")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("srun", SRUN), ("sbcast", SBCAST)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / "job.sh").write_text(job_script())
    (tmp_path / "tmp").mkdir()
    environment = {
        **os.environ,
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_NNODES": "1",
        "SLURM_NTASKS": "2",
        "TMPDIR": str(tmp_path / "tmp"),
        "DASK_LOGGING__DISTRIBUTED": "critical",
    }
    ended = subprocess.run(
        ["bash", tmp_path / "job.sh", study],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "simulations run on tls://" in ended.stderr
    assert json.loads((study / "results" / "results.json").read_text())
    assert not list((tmp_path / "tmp").glob("tmp.*")), "the keys are removed"
