"""The rate of stalls of a device: by the clock, and by the processor time that the load takes.

A machine that also does other things delays requests in two ways. Interruptions of the host or the
device come by the clock, and requests with their own due times meet them in proportion to their
length. Competition for the processor comes with its use: a program that sleeps most of the time
gets the processor as soon as it wakes, but one that computes all the time has to yield it after
each slice. So lone requests hardly meet the second kind, and loops at depth 1, which never rest,
show its cost.

Invariant: the loss of a loop counts as the second kind only if it is more than twice that of lone
requests, at points where the load computes for a good part of the time.

Source for the mean of a stall that arrivals meet: Cox, *Renewal Theory* (1962), section 5.4, half
of the second moment over the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroom.experiment.protocol.fit_method import Counted
from headroom.systems.storage.fit.observations import Closed, Lone, times_of, usual_of

_MOST_STALLED = 0.9
"""Largest share of the time in which everything stalls."""
_COMPUTING = 0.2
"""Processor use of a loop from which it shows the cost of computing."""
_RARE = 2.0
"""Idle time between requests, in medians of their time, from which they show stalls."""
_CHANCE = 2.0
"""Ratio of a loop's loss to that of lone requests from which it is not chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalls:
    """How often the device stalls (1/s), and for how long (s).

    Parameters
    ----------
    per_s, mean_s
        Stalls by the clock.
    busy_per_s, busy_s
        Additional ones when the load computes all the time, as the loops at depth 1 do.
    busy_use
        Share of one processor (0..1) from which it does: that of these loops.
    wake_cpu_s
        Processor time (s) of a request that finds the machine asleep, beyond that of others.
    """

    per_s: float
    mean_s: float
    busy_per_s: float = 0.0
    busy_s: float = 1e-3
    busy_use: float = 1.0
    wake_cpu_s: float = 0.0

    @property
    def share(self) -> float:
        """Share of the time in which everything stalls by the clock."""
        return self.share_at(0.0)

    def share_at(self, use: float) -> float:
        """Return the share of the time in which everything stalls, at a processor use (0..1).

        Examples
        --------
        >>> Stalls(per_s=100.0, mean_s=1e-3, busy_per_s=900.0, busy_s=1e-3).share_at(1.0)
        0.5
        """
        part = min(use / self.busy_use, 1.0)
        busy = self.per_s * self.mean_s + part * self.busy_per_s * self.busy_s
        return busy / (1.0 + busy)


def stalls_of(lone: Sequence[Lone], closed: Sequence[Closed], host_s: float) -> Stalls:
    """Return the stalls that open points met, and what loops lose beyond them.

    Parameters
    ----------
    lone, closed
        The points; without lone ones all that loops lose is by the clock.
    host_s
        Processor time (s) of a request on a busy host.
    """
    if not lone:
        return _of_loops(closed)
    # If requests are close together, only long stalls are distinguished from a usual time.
    rare = [
        lone_point for lone_point in lone if lone_point.idle_s >= _RARE * lone_point.times.p50
    ] or lone
    stalled = sum(lone_point.stalled_count for lone_point in rare)
    mean_s = sum(lone_point.excess_s for lone_point in rare) / stalled if stalled else 0.0
    # How many requests meet one is the same at each point, and as robust as the printed values:
    # neither one replication nor one point with a long stall counts for others.
    lost_s = float(np.median([lone_point.typical_excess_s for lone_point in rare]))
    share = lost_s / mean_s if mean_s > 0.0 else 0.0
    calm = Stalls(per_s=_rate(share, mean_s), mean_s=max(mean_s, 1e-9))
    busy_share, busy_s, busy_use = _beyond(closed, calm)
    return Stalls(
        per_s=calm.per_s,
        mean_s=calm.mean_s,
        busy_per_s=_rate(busy_share, busy_s),
        busy_s=max(busy_s, 1e-9),
        busy_use=busy_use,
        wake_cpu_s=_wake_cpu_s(lone, host_s),
    )


def _rate(share: float, mean_s: float) -> float:
    """Return the rate of stalls (1/s) that take a share of the time."""
    # Stalls without memory leave an arrival their mean time yet, and take a share of the time.
    part = min(share, _MOST_STALLED)
    return part / (1.0 - part) / mean_s if mean_s > 0.0 else 0.0


def _of_loops(closed: Sequence[Closed]) -> Stalls:
    count = excess_s = time_s = 0.0
    for loop in closed:
        bins = _alone(loop)
        if bins is not None:
            lost = _lost(bins)
            count, excess_s = count + lost.count, excess_s + lost.sum_s
            time_s += bins.mean * float(bins.counts.sum()) - lost.sum_s
    per_s = count / time_s if time_s > 0.0 else 0.0
    return Stalls(per_s=per_s, mean_s=max(excess_s / count if count else 0.0, 1e-9))


def _beyond(closed: Sequence[Closed], calm: Stalls) -> tuple[float, float, float]:
    """Return the share of the time that loops lose further, the mean stall (s), and their use."""
    shares, means_s, uses = [], [], []
    for loop in closed:
        bins, use = _alone(loop), processor_use(loop)
        if bins is None or use < _COMPUTING:
            continue
        lost = _lost(bins)
        share = lost.sum_s / (bins.mean * float(bins.counts.sum()))
        is_chance = share <= _CHANCE * calm.share
        shares.append(0.0 if is_chance else share - calm.share)
        uses.append(use)
        if not is_chance:
            means_s.append(lost.met_s)
    if not means_s:
        return 0.0, 0.0, 1.0
    return float(np.median(shares)), float(np.median(means_s)), float(np.median(uses))


def processor_use(loop: Closed) -> float:
    """Return the share of one processor that a loop takes, 0 if its runs do not report it."""
    seen = loop.point.observed
    if "cpu_s_per_request" not in seen:
        return 0.0
    return min(seen["cpu_s_per_request"].value * seen["throughput"].value, 1.0)


def _alone(loop: Closed) -> Counted | None:
    quantities = ("service_s", "response_s")
    return times_of(loop.point, loop.kind, quantities) if loop.population == 1 else None


@dataclass(frozen=True, slots=True)
class _Lost:
    """Stalled requests, the sum (s) of their losses, and the mean (s) that an arrival meets."""

    count: float
    sum_s: float
    met_s: float


def _lost(bins: Counted) -> _Lost:
    usual = usual_of(bins)
    is_stalled = bins.high > usual.high[-1]
    excess_s = (bins.low + bins.high)[is_stalled] / 2.0 - usual.mean
    counts = bins.counts[is_stalled]
    first, second = float((counts * excess_s).sum()), float((counts * excess_s**2).sum())
    return _Lost(float(counts.sum()), first, second / (2.0 * first) if first > 0.0 else 0.0)


def _wake_cpu_s(lone: Sequence[Lone], host_s: float) -> float:
    seen = [
        lone_point.point.observed["cpu_s_per_request"].value - host_s
        for lone_point in lone
        if lone_point.is_regular and "cpu_s_per_request" in lone_point.point.observed
    ]
    return max(float(np.median(seen)), 0.0) if seen else 0.0
