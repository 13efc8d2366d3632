"""The cause behind a full resource: the end of the chain of blocked resources.

A pool may be exhausted only because its holders wait at a station or for another pool. A station
may be taken only because its finished jobs find no room at the next one. Each such link is checked
in the measurements, not assumed from the programs.

The utilization law bounds the throughput because each job brings a fixed amount of work to a
station. This does not hold at a station that rejects work: the more work arrives, the more is
rejected, and a full station proves nothing. Such a station is the cause only if rejection causes
harm: if jobs are lost, if attempts fail, or if it is the end of a chain. Its overflow is harmless
if no job waits for the work, if no job was lost and no attempt failed, or if a what-if run that
doubled the station gained nothing.

Sources: Perros, *Queueing Networks with Blocking* (1994), blocking after service; Denning and
Buzen (1978) for utilizations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from headroom.analysis.evidence import UsedResource
from headroom.analysis.results import Estimate

_CHAINS_AT_MOST = 1_000
"""Chains that are followed, the shortest first: parts that all wait for all have too many."""
SATURATED = 0.9
"""Taken share from which a resource limits: everything else together can gain 11% at most."""
QUEUED = 0.1
"""Mean number waiting at a resource from which the holders of a pool are said to wait there; also
the share of a pool's tokens from which they are said to be held by jobs without a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A station or pool with its estimates, keyed by metric without ``KIND.NAME.``."""

    kind: Literal["station", "pool"]
    name: str
    capacity: float
    estimates: Mapping[str, Estimate]

    @property
    def has_utilization(self) -> bool:
        """True where a busy share was measured."""
        return "utilization" in self.estimates

    @property
    def utilization(self) -> Estimate:
        """Share of the time up in which servers work, or of all time that tokens are held."""
        return self.estimates["utilization"]

    @property
    def waiting(self) -> float:
        """Mean number of jobs that wait here."""
        return self._value("queue_len_mean")

    @property
    def blocked(self) -> float:
        """Share of the servers' time in which they hold a job that finds no place further on."""
        return self._value("blocked_ratio")

    @property
    def down(self) -> float:
        """Share of the servers' time in which they are broken."""
        return self._value("down_ratio")

    @property
    def rejected(self) -> float:
        """Share of those who come that are rejected."""
        return self._value("reject_ratio")

    @property
    def busiest(self) -> float:
        """Busy share of the busiest station of a group; of a station by itself, its own."""
        return max(self.utilization.value, self._value("utilization_max"))

    @property
    def is_uneven(self) -> bool:
        """True for a group of which one station is saturated though all together are not."""
        return self.utilization.value < SATURATED <= self.busiest

    @property
    def taken(self) -> float:
        """Share of the time in which no work can begin: busy, broken, or held up.

        Of a group it is that of the busiest: jobs routed to it wait, however free the
        others are.
        """
        return self.working + self.blocked + self.down

    @property
    def working(self) -> float:
        """Share of all time in which servers work, those of the busiest of a group."""
        return max(self.utilization.value * (1.0 - self.down), self._value("utilization_max"))

    @property
    def is_saturated(self) -> bool:
        """True where hardly any time is left."""
        return self.taken >= SATURATED

    @property
    def is_held_up(self) -> bool:
        """True where it would not be saturated without jobs that find no place further on."""
        return self.is_saturated and self.taken - self.blocked < SATURATED

    def used(self) -> UsedResource:
        """Return how full it is as evidence."""
        utilization = self.utilization
        return UsedResource(
            kind=self.kind,
            name=self.name,
            utilization=utilization.value,
            low=utilization.low,
            high=utilization.high,
            waiting=self.waiting if "queue_len_mean" in self.estimates else None,
            capacity=self.capacity if isfinite(self.capacity) else None,
            is_saturated=self.is_saturated,
            busiest=self.busiest if self.is_uneven else None,
            blocked=self.blocked,
            down=self.down,
        )

    def _value(self, metric: str) -> float:
        found = self.estimates.get(metric)
        return found.value if found else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What lies behind each pool and station: what its holders use, or ask for, meanwhile.

    Parameters
    ----------
    stations, pools
        Pool name to the stations used, and to the other pools acquired.
    blockers
        Station name to the stations with few places that may hold up its servers.
    unawaited
        ``"station"`` and ``"pool"`` to those to which only work comes that no job waits for.
    """

    stations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pools: Mapping[str, Sequence[str]] = field(default_factory=dict)
    blockers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unawaited: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def is_awaited(self, part: Part) -> bool:
        """Return whether any job waits for what happens at `part`."""
        return part.name not in self.unawaited.get(part.kind, ())

    def is_behind(self, part: Part, pool: Part) -> bool:
        """Return whether `part` lies behind `pool`, and not the other way round as well."""
        if pool.kind != "pool":
            return False
        if part.kind == "station":
            return part.name in self.stations.get(pool.name, ())
        is_inner = part.name in self.pools.get(pool.name, ())
        return is_inner and pool.name not in self.pools.get(part.name, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprits:
    """The causes, and whose fault each saturated resource is.

    Parameters
    ----------
    causes
        Where chains end, the most taken chain first.
    blames
        Saturated resources that are symptoms, each with the causes that it leads to.
    """

    causes: Sequence[Part]
    blames: Sequence[tuple[Part, Sequence[Part]]]

    def symptoms_of(self, cause: Part) -> list[Part]:
        """Return the resources that are saturated because of `cause`."""
        return [row for row, ends in self.blames if any(end is cause for end in ends)]


def find_culprits(
    ranked: Sequence[Part], behind: Behind, harmless: Sequence[Part] = ()
) -> Culprits:
    """Return where the chains from all saturated resources end.

    Parameters
    ----------
    ranked
        All resources with a utilization, the fullest first.
    behind
        Who may hold up whom.
    harmless
        Those of `ranked` that are full because the overflow is rejected, which is harmless:
        no chain begins there.
    """
    causes: list[Part] = []
    blames = []
    for row in ranked:
        if not row.is_saturated or any(row is one for one in harmless):
            continue
        ends = _ends(row, ranked, behind)
        causes += [end for end in ends if all(end is not cause for cause in causes)]
        if all(end is not row for end in ends):
            blames.append((row, ends))
    return Culprits(causes=causes, blames=blames)


def _ends(row: Part, ranked: Sequence[Part], behind: Behind) -> list[Part]:
    """Return where the chains from `row` end; in a circle, at the one that works most."""
    found: list[Part] = []
    waiting: list[tuple[Part, tuple[Part, ...]]] = [(row, (row,))]
    for _ in range(_CHAINS_AT_MOST):
        if not waiting:
            break
        part, chain = waiting.pop(0)
        links = list(_links(part, ranked, behind))
        for link in links:
            if any(link is one for one in chain):
                found.append(max(chain, key=lambda one: one.utilization.value))
            else:
                waiting.append((link, (*chain, link)))
        if not links:
            found.append(part)
    return [end for place, end in enumerate(found) if all(end is not one for one in found[:place])]


def _links(part: Part, ranked: Sequence[Part], behind: Behind) -> Iterator[Part]:
    """Yield the resources that hold up `part`, seen from it alone."""
    if part.kind == "station":
        if part.is_held_up:
            yield from _blocker(part, ranked, behind)
        return
    for other in ranked:
        if not behind.is_behind(other, part):
            continue
        if other.is_saturated and other.waiting >= QUEUED:
            yield other
        elif other.blocked * other.capacity >= QUEUED * part.capacity:
            yield from _blocker(other, ranked, behind)


def _blocker(part: Part, ranked: Sequence[Part], behind: Behind) -> list[Part]:
    """Return the fullest of the stations for whose places the jobs of a station may wait."""
    names = behind.blockers.get(part.name, ())
    found = [one for one in ranked if one.kind == "station" and one.name in names]
    return found[:1]
