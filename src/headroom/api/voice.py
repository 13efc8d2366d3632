"""The voice of a session that a program or a notebook started.

Messages are kept for the result instead of printed; what a user must know at once, and progress,
go to stderr. In a notebook progress is one line of text that goes away, because a bar needs a
terminal.
"""

import sys
from html import escape
from importlib import import_module
from typing import Any

from headroom.experiment.runner.progress import Progress, TextProgress


class ProgramVoice:
    """Keeps notes; shows progress on a terminal or in a notebook.

    Parameters
    ----------
    shows_progress
        False shows none, also in a notebook or on a terminal.

    Attributes
    ----------
    notes
        Messages so far, each once.
    """

    def __init__(self, *, shows_progress: bool = True) -> None:
        self._shows_progress = shows_progress
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages so far, each once."""
        return tuple(self._notes)

    def note(self, message: str) -> None:
        """Keep a message for the result."""
        self._notes[message] = None

    def insist(self, message: str) -> None:
        """Keep a message and print it on stderr."""
        self.note(message)
        sys.stderr.write(f"headroom: {message}\n")

    def progress(self) -> Progress:
        """Return a progress: a bar on stderr, a line in a notebook, or nothing."""
        if self._shows_progress and in_notebook():
            return TextProgress(CellLine().show, sys.stderr)
        from rich.console import Console  # noqa: PLC0415 - a notebook needs none

        return Progress(Console(stderr=True, highlight=False), is_quiet=not self._shows_progress)


class CellLine:
    """A line in the output of a notebook's cell: shown, changed, and gone without a trace."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Show a text in place of the one before; an empty one takes no place."""
        data = {"text/plain": text, "text/html": f"<small>{escape(text)}</small>" if text else ""}
        if self._handle is None:
            display = import_module("IPython.display").display
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def in_notebook() -> bool:
    """Return whether this program is the kernel of a notebook.

    Examples
    --------
    >>> in_notebook()
    False
    """
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None
