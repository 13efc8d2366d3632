"""The machine from the user's point of view: in a study, at the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.study_text import Head

STUDY = Head("limits", "A machine at its limit", "machine", seed=5).then("""\
responses = ["throughput"]
system = {{ name = "model", file = "model.py", completions = {completions} }}
fixed = {{ processing_nodes = {{ value = 1, source = "assumed: small" }} }}
factors = {factors}
replications = {{ count = 3 }}

""")
MODEL = """
from headroom.systems.transactions import machine_model

build = machine_model("spax")
"""


def headroom(folder: Path, factors: str, *, completions: int = 800) -> tuple[int, str, str]:
    (folder / "model.py").write_text(MODEL)
    (folder / "study.toml").write_text(STUDY.format(factors=factors, completions=completions))
    ended = subprocess.run(
        [sys.executable, "-m", "headroom", "run", "--all", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.deep
def test_a_saturated_machine_is_reported_as_one(tmp_path: Path) -> None:
    code, told, _ = headroom(tmp_path, "{ disks = [1] }")
    assert code == 0
    assert 'Station "disk" is the bottleneck' in told


def test_a_machine_that_cannot_be_ends_the_study_with_the_reason(tmp_path: Path) -> None:
    code, _, told = headroom(tmp_path, "{ io_nodes = [1, 0] }")
    assert code == 2
    assert "30% of the accesses need an I/O node, and there is none" in told
    assert "hint: set io_nodes (or local_disks) to 1 or more, or io_probability to 0" in told


def test_a_number_that_the_machine_does_not_have_is_corrected(tmp_path: Path) -> None:
    code, _, told = headroom(tmp_path, "{ disk = [1] }")
    assert code == 2
    assert "disks" in told
