"""Which station or pool limits a point, in one sentence with its evidence.

The utilization law makes the resource with the highest utilization the one that saturates first:
throughput cannot grow by more than 1 / U before its utilization U reaches 1. A resource limits
when it is busy at least `SATURATED` of the time, so that whatever else is improved gains less
than 1 / 0.9 - 1 = 11 %.

A pool can be used up only because of what lies behind it: its tokens are held while their holders
queue at a saturated station, or wait for the tokens of another pool. Such a pool is a symptom.
That its holders do wait there is looked for, not taken for granted: a lock around a disk is held
while the disk is busy, yet nobody queues at the disk, so the lock limits.

A station is taken while it works, is broken, or holds a job that finds no place further on. One
that is taken all the time because of the last is a symptom, and so is a pool whose tokens such
jobs hold: what limits is the end of the chain, the station that blocks and is not blocked itself,
however busy it is. Where a station is taken because it is broken, the time that it is down limits.
A group of like stations is reported in one row, and its mean may hide one that is full. So the row
carries the busy share of its busiest station, over the whole run, and that decides. A group that
limits only by one station says so: more servers for all of them help, an even load may do as well.

A station that turns jobs away never fills up, so that is said beside any verdict. It is full
because more comes than it takes; it limits only where that harms (see `culprits`).

Resources whose utilizations cannot be told apart are a tie, and all of them are named.

Invariant: the verdict follows from means over replications, the sentence shows their intervals.

Sources: Denning and Buzen, *The Operational Analysis of Queueing Network Models* (1978);
Lazowska et al., *Quantitative System Performance* (1984), chapter 5 (asymptotic bounds).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from headroom.analysis.results import Bottleneck, Estimate, Resource
from headroom.analysis.verdicts.culprits import (
    QUEUED,
    SATURATED,
    Behind,
    Culprits,
    Part,
    find_culprits,
)
from headroom.experiment.protocol.run import ResourceTable
from headroom.quantities import (
    format_bounds,
    format_given,
    format_percent,
    format_plain,
)

NOBODY = 0.05
"""Mean number waiting that prints as 0.0."""
LOSSES_SHOWN = 3
"""Stations that turn jobs away, and classes, of which a verdict tells."""
UNEXPLAINED = 0.02
"""Share of a station's work that its classes may leave unexplained."""


