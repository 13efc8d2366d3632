"""The input of the compressors: a real text of exactly the size that was asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent / "make_input.py"


def make_input(path: Path, size_bytes: int) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(SCRIPT), str(path), str(size_bytes)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("size_bytes", [1, 1_000_000, 4_000_000])
def test_the_input_is_a_text_of_the_size_asked_for(tmp_path: Path, size_bytes: int) -> None:
    assert make_input(tmp_path / "input", size_bytes).returncode == 0
    assert (tmp_path / "input").stat().st_size == size_bytes


def test_a_smaller_input_is_the_beginning_of_a_larger_one(tmp_path: Path) -> None:
    for name, size_bytes in (("small", 200_000), ("large", 900_000)):
        make_input(tmp_path / name, size_bytes)
    large = (tmp_path / "large").read_bytes()
    assert large.startswith((tmp_path / "small").read_bytes())
    assert b"import" in large


def test_a_library_that_is_too_short_is_an_error(tmp_path: Path) -> None:
    done = make_input(tmp_path / "input", 10_000_000_000)
    assert done.returncode != 0
    assert "bytes shorter" in done.stderr
