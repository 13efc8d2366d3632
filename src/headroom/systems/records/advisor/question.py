"""The question: a table, and the mix of its operations."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Literal, get_args

from headroom.errors import StudyError
from headroom.experiment.protocol.declared import Declared
from headroom.experiment.protocol.model_parameters import parameter
from headroom.experiment.protocol.suggestions import suggestion
from headroom.systems.records.parameters import Layout, Placement

OPERATIONS = ("lookup", "scan", "insert", "update", "delete")
DEFAULT_MIX = "lookup=0.9,scan=0.05,insert=0.05"
LAYOUTS, PLACEMENTS = get_args(Layout), get_args(Placement)
ANY = "any"
MOST_BATCH = 64


class Question(Declared, frozen=True, kw_only=True):
    """A table and its use."""

    record_bytes: Annotated[int, parameter(unit="B", low=8, high=1 << 20, source="declared")] = 64
    """Size (B) of a record"""
    records: Annotated[int, parameter(low=1, high=4_294_967_295, source="declared")] = 1_000_000
    """Records of the table"""
    mix: Annotated[str, parameter(source="declared")] = DEFAULT_MIX
    """Shares of operations: lookup, scan, insert, update, delete"""
    scan_records: Annotated[int, parameter(low=1, source="declared")] = 100
    """Records that a scan visits"""
    most_batch: Annotated[int, parameter(low=1, high=MOST_BATCH, source="declared")] = MOST_BATCH
    """Look-ups that the program asks for at once"""
    placement: Annotated[Placement, parameter(source="declared")] = "arena"
    """Where nodes are put"""
    layout: Annotated[Literal["any", Layout], parameter(source="declared")] = "any"
    """Search one layout alone"""

    @property
    def shares(self) -> Mapping[str, float]:
        """Operation to its share of all operations; the shares sum up to 1."""
        return parse_mix(self.mix)

    @property
    def changes_keys(self) -> bool:
        """Whether records come and go, so that the index is as insertions left it."""
        return any(self.shares.get(name, 0.0) > 0.0 for name in ("insert", "delete"))


@lru_cache(maxsize=64)
def parse_mix(text: str) -> Mapping[str, float]:
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