def parts_of(resources: Iterable[Resource], estimates: Mapping[str, Estimate]) -> list[Part]:
    """Return the resources of a point with their estimates, picked from all of the point."""
    return [
        Part(
            kind=resource.kind,
            name=resource.name,
            capacity=inf if resource.capacity is None else resource.capacity,
            estimates=resource.estimates_among(estimates),
        )
        for resource in resources
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Who asks for the resources: closed users, of whom some think, or open arrivals.

    Parameters
    ----------
    population
        Closed jobs in total; 0 for open loads only.
    jobs_mean
        Mean number of closed jobs in the system, thinking ones not counted.
    is_open
        True where some class arrives from outside.
    all_jobs_mean
        Mean number of jobs of all classes in the system, thinking ones not counted.
    lost, failed_tries
        Class name to the share of its jobs that are lost, and to the failed tries of a job; empty
        where unknown.
    busy
        Station name to the mean number of servers that work for each class; empty with one class.
    """

    population: float
    jobs_mean: float
    is_open: bool
    all_jobs_mean: float = 0.0
    lost: Mapping[str, float] = field(default_factory=dict)
    failed_tries: Mapping[str, float] = field(default_factory=dict)
    busy: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def has_failures(self) -> bool | None:
        """True where some job is lost or some try fails; None where that is unknown."""
        known = [*self.lost.values(), *self.failed_tries.values()]
        return any(known) if known else None


def load_of(classes: ResourceTable | None, estimates: Mapping[str, float]) -> Load:
    """Return the load of a point from its class table and the mean jobs of each class."""
    if classes is None:
        return Load(population=0.0, jobs_mean=0.0, is_open=False)
    closed = [
        (float(capacity), estimates.get(f"class.{name}.jobs_mean", 0.0))
        for name, capacity in zip(classes.names, classes.capacity, strict=True)
        if capacity != float("inf")
    ]
    return Load(
        population=sum(population for population, _ in closed),
        jobs_mean=sum(jobs for _, jobs in closed),
        is_open=len(closed) < len(classes.names),
        all_jobs_mean=sum(estimates.get(f"class.{name}.jobs_mean", 0.0) for name in classes.names),
        lost=_by_class(classes, estimates, "lost_ratio"),
        failed_tries=_by_class(classes, estimates, "failed_tries_mean"),
        busy=_busy_by_class(classes, estimates) if len(classes.names) > 1 else {},
    )


def _by_class(
    classes: ResourceTable, estimates: Mapping[str, float], metric: str
) -> dict[str, float]:
    named = {name: f"class.{name}.{metric}" for name in classes.names}
    return {name: estimates[key] for name, key in named.items() if key in estimates}


def _busy_by_class(
    classes: ResourceTable, estimates: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Return how many servers of each station work for each class, by Little's law."""
    found: dict[str, dict[str, float]] = {}
    for name in classes.names:
        start, end = f"class.{name}.station.", ".service_share"
        jobs = estimates.get(f"class.{name}.jobs_mean", 0.0)
        for metric, share in estimates.items():
            if metric.startswith(start) and metric.endswith(end):
                station = metric[len(start) : -len(end)]
                found.setdefault(station, {})[name] = share * jobs
    return found


def find_bottleneck(
    parts: Sequence[Part], behind: Behind, load: Load, useless: Collection[str] = ()
) -> Bottleneck | None:
    """Return the verdict for a point, None where no resource has a utilization.

    Parameters
    ----------
    parts
        Stations and pools of the point.
    behind
        What lies behind each pool.
    load
        Who asks for the resources.
    useless
        Stations that turn work away and whose doubling was tried: it gives nothing.
    """
    everything = sorted((row for row in parts if row.has_utilization), key=_rank)
    if not everything:
        return None
    overflows = _Overflows(behind, load, useless)
    harmless = [row for row in everything if row.is_saturated and overflows.why_harmless(row)]
    losses = [*overflows.sentences(everything), *_failures(load)]
    culprits = find_culprits(everything, behind, harmless)
    ranked = [row for row in everything if not _is_among(row, harmless)] or everything
    if not culprits.causes:
        evidence = [_why_nothing(ranked, load), *losses]
        return _verdict(ranked[0], "; ".join(evidence), limits=False)
    evidence = [*_why(culprits, ranked, behind, load), *losses]
    cause = culprits.causes[0]
    share = wait_share(cause, load) if behind.is_awaited(cause) else None
    return _verdict(cause, "; ".join(evidence), limits=True, share=share)


def _why(culprits: Culprits, ranked: Sequence[Part], behind: Behind, load: Load) -> list[str]:
    cause = culprits.causes[0]
    waits = _waits(cause, behind, load)
    return [
        *(_why_station(cause, waits) if cause.kind == "station" else _why_pool(cause, waits)),
        *_for_whom(cause, load),
        *_ties(cause, culprits.causes[1:]),
        *_rest(cause, ranked, culprits.causes, behind),
        *(_symptom(row, cause, behind, load) for row in culprits.symptoms_of(cause)),
    ]


def _is_among(row: Part, rows: Iterable[Part]) -> bool:
    return any(row is one for one in rows)


def _failures(load: Load) -> Iterator[str]:
    """Say which part of the jobs is lost, and how many tries fail, of the classes with most."""
    of = {name: f" of class {name}" if len(load.lost) > 1 else "" for name in load.lost}
    for name, share in _most(load.lost):
        yield f"{format_percent(share)} of the jobs{of[name]} are lost"
    for name, tries in _most(load.failed_tries):
        number = format_given(float(f"{tries:.2g}"), "1")
        yield f"each job{of.get(name, '')} makes {number} tries that fail"


def _most(values: Mapping[str, float]) -> list[tuple[str, float]]:
    ranked = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(name, value) for name, value in ranked if value > 0.0][:LOSSES_SHOWN]


@dataclass(frozen=True, slots=True)
class _Overflows:
    """What stations turn away, and whether that harms."""

    behind: Behind
    load: Load
    useless: Collection[str]

    def sentences(self, rows: Sequence[Part]) -> Iterator[str]:
        """Say what is turned away, most first: such load is lost, and fills no queue."""
        lossy = sorted((row for row in rows if row.rejected > 0.0), key=lambda row: -row.rejected)
        for row in lossy[:LOSSES_SHOWN]:
            words = f"{row.name} turns away {format_percent(row.rejected)} of those who come"
            why = self.why_harmless(row) if row.is_saturated else ""
            yield f"{words} and is busy {_percent(row)}, but {why}" if why else words

    def why_harmless(self, row: Part) -> str:
        """Return why it harms nobody that a station turns work away, nothing where it may."""
        if row.rejected <= 0.0:
            return ""
        if not self.behind.is_awaited(row):
            return "only work comes there that no job waits for"
        if self.load.has_failures is False:
            return "no job is lost by that and no try fails"
        if row.name in self.useless:
            return "doubling it gives nothing"
        return ""


