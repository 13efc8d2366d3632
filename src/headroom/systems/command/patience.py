"""A time limit on a search in Python, such as one with a regular expression.

The engine of `re` checks for signals while it searches, so an alarm ends a search that backtracks
indefinitely, without a helper process next to a measurement. Signals reach only the main thread,
which is where measurements run.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def at_most(limit_s: float) -> Iterator[None]:
    """Raise `TimeoutError` in the block once `limit_s` (s) are over.

    Examples
    --------
    >>> import re
    >>> with at_most(10.0):
    ...     re.search("b", "abc").start()
    1
    """
    before = signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _on_alarm(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise TimeoutError
