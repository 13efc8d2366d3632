"""Errors that a user can act on: each names what, where, why and what to do.

Invariant: an error that reaches the command line is a `HeadroomError`; anything else is a bug
and keeps its traceback.
"""

from enum import IntEnum

HINT = "\n  hint: "
"""Between a message and what to do about it, where an error is kept as text."""


class ExitCode(IntEnum):
    """Exit codes of the `headroom` command; documented in the reference of the command line."""

    DONE = 0
    POINTS_FAILED = 1
    USAGE = 2
    CLAIMS_DIFFER = 3
    BLIND = 4
    ENVIRONMENT = 5
    INTERRUPTED = 130


class HeadroomError(Exception):
    """Base of all errors with a cause that the user can remove.

    Parameters
    ----------
    message
        What is wrong, where, and why.
    cure
        What to do about it, an imperative; printed after `hint:`.
    """

    exit_code: ExitCode = ExitCode.USAGE
    artefacts: tuple[object, ...] = ()
    """Small files that a failed replication left: each an `Artefact` of the protocol above."""

    def __init__(self, message: str, *, cure: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.message}{HINT}{self.cure}" if self.cure else self.message


class StudyError(HeadroomError):
    """A study file, a parameter or a model is wrong (exit code 2)."""


class EnvironmentUnfitError(HeadroomError):
    """The machine lacks something: disk space, a program, an intact journal (exit code 5)."""

    exit_code = ExitCode.ENVIRONMENT
