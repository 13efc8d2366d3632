"""In continuous integration a skip fails, unless the root conftest.py gives a reason for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def outcome(folder: Path, reason: str, *, is_module: bool) -> tuple[int, str]:
    """Run a test that skips with `reason` under CI=true; return the exit status and the output."""
    (folder / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    skip = f"pytest.skip({reason!r}, allow_module_level=True)"
    lines = [skip] if is_module else ["def test_it():", f"    pytest.skip({reason!r})"]
    (folder / "test_one.py").write_text("\n".join(["import pytest", *lines, ""]))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        env={**os.environ, "CI": "true"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.deep
@pytest.mark.parametrize("is_module", [True, False])
def test_a_skip_without_a_reason_that_is_allowed_fails(tmp_path: Path, *, is_module: bool) -> None:
    status, output = outcome(tmp_path, "no browser", is_module=is_module)
    assert status != 0
    assert "CI=true does not allow: no browser" in output


@pytest.mark.deep
@pytest.mark.parametrize("is_module", [True, False])
def test_the_optional_oracle_may_be_missing(tmp_path: Path, *, is_module: bool) -> None:
    _, output = outcome(tmp_path, "LINE is not installed: get it", is_module=is_module)
    assert "1 skipped" in output
    assert "failed" not in output
    assert "error" not in output
