"""What limits a measured system, by cause: each part is slowed in turn, and the rest is watched.

If the time of a part is 1/(1 - s) times as long, and throughput becomes (1 - s)^e times as much,
then e is the part's *share of the limit*: 1 where the part alone limits, 0 where it does not (the
elasticity of economists; causal profiling, Curtsinger and Berger, SOSP 2015, slows all else
instead). Undisturbed runs and those of each part are measured in blocks, in random order, so that
neighbours disturb all alike.

Stops of a millisecond take away what a part computes, and nothing of what it waits for. If they
show no cause, longer ones follow: they hold back a part's waits too, for a lock, a device or a
token, but where few jobs circulate they starve every part.

Invariant: a part is named only if its share is surely above that of every other, and above half.
"""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from headroom.experiment.protocol.system import Metric, Value
from headroom.gate.measuring import Stopped
from headroom.gate.result import Row

Verdict: TypeAlias = Literal["part", "shared", "load", "nothing", "undecided"]
FULL = 0.9
"""Busy share of the machine from which its processors are what parts share."""
HALF = 0.5
"""Share of the limit above which a part is said to limit; two cannot have it."""


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all results."""


class Share(_Data, frozen=True, kw_only=True):
    """What slowing one part did."""

    part: str
    """A part of the system, or a parameter that was lowered."""
    by: float
    """Share by which it was slowed, as measured."""
    slice_s: float | None = None
    """Length (s) of the stops; None for a limit or a parameter."""
    rows: list[Row]
    """Ratios of the metrics to the undisturbed runs, that of the throughput first."""
    share: float | None = None
    """Share of the limit, with its 95% interval; None if it is not known."""
    low: float | None = None
    high: float | None = None

    def gain(self, faster: float) -> tuple[float, float, float] | None:
        """Return the gain (share) of throughput if its times were shorter by a share, and bounds.

        Examples
        --------
        >>> db = Share(part="db", by=0.1, rows=[], share=1.0, low=0.5, high=1.0)
        >>> [round(gain, 3) for gain in db.gain(0.1)]
        [0.111, 0.054, 0.111]
        """
        if self.share is None or self.low is None or self.high is None:
            return None
        gain, low, high = (
            (1.0 - faster) ** -min(max(one, 0.0), 1.0) - 1.0
            for one in (self.share, self.low, self.high)
        )
        return gain, low, high


class CauseResult(_Data, frozen=True, kw_only=True):
    """The answer of `headroom what-limits`."""

    study: str
    experiment: str
    levels: dict[str, Value]
    metric: Metric
    """The throughput, or the time of a run."""
    base: float
    """Its median in undisturbed runs."""
    verdict: Verdict
    named: list[str] = []
    """The part that limits, or those that share the limit."""
    by_waiting: bool = False
    """Whether it limits by what it waits for, not by what it computes."""
    shares: list[Share]
    """Of the last stops that were tried; those of the first ones are in `earlier`."""
    earlier: list[Share] = []
    machine: float | None = None
    """Busy share of all processors in undisturbed runs, others included; None if not observed."""
    blocks: int = 0
    stopped: Stopped
    notes: list[str] = []


def with_share(share: Share) -> Share:
    """Return what slowing a part did, with its share of the limit from the first ratio.

    Examples
    --------
    >>> row = Row(arm="db", base="base", metric="rate", unit="1/s", better="high",
    ...     ratio=0.9, low=0.85, high=0.95)
    >>> found = with_share(Share(part="db", by=0.1, rows=[row]))
    >>> round(found.share, 3), round(found.low, 2), round(found.high, 2)
    (1.0, 0.49, 1.54)
    """
    row = share.rows[0]
    if row.ratio is None or row.low is None or row.high is None or not 0.0 < share.by < 1.0:
        return share
    if min(row.ratio, row.low) <= 0.0:
        return share
    sign = 1.0 if row.better == "high" else -1.0
    whole = math.log1p(-share.by)
    value, low, high = (sign * math.log(one) / whole for one in (row.ratio, row.low, row.high))
    return msgspec.structs.replace(share, share=value, low=min(low, high), high=max(low, high))


def judged_causes(shares: Sequence[Share], *, machine: float | None) -> tuple[Verdict, list[str]]:
    """Return what the shares of the limit prove.

    Parameters
    ----------
    shares
        One for each part that was slowed.
    machine
        Busy share of the machine's processors; None if it is not known.

    Returns
    -------
    The verdict, and the part or parts that limit.
    """
    known = [one for one in shares if one.share is not None]
    if not known:
        return "undecided", []
    ranked = sorted(known, key=lambda one: -(one.share or 0.0))
    top, others = ranked[0], ranked[1:]
    if (top.low or 0.0) > HALF and all((top.low or 0.0) > (one.share or 0.0) for one in others):
        return "part", [top.part]
    total = sum(one.share or 0.0 for one in known)
    error = math.hypot(*(((one.high or 0.0) - (one.low or 0.0)) / 2.0 for one in known))
    if machine is not None and machine >= FULL and (top.high or 0.0) > 0.0:
        # A part that was stopped catches up afterwards, at the cost of the others.
        is_sure = total - error > HALF or error < HALF
        least = (top.share or 0.0) / 2.0
        most = [one.part for one in ranked if (one.low or 0.0) > 0.0 and (one.share or 0.0) > least]
        return ("shared", most) if is_sure else ("undecided", [])
    if total + error < HALF or all((one.high or 0.0) < HALF / len(known) for one in known):
        return "nothing", []
    return "undecided", []
