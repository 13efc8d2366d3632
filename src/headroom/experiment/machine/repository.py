"""The version of a study: commit and state of the git repository that holds it."""

import os
import subprocess
from pathlib import Path
from typing import Any

_TIME_LIMIT_S = 20.0


def repository_state(folder: Path) -> dict[str, Any]:
    """Return the commit of the repository around a folder, and whether files differ from it.

    Results of studies do not count as differences. Without git, or outside a repository, the
    result is empty.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    changes = _git(folder, "status", "--porcelain", "--", ":/", ":(exclude,glob)**/results/**")
    facts = {
        "commit": commit,
        "branch": _git(folder, "symbolic-ref", "--short", "-q", "HEAD"),
        "is_changed": None if changes is None else bool(changes),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of a git command, None if it fails."""
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
            check=False,
            env=quiet,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
