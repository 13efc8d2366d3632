"""Failures of measured programs: the message of a failed point."""

import signal
from pathlib import Path
from typing import Literal, TypeAlias

from headroom.errors import ExitCode, HeadroomError

_SHOWN_LINES = 12
_SHOWN_WORDS = 200
_SHOWN_CHARACTERS = 2000


class CommandFailedError(HeadroomError):
    """A command failed, ran past its limit, or did not print the required values."""

    exit_code = ExitCode.POINTS_FAILED


Role: TypeAlias = Literal["program", "set-up", "clean-up"]
"""The role of a command: the measured program, or one that runs around it."""


def ended_badly(
    words: list[str], *, role: Role, code: int, signal_number: int, said: str
) -> HeadroomError:
    """Return the error of a command that was killed or whose exit code is not an accepted one."""
    if signal_number:
        how = f"was killed by signal {signal_number} ({_signal_name(signal_number)})"
        cure = "run it by hand; SIGKILL often means that the machine ran out of memory"
    else:
        how = f"ended with exit code {code}"
        cure = (
            "run it by hand, or name the code in `ok_exit_codes` if it means success"
            if role == "program"
            else f"run it by hand: a {role} command must end with exit code 0"
        )
    return CommandFailedError(f"{_named(words, role)} {how}{said}", cure=cure)


def ran_too_long(words: list[str], *, role: Role, limit_s: float, said: str) -> HeadroomError:
    """Return the error of a command that was killed at its time limit."""
    return CommandFailedError(
        f"{_named(words, role)} was killed at its time limit of {limit_s:g} s{said}",
        cure="raise `time_limit_s`, or find out why it takes so long",
    )


def launcher_stopped(words: list[str], *, role: Role) -> HeadroomError:
    """Return the error of a command that stopped the process which clocks it."""
    return CommandFailedError(
        f"{_named(words, role)} or another process sent a stop signal to the launcher, its parent, "
        "so nothing clocked it; it was killed with all that it started",
        cure="leave the parent process alone: look for SIGSTOP, `kill -STOP $PPID` or a debugger",
    )


def _named(words: list[str], role: Role) -> str:
    kind = "" if role == "program" else f"{role} "
    return f"the {kind}command `{shown(words)}`"


def shown(words: list[str]) -> str:
    """Return a command line for a message, shortened if it is long."""
    line = " ".join(words)
    return line if len(line) <= _SHOWN_WORDS else line[: _SHOWN_WORDS - 1] + "…"


def last_words(stderr: Path, stdout: Path) -> str:
    """Return the end of a command's output, on stderr or else on stdout, for a message."""
    for path, name in ((stderr, "stderr"), (stdout, "stdout")):
        lines = _end_of(path)
        if lines:
            return f"; the end of its {name}:\n" + "\n".join(f"    {line}" for line in lines)
    return "; it said nothing"


def _end_of(path: Path) -> list[str]:
    if not path.exists():
        return []
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _SHOWN_CHARACTERS))
        text = file.read(_SHOWN_CHARACTERS).decode(errors="replace")
    if size > _SHOWN_CHARACTERS:
        # A line without its beginning may be a secret without its telltale name.
        text = "".join(text.splitlines(keepends=True)[1:]) or "(a line too long to be shown)"
    return text.strip().splitlines()[-_SHOWN_LINES:]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unnamed"
