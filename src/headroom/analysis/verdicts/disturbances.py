"""Measured replications disturbed from outside: other programs, the host, a quota, swap.

Invariant: what the measured program does itself is no disturbance. Its own processor time is
subtracted, and tasks that wait for a processor count only if others used the processors too.

A replication is disturbed if its times may be longer by `NOTABLE` or more, which is the default
zone of *the same* in comparisons:

- *others*: programs that Headroom did not start used that share of the usable processors, **and**
  tasks waited for a processor for that share of the time. Programs on otherwise idle processors
  take nothing away, and a program with more threads than processors waits for itself.
- *steal*: the host gave that share of the requested processor time to other virtual machines.
- *throttling*: a quota of processor time was exhausted in that share of its periods.
- *swapping*: pages were written to or read from swap space at a rate that takes that share of the
  time at `SWAP_PAGE_S` each.
- *slower*: known work before or after the replication took that share longer than at its fastest
  around any replication of the point; from `headroom.experiment.machine.calibration.DISTURBED` on,
  and only if the replication had a process of its own.

The kernel counts most of this in ticks of 10 ms or less. Replications shorter than `BLOCK_S` are
therefore judged together with those that ran after them, as one block.

If the roles of an experiment were on several machines, each machine is judged, and the worst one
counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from headroom.analysis.results import Disturbance
from headroom.experiment.journal.journal_rows import ReplicationRow
from headroom.experiment.machine.calibration import DISTURBED, KINDS, times_of
from headroom.experiment.machine.machine_watch import PREFIX

NOTABLE = 0.05
"""Share from which on something is a disturbance: the default of `same_within`."""
BLOCK_S = 1.0
"""Shortest time (s) that is judged: 100 ticks, so that one tick is 1%."""
SHORTEST_S = 0.2
"""Time (s) of all replications of a point below which nothing is judged: a tick is 5% of it."""
SWAP_PAGE_S = 0.001
"""Assumed time (s) for one page of swap: between 0.1 ms of a flash drive and 10 ms of a disk."""

Kind: TypeAlias = Literal["others", "steal", "throttling", "swapping", "slower"]
Counters: TypeAlias = Mapping[str, float]


def disturbances_of(rows: Sequence[ReplicationRow]) -> list[Disturbance]:
    """Return the disturbances of the finished replications of a point, each kind once."""
    worst: dict[Kind, float] = {}
    concerned: dict[Kind, set[int]] = {}
    for prefix in _machines(rows):
        for block in _blocks(rows, prefix):
            total = _together(block, prefix)
            if total["span_s"] < SHORTEST_S:
                continue
            for kind, share in shares_of(total).items():
                if share >= NOTABLE:
                    worst[kind] = max(worst.get(kind, 0.0), share)
                    concerned.setdefault(kind, set()).update(row.replication for row in block)
    slower = _slower(rows)
    if slower:
        worst["slower"] = max(slower.values())
        concerned["slower"] = set(slower)
    return [
        Disturbance(kind=kind, share=share, replications=sorted(concerned[kind]))
        for kind, share in worst.items()
    ]


def shares_of(counters: Counters) -> dict[Kind, float]:
    """Return how much of a replication each kind of disturbance took, 0 for nothing.

    Parameters
    ----------
    counters
        What `headroom.experiment.machine.machine_watch` stored, without its prefix.

    Examples
    --------
    >>> shares_of({"span_s": 2.0, "cpu_count": 2.0, "busy_s": 4.0, "own_busy_s": 2.0,
    ...            "cpu_wait_s": 1.0})
    {'others': 0.5}
    """
    span_s = counters.get("span_s", 0.0)
    if span_s <= 0.0:
        return {}
    shares: dict[Kind, float] = {}
    if "busy_s" in counters:
        shares["others"] = _others(counters, span_s)
    if "steal_s" in counters:
        wanted_s = counters["busy_s"] + counters["steal_s"]
        shares["steal"] = counters["steal_s"] / wanted_s if wanted_s else 0.0
    if counters.get("quota_periods"):
        shares["throttling"] = min(counters["throttled_periods"] / counters["quota_periods"], 1.0)
    if "swapped_pages" in counters:
        shares["swapping"] = min(counters["swapped_pages"] * SWAP_PAGE_S / span_s, 1.0)
    return shares


def _slower(rows: Sequence[ReplicationRow]) -> dict[int, float]:
    """Return the replications around which known work took longer than at its fastest: share."""
    around = {row.replication: times_of(row.run.counters) for row in rows if row.run is not None}
    slower: dict[int, float] = {}
    for kind in KINDS:
        known = {number: max(times[kind]) for number, times in around.items() if kind in times}
        fastest_s = min((min(around[number][kind]) for number in known), default=0.0)
        for number, slowest_s in known.items():
            share = slowest_s / fastest_s - 1.0
            if share >= DISTURBED:
                slower[number] = max(slower.get(number, 0.0), share)
    return slower


def _others(counters: Counters, span_s: float) -> float:
    """Return the share of the usable processors that others used while tasks waited for one."""
    if counters.get("cpu_wait_s", span_s) < NOTABLE * span_s:
        return 0.0
    own_s = counters["own_busy_s"] + counters.get("services_busy_s", 0.0)
    used_s = counters["busy_s"] - own_s
    return min(max(used_s / (span_s * counters["cpu_count"]), 0.0), 1.0)


def _machines(rows: Sequence[ReplicationRow]) -> list[str]:
    """Return the prefix of the counters of each machine: of the load, and of other roles."""
    last = f"{PREFIX}span_s"
    names = {name for row in rows if row.run is not None for name in row.run.counters}
    return sorted(name.removesuffix("span_s") for name in names if name.endswith(last))


def _together(rows: Sequence[ReplicationRow], prefix: str) -> dict[str, float]:
    """Return the counters of a block: sums, except for the number of processors."""
    held = [_counters(row, prefix) for row in rows]
    total = {name: sum(one.get(name, 0.0) for one in held) for name in held[0]}
    return total | {"cpu_count": held[0]["cpu_count"]}


def _blocks(rows: Sequence[ReplicationRow], prefix: str) -> Iterator[list[ReplicationRow]]:
    """Yield the replications that were watched, short ones together; the last takes the rest."""
    blocks: list[list[ReplicationRow]] = []
    length_s = BLOCK_S
    for row in rows:
        span_s = _counters(row, prefix).get("span_s")
        if span_s is None:
            continue
        if length_s >= BLOCK_S:
            blocks.append([])
            length_s = 0.0
        blocks[-1].append(row)
        length_s += span_s
    if len(blocks) > 1 and length_s < BLOCK_S:
        rest = blocks.pop()
        blocks[-1] += rest
    yield from blocks


def _counters(row: ReplicationRow, prefix: str) -> dict[str, float]:
    """Return the counters of a machine that a row holds, without their prefix."""
    held = {} if row.run is None else row.run.counters
    return {
        name.removeprefix(prefix): value for name, value in held.items() if name.startswith(prefix)
    }
