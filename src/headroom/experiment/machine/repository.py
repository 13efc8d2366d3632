"""The version of a study: commit and state of the git repository that holds it."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_TIME_LIMIT_S = 20.0
_SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "log.showSignature=false", "-c", "core.pager=cat"),
)
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_OF_USER = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}


def repository_state(folder: Path) -> dict[str, Any]:
    """Return the commit of the repository around a folder, and whether files differ from it.

    Results of studies do not count as differences. Without git, or outside a repository, the
    result is empty.
    """
    commit = git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    changes = git(folder, "status", "--porcelain", "--", ":/", ":(exclude,glob)**/results/**")
    facts = {
        "commit": commit,
        "branch": git(folder, "symbolic-ref", "--short", "-q", "HEAD"),
        "is_changed": None if changes is None else bool(changes),
    }
    return {name: value for name, value in facts.items() if value is not None}


def git(folder: Path, *words: str, time_limit_s: float | None = _TIME_LIMIT_S) -> str | None:
    """Return the output of a git command without the last line break, None if it fails.

    Nothing that the repository's own settings name is run: hooks, a monitor, filters, programs
    that check signatures or fetch. Of the caller's variables of git, those that name the user's
    own settings count; others would mean another repository.
    """
    return _called(folder, [*_SAFE, *words], _without_filters(folder), time_limit_s)


def _without_filters(folder: Path) -> dict[str, str]:
    """Return variables that turn off the filters of files that a repository itself sets."""
    words = ["config", "--null", "--show-scope", "--name-only", "--get-regexp", r"^filter\."]
    fields = (_called(folder, words) or "").split("\0")
    keys = {
        key.rpartition(".")[0]
        for scope, key in zip(fields[::2], fields[1::2], strict=False)
        if scope not in {"system", "global"}
    }
    values = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    pairs = [(f"{key}.{name}", value) for key in sorted(keys) for name, value in values]
    settings = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return settings


def _called(
    folder: Path,
    words: Sequence[str],
    more: Mapping[str, str] | None = None,
    time_limit_s: float | None = _TIME_LIMIT_S,
) -> str | None:
    own = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _OF_USER}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            timeout=time_limit_s,
            check=False,
            env={**own, **_QUIET, **(more or {})},
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
