"""The voice of a session: where its messages and its progress go."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from headroom.experiment.runner.progress import Progress

Say: TypeAlias = Callable[[str], None]
"""Takes a message: one line without a full stop."""


class Voice(Protocol):
    """The caller of a session: a terminal, a notebook, a program."""

    def note(self, message: str) -> None:
        """Report a fact about the session, unless the user wants quiet."""
        ...

    def insist(self, message: str) -> None:
        """Report a fact that the user needs even if quiet: something is missing or damaged."""
        ...

    def progress(self) -> Progress:
        """Return a new progress, for one part of the session."""
        ...
