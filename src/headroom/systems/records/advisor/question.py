"""The question: a table, and the mix of its operations."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion

OPERATIONS = ("lookup", "scan", "insert", "update", "delete")
DEFAULT_MIX = "lookup=0.9,scan=0.05,insert=0.05"
PLACEMENTS = ("arena", "scattered", "size_classes", "malloc")
LAYOUTS = ("array", "slotted", "sorted")
ANY = "any"
MOST_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A table and its use.

    Parameters
    ----------
    record_bytes, records
        Size (B) and number of the records.
    mix
        Operation to its share of all operations; the shares sum up to 1.
    scan_records
        Records that a scan visits, in the order of their numbers.
    most_batch
        Look-ups that the program can ask for at once, 1 to 64.
    placement
        Where the program's memory puts nodes, see `headroom.systems.records.parameters`.
    layout
        The only layout that is searched; ``any``: all of them.
    """

    record_bytes: int
    records: int
    mix: Mapping[str, float]
    scan_records: int = 100
    most_batch: int = MOST_BATCH
    placement: str = "arena"
    layout: str = "any"

    @property
    def changes_keys(self) -> bool:
        """Whether records come and go, so that the index is as insertions left it."""
        return any(self.mix.get(name, 0.0) > 0.0 for name in ("insert", "delete"))


def parse_mix(text: str) -> dict[str, float]:
    """Return the shares of a mix, scaled to sum up to 1.

    Raises
    ------
    StudyError
        It is not a mix.

    Examples
    --------
    >>> parse_mix("lookup=3, insert=1")
    {'lookup': 0.75, 'insert': 0.25}
    >>> parse_mix("inserts=1")
    Traceback (most recent call last):
    ...
    headroom.errors.StudyError: mix 'inserts=1': there is no operation `inserts`
      hint: did you mean 'insert'? known: delete, insert, lookup, scan, update
    """
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, sign, number = (piece.strip() for piece in part.partition("="))
        if not sign:
            raise _refused(text, f"{part.strip()!r} is not a pair NAME=SHARE")
        if name not in OPERATIONS:
            known = suggestion(name, OPERATIONS)
            raise _refused(text, f"there is no operation `{name}`", cure=known)
        if name in weights:
            raise _refused(text, f"`{name}` occurs twice")
        weights[name] = _share(text, name, number)
    total = sum(weights.values())
    if total <= 0.0:
        raise _refused(text, "all shares are 0")
    return {name: weight / total for name, weight in weights.items() if weight > 0.0}


def _share(text: str, name: str, number: str) -> float:
    try:
        share = float(number)
    except ValueError:
        share = math.nan
    if not 0.0 <= share < math.inf:
        raise _refused(text, f"the share of `{name}` is {number!r}")
    return share


def _refused(text: str, reason: str, *, cure: str = "") -> StudyError:
    return StudyError(
        f"mix {text!r}: {reason}",
        cure=cure or f"list shares of 0 or more, such as {DEFAULT_MIX!r}",
    )


def mix_text(mix: Mapping[str, float]) -> str:
    """Return a mix as text.

    Examples
    --------
    >>> mix_text({"lookup": 0.75, "insert": 0.25})
    '75% lookup, 25% insert'
    """
    return ", ".join(f"{100.0 * share:.3g}% {name}" for name, share in mix.items())
