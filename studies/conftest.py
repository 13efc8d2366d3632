"""The quick form of a study, run once for all tests of its folder."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("studies.quick_form")

from studies.quick_form import WIDTH, QuickRun  # noqa: E402 - pytest has to know of it before
from tests.support.catalogue_programs import catalogue_programs  # noqa: E402
from tests.support.transactions_program import transactions_program  # noqa: E402

__all__ = ["catalogue_programs", "transactions_program"]

STUDIES = Path(__file__).resolve().parent
LIMIT_S = 900
QUICK = {"amga_model", "coherence", "memory_map", "quickstart", "sqlite_commits", "storage_ngs"}
"""The studies whose quick forms run in the quick tier: the first one, and one for each layer."""
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - memory, as a target


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs the quick form of any other study as deep."""
    for item in items:
        is_run = "quick" in getattr(item, "fixturenames", ())
        if is_run and item.path.is_relative_to(STUDIES) and item.path.parent.name not in QUICK:
            item.add_marker(pytest.mark.deep)


@pytest.fixture(scope="module")
def study(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the content of the study beside the test."""
    return tomllib.loads((request.path.parent / "study.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def quick(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> QuickRun:
    """Run the quick form of the study beside the test with `--check`, in a copy.

    `QUICK_OPTIONS` of the test module are added to the command. Whatever the study makes in memory
    or on the disk has to be gone afterwards.
    """
    folder = request.path.parent
    copy = tmp_path_factory.mktemp("study") / folder.name
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("results", "pictures"))
    command = [sys.executable, "-m", "headroom", "run", str(copy), "--quick", "--check"]
    with tempfile.TemporaryDirectory() as disk, tempfile.TemporaryDirectory(dir=MEMORY) as memory:
        done = subprocess.run(
            [*command, *getattr(request.module, "QUICK_OPTIONS", ())],
            env={**os.environ, "COLUMNS": str(WIDTH), "TMPDIR": disk, "HEADROOM_MEMORY": memory},
            timeout=LIMIT_S,
            check=False,
            capture_output=True,
            text=True,
        )
        left = [*Path(disk).iterdir(), *Path(memory).iterdir()]
        assert left == [], done.stderr
    written = copy / "results" / "quick"
    assert (written / "results.json").exists(), f"{done.stdout}\n{done.stderr}"
    results = json.loads((written / "results.json").read_text("utf-8"))
    page = written / "report.html"
    return QuickRun(code=done.returncode, results=results, said=done.stdout, page=page)
