"""Calls on a file system that may never answer, made by threads that can be abandoned.

A system call cannot be taken back. The engine abandons its own threads in such calls; this module
does the same for calls from Python.

Invariant: a waiting caller can be interrupted, and waits for a single call no longer than
requested, twice as long if it is one of many.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

from headroom.errors import EnvironmentUnfitError

T = TypeVar("T")

SILENCE_S = 300.0
"""Maximum wait (s) for a file system if no study states it."""


class NoAnswerError(EnvironmentUnfitError):
    """A call has not returned in time; its thread continues, but the result is discarded."""


@dataclass(slots=True)
class Progress:
    """The progress of a long work of many calls, and whether a caller still waits for it."""

    done_bytes: int = 0
    is_wanted: bool = True


def within(
    seconds: float,
    call: Callable[[], T],
    *,
    what: str,
    progress: Progress | None = None,
) -> T:
    """Return the result of `call`, or raise its exception.

    Parameters
    ----------
    seconds
        Longest wait (s) for it.
    call
        A function that may never end; it runs in a separate thread.
    what
        Subject of the message if there is no answer.
    progress
        If given, the wait lasts as long as it advances: for each step between `seconds` and twice
        as much. It is no longer wanted once the caller has stopped waiting.

    Raises
    ------
    NoAnswerError
        It took longer. Its thread continues, but the result is discarded.

    Examples
    --------
    >>> within(60.0, lambda: 6 * 7, what="arithmetic")
    42
    """
    answers: SimpleQueue[Future[T]] = SimpleQueue()

    def answer() -> None:
        answered: Future[T] = Future()
        try:
            answered.set_result(call())
        except BaseException as error:  # raised again in the waiting thread
            answered.set_exception(error)
        answers.put(answered)

    threading.Thread(target=answer, name="headroom-file", daemon=True).start()
    try:
        return _awaited(answers, seconds, what, progress or Progress()).result()
    except BaseException:
        if progress is not None:
            progress.is_wanted = False
        raise


def _awaited(
    answers: SimpleQueue[Future[T]], seconds: float, what: str, progress: Progress
) -> Future[T]:
    """Return the answer; give up if nothing has moved for `seconds`."""
    while True:
        seen = progress.done_bytes
        try:
            return answers.get(timeout=seconds)
        except Empty:
            if progress.done_bytes == seen:
                raise NoAnswerError(
                    f"{what} does not answer: a call has not returned for {seconds:g} s",
                    cure="find out what it waits for (`dmesg`, a lost server), mount it again, "
                    "or name another target",
                ) from None


def close(descriptor: int, seconds: float) -> None:
    """Close a descriptor, which may ask a server; if it takes longer, the thread is abandoned."""
    with suppress(NoAnswerError):
        within(seconds, lambda: os.close(descriptor), what="a file")