def _rank(row: Part) -> tuple[float, float, str]:
    """Return a sort key: the most taken first, equally taken ones by their queue."""
    return -row.taken, -row.waiting, row.name


def wait_share(row: Part, load: Load) -> float | None:
    """Return the part of the mean response time that jobs wait at a resource.

    By Little's law it is the mean number that waits there over the mean number in the system;
    it is above 1 where several arms of one job wait there at once.
    """
    return row.waiting / load.all_jobs_mean if load.all_jobs_mean > 0.0 else None


def _verdict(row: Part, evidence: str, *, limits: bool, share: float | None = None) -> Bottleneck:
    utilization = row.utilization
    return Bottleneck(
        limits=limits,
        kind=row.kind if limits else "none",
        name=row.name if limits else "",
        evidence=evidence,
        utilization=utilization.value,
        utilization_low=utilization.low,
        utilization_high=utilization.high,
        wait_share=share,
    )


def _why_station(cause: Part, waits: str) -> list[str]:
    if cause.is_uneven:
        return [
            f"the busiest {cause.name} is busy {format_percent(cause.busiest)}, all of them "
            f"together {_shown(cause)}: who needs that one waits, however free the others are",
            waits,
        ]
    return [f"{cause.name} is busy {_shown(cause)}{_besides(cause)}", waits]


def _waits(cause: Part, behind: Behind, load: Load) -> str:
    """Say how many wait at a cause, and how much of the response time that is."""
    where = "there" if cause.kind == "station" else "for one"
    if cause.waiting < NOBODY:
        return f"nobody waits {where}"
    if behind.is_awaited(cause):
        return f"{_of_all(cause.waiting, load)} wait {where}{_of_response(cause, load)}"
    return (
        f"{_jobs(cause.waiting)} pieces of work wait {where}, in no response time: no job waits "
        "for them"
    )


def _for_whom(cause: Part, load: Load) -> list[str]:
    """Say for which classes a station works, where the classes account for all of its work."""
    busy = load.busy.get(cause.name, {}) if cause.kind == "station" else {}
    total = sum(busy.values())
    whole = cause.utilization.value * cause.capacity
    if not whole > 0.0 or abs(total - whole) > UNEXPLAINED * whole:
        return []
    ranked = sorted(busy.items(), key=lambda pair: (-pair[1], pair[0]))[:LOSSES_SHOWN]
    shares = [f"{format_percent(one / total)} for {name}" for name, one in ranked if one > 0.0]
    return [f"its work is {' and '.join(shares)}"] if len(shares) > 1 else []


def _besides(cause: Part) -> str:
    """Say why a station limits that is not busy all the time."""
    if cause.utilization.value >= SATURATED:
        return ""
    if cause.is_saturated and cause.down > 0.0:
        return (
            f" and down {format_percent(cause.down)} of the time: the time that it is down limits"
        )
    return ", but its places are full, and jobs that wait for one hold up others"


def _why_pool(cause: Part, waits: str) -> list[str]:
    return [
        f"{_shown(cause)} of the tokens of pool {cause.name} ({cause.capacity:g}) are held",
        waits,
    ]


def _of_response(cause: Part, load: Load) -> str:
    """Say how much of the response time that is, where jobs wait one at a time."""
    share = wait_share(cause, load)
    if share is None or share > 1.0:
        return ""
    return f", {format_plain(100.0 * share, decimals=0)} % of the response time"


def _ties(cause: Part, others: Sequence[Part]) -> list[str]:
    """Name the resources that limit as much as the cause does."""
    tied = [row for row in others if row.is_saturated and _is_tie(cause, row)]
    if not tied:
        return []
    names = " and ".join(f"{_titled(row)} ({_percent(row)})" for row in tied)
    verb = "is" if len(tied) == 1 else "are"
    return [f"{names} {verb} as busy: they limit together"]


def _is_tie(one: Part, other: Part) -> bool:
    """Return whether two utilizations print alike, or their intervals overlap."""
    left, right = one.utilization, other.utilization
    if _percent(one) == _percent(other):
        return True
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return False
    return left.low <= right.high and right.low <= left.high


