"""Likely corrections of unknown names."""

import difflib
from collections.abc import Iterable, Sequence

_MOST_SHOWN = 12


def suggestion(
    word: str, known: Iterable[str], *, likely: Sequence[str] | None = None, meant: str = ""
) -> str:
    """Return a hint for an unknown name: the closest known one, and the list of them.

    Parameters
    ----------
    word, known
        The unknown name, and the existing names.
    likely
        Known names that may have been meant; all of them if None.
    meant
        The known name that was meant, if the caller knows it.

    Examples
    --------
    >>> suggestion("usres", ["users", "disks"])
    "did you mean 'users'? known: disks, users"
    >>> suggestion("response_s_p95", ["class.a.response_s_p95", "response_s_mean"])
    "did you mean 'class.a.response_s_p95'? known: class.a.response_s_p95, response_s_mean"
    >>> suggestion("x", [])
    'remove it: there is none here to choose from'
    >>> suggestion("names", ["name", "title"], likely=["title"])
    'choose one of: name, title'
    """
    names = sorted(set(known))
    if not names:
        return "remove it: there is none here to choose from"
    longer = [name for name in names if word and name.endswith(f".{word}")]
    close = (
        [meant]
        if meant
        else longer
        or difflib.get_close_matches(word, names if likely is None else likely, n=1, cutoff=0.6)
    )
    start = f"did you mean {close[0]!r}? known" if close else "choose one of"
    return f"{start}: {_listed(names)}"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_SHOWN])
    hidden = len(names) - _MOST_SHOWN
    return f"{shown} and {hidden} more" if hidden > 0 else shown
