"""The variables of the caller's environment that results may depend on.

All count but a stated list, of what describes a terminal, a window, a session, an editor or a job;
only hashes are kept, because there are secrets among the values.
"""

import fnmatch
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache

IGNORED = (
    # shell
    "PWD", "OLDPWD", "SHLVL", "_", "PS[0-9]", "PROMPT*", "HIST*", "RANDOM", "SECONDS", "LINENO",
    # terminal and window
    "TERM", "TERM_*", "TERMINFO*", "COLORTERM", "COLORFGBG", "COLUMNS", "LINES", "LS_COLORS",
    "LC_TERMINAL*", "WINDOWID", "WINDOW", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "TMUX*",
    "STY", "VTE_VERSION", "KONSOLE_*", "GNOME_TERMINAL_*", "ITERM_*", "WT_*", "GPG_TTY",
    # session
    "SSH_*", "XDG_SESSION_*", "XDG_RUNTIME_DIR", "XDG_SEAT*", "XDG_VTNR", "XDG_ACTIVATION_TOKEN",
    "DBUS_SESSION_BUS_ADDRESS", "SESSION_MANAGER", "DESKTOP_*", "INVOCATION_ID", "JOURNAL_STREAM",
    "SYSTEMD_*", "MEMORY_PRESSURE_*", "MAIL", "SUDO_*", "KRB5CCNAME", "WSL_INTEROP",
    # editor and pager
    "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_ASKPASS", "PAGER", "LESS*", "VSCODE_*", "NVIM*",
    "INSIDE_EMACS", "PYCHARM_*",
    # job of a continuous integration, a queue or a test runner
    "GITHUB_*", "RUNNER_*", "CI_*", "BUILD_ID", "BUILD_NUMBER", "BUILD_TAG", "BUILD_URL",
    "BUILDKITE_*", "JENKINS_*", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_STEP*_ID", "SLURM_TASK_PID",
    "PBS_JOBID", "PBS_JOBCOOKIE",
    "PYTEST_*", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKE_TERMERR", "MAKE_TERMOUT", "MAKEOVERRIDES",
)  # fmt: skip
"""Patterns of variables that do not count."""


def hashes_of(
    environment: Mapping[str, str], own: Iterable[str], ignored: Iterable[str]
) -> dict[str, str]:
    """Return ``$NAME`` to a hash of the value, for all variables that count.

    Parameters
    ----------
    environment
        The environment of the caller.
    own
        Names that the study itself sets: they count elsewhere.
    ignored
        Further patterns, of the study's `ignore_env`.

    Examples
    --------
    >>> sorted(hashes_of({"LANG": "C", "PWD": "/", "A": "1", "B": "2"}, ["A"], ["B*"]))
    ['$LANG']
    """
    return {
        f"${name}": hash_of(value)
        for name, value in environment.items()
        if name not in set(own) and not is_ignored(f"${name}", ignored)
    }


def hash_of(value: str) -> str:
    """Return a short hash of a value."""
    return hashlib.sha256(os.fsencode(value)).hexdigest()[:16]


def is_ignored(name: str, ignored: Iterable[str]) -> bool:
    """Return whether a variable, written ``$NAME``, does not count."""
    return _pattern(tuple(ignored)).match(name[1:]) is not None


@cache
def _pattern(ignored: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, (*IGNORED, *ignored))))