def _rest(cause: Part, ranked: Sequence[Part], causes: Sequence[Part], behind: Behind) -> list[str]:
    """Say how busy the resources are that are neither the cause nor as busy as it."""
    tied = [row for row in causes if row is not cause and _is_tie(cause, row)]
    left = [row for row in ranked if row is not cause and row not in tied]
    if cause.kind == "station":
        stations = [row for row in left if row.kind == "station"]
        return [_others(stations)] if stations else []
    full = [row for row in left if row in causes and behind.is_behind(row, cause)]
    if full:
        return [_full_behind(row) for row in full]
    inside = [row for row in ranked if row.kind == "station" and behind.is_behind(row, cause)]
    if not inside:
        return ["no station is used while holding one"]
    if inside[0] in tied:
        return []
    return [
        f"no station used while holding one is saturated: the busiest, {inside[0].name}, is busy "
        f"{_shown(inside[0])}"
    ]


def _full_behind(row: Part) -> str:
    verb = "busy" if row.kind == "station" else "held"
    return f"{_titled(row)} behind it is {verb} {_shown(row)}, but nobody waits there"


def _symptom(row: Part, cause: Part, behind: Behind, load: Load) -> str:
    if row.kind == "station":
        return (
            f"{row.name} has no time left ({_percent(row)} busy, {format_percent(row.blocked)} "
            f"held up) only because jobs that it has served find no place at {cause.name}"
        )
    of_response = _of_response(row, load) if behind.is_awaited(row) else ""
    return (
        f"pool {row.name} is used up ({_percent(row)} held, {_jobs(row.waiting)} wait for it"
        f"{of_response}) only because its holders {_delayed(row, cause, behind)}"
    )


def _delayed(pool: Part, cause: Part, behind: Behind) -> str:
    """Say how a cause keeps the holders of a pool."""
    if cause.kind == "pool":
        return f"wait for pool {cause.name}"
    queue = cause.is_saturated and cause.waiting >= QUEUED and behind.is_behind(cause, pool)
    return f"queue at {cause.name}" if queue else f"are held up by {cause.name}"


def _titled(row: Part) -> str:
    return row.name if row.kind == "station" else f"pool {row.name}"


def _percent(row: Part) -> str:
    return format_percent(row.utilization.value)


def _why_nothing(ranked: Sequence[Part], load: Load) -> str:
    busiest = ranked[0]
    if busiest.is_saturated:
        first = "nothing limits: what is full only turns away work without harm"
    elif busiest.kind == "station":
        first = f"nothing is saturated: the busiest, {busiest.name}, is busy {_shown(busiest)}"
    else:
        first = f"nothing is used up: the fullest, pool {busiest.name}, is held {_shown(busiest)}"
    if load.population > 0.0 and load.population - load.jobs_mean > load.jobs_mean:
        thinking = load.population - load.jobs_mean
        second = (
            f"the users' think time limits: {_jobs(thinking)} of {load.population:g} users "
            "think at any time"
        )
    elif load.population > 0.0:
        second = (
            f"the number of users limits: {load.population:g} cannot keep any station busy, "
            "each request takes its own service time"
        )
    elif any(row.rejected > 0.0 for row in ranked):
        second = "the arrival rate limits: all that is not turned away is served"
    elif load.has_failures:
        second = "the arrival rate limits, yet not all work comes to its end"
    else:
        second = "the arrival rate limits: all that arrives is served"
    return f"{first}; {second}"


def _shown(row: Part) -> str:
    utilization = row.utilization
    return format_bounds(
        utilization.value, utilization.low, utilization.high, "1", metric="utilization"
    )


def _jobs(number: float) -> str:
    """Return a mean number of jobs, with a decimal only where it matters."""
    return format_plain(number, decimals=0 if number >= 10.0 else 1)  # noqa: PLR2004


def _others(others: Sequence[Part]) -> str:
    """Say how busy the rest is; `others` is sorted, busiest first."""
    share = others[0].utilization.value
    if others[0].is_uneven:
        busiest = format_percent(others[0].busiest)
        return f"{others[0].name} follows at {format_percent(share)}, the busiest at {busiest}"
    if share >= SATURATED:
        return f"{others[0].name} follows at {format_percent(share)}"
    bound = format_percent(share)
    if len(others) == 1:
        return f"the other station, {others[0].name}, is at {bound}"
    return f"every other station is at {bound} or less"


def _of_all(waiting: float, load: Load) -> str:
    """Say how many wait, and of how many; jobs that others have started are not counted there."""
    if waiting <= load.population and not load.is_open:
        return f"{_jobs(waiting)} of {load.population:g} jobs"
    return f"{_jobs(waiting)} jobs"
