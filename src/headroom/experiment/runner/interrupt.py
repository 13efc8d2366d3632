"""Ctrl-C: once to finish and save the running work, twice to stop at once.

The first request only sets a flag that the runner reads before it starts new work. The second one
raises `KeyboardInterrupt`, which ends the wait for running work; the runner then kills its workers.
SIGTERM stops at once, because its sender rarely waits. SIGHUP does too, because the terminal is
gone, unless it is ignored (nohup). In all cases every stored row stays stored.
"""

import os
import signal
import threading
from types import FrameType
from typing import Any, Self

_MESSAGE = (
    b"\nheadroom: finishing what runs, then saving; press Ctrl-C again to stop at once "
    b"(finished replications are kept)\n"
)


class Interrupt:
    """The wish to stop; a context manager that listens to signals while a plan runs.

    Examples
    --------
    >>> with Interrupt() as interrupt:
    ...     interrupt.is_requested
    False
    """

    def __init__(self) -> None:
        self._is_requested = False
        self._previous: dict[signal.Signals, Any] = {}

    @property
    def is_requested(self) -> bool:
        """True once the user has asked to stop."""
        return self._is_requested

    def request(self) -> None:
        """Ask to stop after what runs now, as the first Ctrl-C does."""
        self._is_requested = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = {
                signal.SIGINT: signal.signal(signal.SIGINT, self._on_interrupt),
                signal.SIGTERM: signal.signal(signal.SIGTERM, self._on_terminate),
            }
            if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
                self._previous[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._on_terminate)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - given by the signal module
        if self._is_requested:
            raise KeyboardInterrupt
        self._is_requested = True
        os.write(2, _MESSAGE)

    def _on_terminate(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as above
        self._is_requested = True
        raise KeyboardInterrupt
