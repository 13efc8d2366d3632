"""The scripts behind `make`: they find what is installed, and give a hint for what is not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"

# The tools that the scripts themselves use on a Unix machine.
BASICS = (
    "sh",
    "dirname",
    "sed",
    "awk",
    "uname",
    "id",
    "cat",
    "head",
    "tail",
    "mktemp",
    "rm",
    "git",
    "true",
)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a folder that is the whole PATH of a bare machine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in BASICS:
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    return folder


def program(folder: Path, name: str, script: str) -> None:
    """Put a shell program of the given text onto the machine."""
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def run(
    script: str, *arguments: str, path: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    home = str(Path(path.split(os.pathsep, maxsplit=1)[0]).parent)
    return subprocess.run(
        [str(SCRIPTS / script), *arguments],
        env={"PATH": path, "HOME": home, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_broken_shim_is_passed_over_for_the_next_python(machine: Path, tmp_path: Path) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    program(shims, "python3", "echo 'version manager: no version set' >&2; exit 127")
    program(machine, "python3", f'exec "{sys.executable}" "$@"')
    result = run("find-python", path=f"{shims}{os.pathsep}{machine}")
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).exists()


def test_a_python_that_is_too_old_is_named_with_the_cure(machine: Path) -> None:
    program(machine, "python3", "echo 'CPython 3.9.2' >&2; exit 1")
    program(machine, "apt-get", "exit 0")
    result = run("find-python", path=str(machine))
    assert result.returncode != 0
    assert str(machine / "python3") in result.stderr
    assert "hint: sudo apt-get install" in result.stderr


def test_a_machine_without_python_is_told_so(machine: Path) -> None:
    result = run("find-python", path=str(machine))
    assert result.returncode != 0
    assert "there is no Python" in result.stderr


def test_an_explicit_python_is_never_second_guessed(machine: Path) -> None:
    program(machine, "python3", f'exec "{sys.executable}" "$@"')
    program(machine, "old", "echo 'CPython 3.9.2'; exit 1")
    result = run("find-python", path=str(machine), PYTHON="old")
    assert result.returncode != 0
    assert "PYTHON=old" in result.stderr


def test_a_machine_without_cargo_is_sent_to_rustup(machine: Path) -> None:
    result = run("with-rust", "true", path=str(machine))
    assert result.returncode != 0
    assert "https://rustup.rs" in result.stderr


def test_toolchains_of_another_home_are_found_beside_their_shims(
    machine: Path, tmp_path: Path
) -> None:
    """An empty HOME hides rustup's toolchains; its shims are still in the old one."""
    shims = tmp_path / "old-home" / ".cargo" / "bin"
    shims.mkdir(parents=True)
    toolchains = tmp_path / "old-home" / ".rustup"
    complaint = "echo 'rustup could not choose a version' >&2; exit 1"
    program(shims, "cargo", f'[ "$RUSTUP_HOME" = "{toolchains}" ] || {{ {complaint}; }}')
    program(shims, "rustc", "echo 'rustc 1.99.0 (0000000 2099-01-01)'")
    program(machine, "cc", "exit 0")
    path = f"{shims}{os.pathsep}{machine}"
    assert run("with-rust", "sh", "-c", 'echo "$RUSTUP_HOME"', path=path).stdout.strip() == str(
        toolchains
    )


def test_a_rustup_without_any_toolchain_is_explained(machine: Path) -> None:
    program(machine, "cargo", "echo 'rustup could not choose a version' >&2; exit 1")
    result = run("with-rust", "true", path=str(machine))
    assert result.returncode != 0
    assert "could not choose a version" in result.stderr
    assert "RUSTUP_HOME" in result.stderr


@pytest.mark.parametrize(
    ("version", "is_refused"),
    [("1.87.9", True), ("0.99.0", True), ("1.88.0", False), ("2.0.0", False)],
)
def test_an_old_compiler_is_refused(machine: Path, version: str, is_refused: bool) -> None:  # noqa: FBT001
    program(machine, "cargo", "exit 0")
    program(machine, "rustc", f"echo 'rustc {version} (0000000 2025-01-01)'")
    program(machine, "cc", "exit 0")
    result = run("with-rust", "true", path=str(machine))
    assert (result.returncode != 0) == is_refused, result.stderr


def test_a_missing_linker_is_named_with_the_cure(machine: Path) -> None:
    program(machine, "cargo", "exit 0")
    program(machine, "rustc", "echo 'rustc 1.99.0 (0000000 2099-01-01)'")
    program(machine, "apk", "exit 0")
    result = run("with-rust", "true", path=str(machine))
    assert result.returncode != 0
    assert "linker" in result.stderr
    if sys.platform == "linux":
        assert "doas apk add gcc musl-dev" in result.stderr


def test_without_root_each_missing_program_is_one_line_and_no_failure(machine: Path) -> None:
    program(machine, "id", "echo 1000")
    program(machine, "apt-get", "exit 0")
    result = run("system-packages", path=str(machine))
    assert result.returncode == 0, result.stderr
    assert "headroom: no zstd" in result.stderr
    assert all(line.startswith("headroom: no ") for line in result.stderr.splitlines())


def test_as_root_what_is_missing_is_installed(machine: Path, tmp_path: Path) -> None:
    program(machine, "id", "echo 0")
    program(machine, "apt-get", f'echo "$@" >>"{tmp_path / "asked"}"')
    result = run("system-packages", path=str(machine))
    assert result.returncode == 0, result.stderr
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert "install" in asked
    assert "xz-utils" in asked


def test_in_continuous_integration_a_missing_program_ends_the_run(machine: Path) -> None:
    program(machine, "id", "echo 1000")
    assert run("system-packages", path=str(machine), CI="true").returncode != 0


SKIPPING = """
import pytest

def test_a() -> None:
    pytest.skip("no browser here")

@pytest.mark.xfail(reason="known")
def test_b() -> None:
    assert False
"""


@pytest.mark.deep
@pytest.mark.parametrize(("setting", "code"), [("true", 1), ("", 0)])
def test_a_skipped_test_fails_in_continuous_integration_only(
    tmp_path: Path, setting: str, code: int
) -> None:
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "test_sample.py").write_text(SKIPPING, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "CI": setting},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == code, finished.stdout
    assert "no browser here" in finished.stdout or code == 0
