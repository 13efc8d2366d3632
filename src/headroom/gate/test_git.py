"""Nothing that a repository names is run when its version is asked for or a commit checked out."""

import os
import subprocess
from pathlib import Path

import pytest

from headroom.experiment.machine.repository import git, repository_state
from headroom.gate.git import checkouts

HOSTILE = {
    "core.fsmonitor": "{trap}",
    "core.hooksPath": "{hooks}",
    "core.pager": "{trap}",
    "core.sshCommand": "{trap}",
    "log.showSignature": "true",
    "gpg.program": "{trap}",
    "filter.evil.smudge": "{trap}",
    "filter.evil.clean": "{trap}",
    "filter.a=b.process": "{trap}",
    "filter.a=b.required": "true",
}


def plain_git(folder: Path, *words: str) -> str:
    who = {
        f"GIT_{role}_{part}": "a@b"
        for role in ("AUTHOR", "COMMITTER")
        for part in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **who},
    )
    return done.stdout.strip()


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    """Return a repository whose settings and hooks start one program, and its mark."""
    repository, hooks, mark = tmp_path / "repository", tmp_path / "hooks", tmp_path / "mark"
    repository.mkdir()
    hooks.mkdir()
    plain_git(repository, "init", "-q")
    (repository / "file.txt").write_text("first")
    (repository / "other.dat").write_text("first")
    (repository / ".gitattributes").write_text("*.txt filter=evil\n*.dat filter=a=b\n")
    plain_git(repository, "add", "-A")
    plain_git(repository, "commit", "-q", "-m", "first")
    trap = hooks / "post-checkout"
    trap.write_text(f"#!/bin/sh\necho run >> {mark}\ncat\n")
    trap.chmod(0o755)
    for key, value in HOSTILE.items():
        plain_git(repository, "config", key, value.format(trap=trap, hooks=hooks))
    return repository, mark


def test_its_state_runs_nothing_of_a_repository(hostile: tuple[Path, Path]) -> None:
    repository, mark = hostile
    (repository / "file.txt").write_text("other")
    assert repository_state(repository)["is_changed"]
    assert not mark.exists()
    subprocess.run(["git", "-C", str(repository), "status"], capture_output=True, check=False)
    assert mark.exists(), "git itself falls into the trap"


def test_a_checkout_runs_nothing_of_a_repository(hostile: tuple[Path, Path]) -> None:
    repository, mark = hostile
    commit = git(repository, "rev-parse", "HEAD")
    assert commit is not None
    with checkouts(repository, [commit]) as (root,):
        assert (root / "file.txt").read_text() == "first"
        assert git(root, "show", "-s", "--format=%cI", commit)
    assert not mark.exists()


def test_the_callers_variables_name_no_other_repository(
    hostile: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository, _ = hostile
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    assert git(repository, "rev-parse", "HEAD") == commit
