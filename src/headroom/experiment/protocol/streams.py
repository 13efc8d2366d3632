"""Redirect the output of user code: standard output carries results only."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

_STDOUT, _STDERR = 1, 2


@contextmanager
def prints_to_stderr() -> Iterator[None]:
    """Send the output of Python, native code and child processes to standard error in the block.

    Examples
    --------
    >>> with prints_to_stderr():
    ...     print("not a result")
    """
    if sys.stdout:  # None if the caller closed it
        sys.stdout.flush()
    try:
        saved = os.dup(_STDOUT)
    except OSError:  # standard output is closed, so there is nothing to protect
        with redirect_stdout(sys.stderr):
            yield
        return
    try:
        os.dup2(_STDERR, _STDOUT)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, _STDOUT)
        os.close(saved)
