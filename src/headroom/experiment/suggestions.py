"""Likely corrections: what a user probably meant by a name that is not known."""

import difflib
from collections.abc import Iterable

_MOST_SHOWN = 12


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a cure for an unknown name: the closest known one, or the list of them.

    Examples
    --------
    >>> suggestion("usres", ["users", "disks"])
    "did you mean 'users'? known: disks, users"
    >>> suggestion("x", [])
    'none is known here; remove it'
    """
    names = sorted(set(known))
    if not names:
        return "none is known here; remove it"
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    start = f"did you mean {close[0]!r}? known" if close else "choose one of"
    return f"{start}: {_listed(names)}"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_SHOWN])
    hidden = len(names) - _MOST_SHOWN
    return f"{shown} and {hidden} more" if hidden > 0 else shown
