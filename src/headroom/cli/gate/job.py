"""What a CI job says about a change: its base, and where comments go."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.machine.repository import git
from headroom.gate.git import commit_of
from headroom.input_file import read_file

_NO_COMMIT = "0" * 40
_FETCH_LIMIT_S = 300.0


def event_of(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the event that started a GitHub job; empty elsewhere, or if it is unreadable."""
    path = environment.get("GITHUB_EVENT_PATH", "")
    try:
        found = json.loads(read_file(Path(path))) if path else {}
    except (HeadroomError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def base_of(folder: Path, head: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the revision that a change is compared with.

    The commit where the change left its target: the target as GitHub's event or GitLab's variable
    has it, else its branch, else the commit before a push. Where the history is too short to know
    where they parted, the target itself.

    Raises
    ------
    StudyError
        Nothing names a base, or the repository lacks its commit.
    """
    event = event_of(environment)
    pull, before = event.get("pull_request") or {}, event.get("before") or ""
    branch = environment.get("GITHUB_BASE_REF", "")
    named = [
        (pull.get("base") or {}).get("sha", ""),
        environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""),
        f"origin/{branch}" if branch else "",
        "" if before == _NO_COMMIT else before,
        environment.get("CI_COMMIT_BEFORE_SHA", "").replace(_NO_COMMIT, ""),
    ]
    names = [name for name in named if name]
    for name in names:
        found = commit_of(folder, name) or _fetched(folder, name)
        if found is not None:
            return git(folder, "merge-base", found, head) or found
    raise StudyError(
        f"the repository lacks the base of this change, {names[0]}" if names
        else "nothing here names the base of this change",
        cure="check out the whole history (fetch-depth: 0)" if names
        else "name it: headroom gate --base main",
    )  # fmt: skip


def _fetched(folder: Path, name: str) -> str | None:
    """Return a commit that a shallow clone lacks, fetched by the job's own git and rights."""
    argv = ["git", "-C", str(folder), "fetch", "--no-tags", "--depth=1", "origin", "--"]
    try:
        done = subprocess.run(
            [*argv, name.removeprefix("origin/")], capture_output=True, check=False,
            timeout=_FETCH_LIMIT_S, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return commit_of(folder, "FETCH_HEAD") if done.returncode == 0 else None
