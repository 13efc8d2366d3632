"""Defects of Headroom itself in what only explains a result: reported, never fatal.

The runs of a study may have taken hours. A solver, a knee or a figure that fails afterwards must
not cost its report; so what explains a result is worked out behind `fallback`, and the report
shows what failed and where, in its place.

Invariant: runs, journal and intervals are never behind a fallback; and with ``HEADROOM_DEBUG=1``,
as in all tests, nothing is.
"""

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from headroom.errors import HeadroomError

T = TypeVar("T")


def fallback(compute: Callable[[], T], otherwise: Callable[[str], T]) -> T:
    """Return the result of `compute`, or of `otherwise` called with the reason of its failure.

    Parameters
    ----------
    compute
        The computation that may fail.
    otherwise
        Takes the reason, one line without a full stop.

    Examples
    --------
    >>> fallback(lambda: 1 + 1, lambda reason: 0)
    2
    """
    try:
        return compute()
    except Exception as error:
        if not isinstance(error, HeadroomError):
            _met.append(1)
            if is_debugging():
                raise
        return otherwise(describe(error))


_met: list[int] = []


def defects_met() -> int:
    """Return how many defects this process has met: a result that shows one is not to be kept."""
    return len(_met)


def is_debugging() -> bool:
    """Return whether defects are to be raised: ``HEADROOM_DEBUG`` is set to something but 0."""
    return os.environ.get("HEADROOM_DEBUG", "0") not in {"", "0"}


def describe(error: Exception) -> str:
    """Return the error and its location, in one line.

    Examples
    --------
    >>> describe(HeadroomError("no such station"))
    'no such station'
    """
    if isinstance(error, HeadroomError):
        return error.message.partition("\n")[0]
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    first, _, _ = str(error).partition("\n")
    what = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return f"internal error, please report it: {what}{place}"
