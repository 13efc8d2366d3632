"""Bottleneck of a point: the station or pool that limits it, with its evidence.

By the utilization law, the resource with the highest utilization saturates first: throughput cannot
grow by more than a factor of 1 / U before its utilization U reaches 1. A resource is a bottleneck
if it is busy at least `SATURATED` of the time, so that improving anything else gains less than 1 /
0.9 - 1 = 11%.

A pool may be exhausted only because of a resource behind it: its tokens are held while their
holders queue at a saturated station, or wait for the tokens of another pool. Such a pool is a
symptom. That the holders wait there is checked, not assumed. A lock around a disk is held while the
disk is busy, yet no job queues at the disk, so the lock is the bottleneck.

A station is taken while it works, is broken, or holds a job that cannot move on because the next
station is full. If blocked jobs are the reason that a station is always taken, it is a symptom. So
is a pool whose tokens such jobs hold. The bottleneck is the end of the chain: the station that
blocks others and is not blocked itself, no matter how busy it is. If a station is taken because it
is broken, its downtime is the bottleneck. A group of identical stations is reported in one row, and
its mean may hide a full station. So the row carries the busy share of its busiest station over the
whole run, and that share decides. If a group limits only through one station, the verdict says so:
more servers for all of them help, but an even load may be enough.

A station that rejects jobs never fills up, so every verdict mentions it. It is full because more
jobs arrive than it accepts. It is a bottleneck only if that causes harm (see `culprits`).

Resources whose utilizations cannot be distinguished are a tie, and all of them are named.

Invariant: the verdict follows from means over replications, the evidence keeps their intervals.

Sources: Denning and Buzen, *The Operational Analysis of Queueing Network Models* (1978);
Lazowska et al., *Quantitative System Performance* (1984), chapter 5 (asymptotic bounds).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal

import msgspec

from headroom.analysis.evidence import (
    ClassLoss,
    ClassShare,
    LimitEvidence,
    Limiting,
    LimitingCode,
    NotLimited,
    NotLimitedBy,
    Overflow,
    Symptom,
    SymptomCode,
)
from headroom.analysis.results import Bottleneck, Estimate, Resource
from headroom.analysis.run.estimates import estimate_of
from headroom.analysis.run.own_processors import Processors
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.culprits import (
    QUEUED,
    SATURATED,
    Behind,
    Culprits,
    Part,
    find_culprits,
)
from headroom.experiment.protocol.run import ResourceTable
from headroom.experiment.protocol.system import Metric

LOSSES_SHOWN = 3
"""Stations that reject jobs, and classes, of which a verdict tells."""
UNEXPLAINED = 0.02
"""Share of a station's work that its classes may leave unexplained."""
_DIGITS = 3
"""Decimals to which two utilizations are alike."""


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


MACHINE = "machine.cpu"
"""The processors of the machine, as an observed resource."""


def observed_parts(observed: Mapping[str, float], samples: Mapping[str, Sample]) -> list[Part]:
    """Return what was observed to be busy, by name to its servers, as stations.

    The Utilization Law needs nothing else of a resource than its busy share. Processors that others
    fill are left out. Where they are, a thread that waits for one is as good as busy.
    """
    found = []
    processors = own_processors(observed, samples)
    is_of_others = processors is not None and not (
        processors.busy < SATURATED * processors.count or processors.has_competition
    )
    for name, servers in observed.items():
        if name == MACHINE and is_of_others:
            continue
        metric = Metric(name=f"{name}.utilization", unit="1")
        runnable = f"{name}.runnable_share"
        shown = runnable if is_of_others and runnable in samples else metric.name
        if shown in samples:
            estimates = {"utilization": estimate_of(metric, samples[shown])}
            found.append(Part(kind="station", name=name, capacity=servers, estimates=estimates))
    return found


def own_processors(
    observed: Mapping[str, float], samples: Mapping[str, Sample]
) -> Processors | None:
    """Return whose the processors of a point are, None if they were not observed."""
    if MACHINE not in observed:
        return None
    limits = {name.removesuffix(".cpu"): servers for name, servers in observed.items()}
    values = {name: sample.value for name, sample in samples.items() if ".cpu." in name}
    return Processors.of(values, observed[MACHINE], limits)


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
    is_observed
        True for a measured load of which only busy shares of resources are known.
    neighbours
        Of such a load: share of the machine's processors that other programs take, if notable.
    """

    population: float
    jobs_mean: float
    is_open: bool
    all_jobs_mean: float = 0.0
    lost: Mapping[str, float] = field(default_factory=dict)
    failed_tries: Mapping[str, float] = field(default_factory=dict)
    busy: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    is_observed: bool = False
    neighbours: float | None = None

    @property
    def has_failures(self) -> bool | None:
        """True where some job is lost or some try fails; None if that is unknown."""
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
        population=sum((population for population, _ in closed), 0.0),
        jobs_mean=sum((jobs for _, jobs in closed), 0.0),
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
    """Return the verdict for a point, None if no resource has a utilization.

    Parameters
    ----------
    parts
        Stations and pools of the point.
    behind
        What lies behind each pool.
    load
        Who asks for the resources.
    useless
        Stations that reject work and whose doubling was tried: it gives nothing.
    """
    everything = sorted((row for row in parts if row.has_utilization), key=_rank)
    if not everything:
        return None
    overflows = _Overflows(behind, load, useless)
    harmless = [row for row in everything if row.is_saturated and overflows.why_harmless(row)]
    culprits = find_culprits(everything, behind, harmless)
    ranked = [row for row in everything if not _is_among(row, harmless)] or everything
    losses = {
        "overflows": overflows.of(everything),
        "losses": _losses(load),
        "neighbours": load.neighbours,
    }
    if not culprits.causes:
        nothing = msgspec.structs.replace(_why_nothing(ranked, load), **losses)
        return _verdict(ranked[0], nothing)
    cause = culprits.causes[0]
    evidence = msgspec.structs.replace(_why(culprits, ranked, behind, load), **losses)
    share = wait_share(cause, load) if behind.is_awaited(cause) else None
    return _verdict(cause, evidence, share=share)


def _why(culprits: Culprits, ranked: Sequence[Part], behind: Behind, load: Load) -> Limiting:
    cause, *others = culprits.causes
    tied = [row for row in others if _is_tie(cause, row)]
    rest = [row for row in ranked if row is not cause and not _is_among(row, tied)]
    stations = [row for row in rest if row.kind == "station"] if cause.kind == "station" else []
    inside = [row for row in ranked if row.kind == "station" and behind.is_behind(row, cause)]
    return Limiting(
        why=_code(cause),
        cause=cause.used(),
        population=_population(cause, load),
        is_awaited=behind.is_awaited(cause),
        classes=_for_whom(cause, load),
        ties=[row.used() for row in tied if row.is_saturated],
        next=stations[0].used() if stations else None,
        others=len(stations),
        behind=[
            row.used() for row in rest if _is_among(row, others) and behind.is_behind(row, cause)
        ],
        inside=inside[0].used() if inside else None,
        symptoms=[_symptom(row, cause, behind, load) for row in culprits.symptoms_of(cause)],
    )


def _code(cause: Part) -> LimitingCode:
    """Return why a resource limits, which need not be busy all the time."""
    if cause.kind == "pool":
        return "held"
    if cause.is_uneven:
        return "uneven"
    if cause.utilization.value * (1.0 - cause.down) >= SATURATED:
        return "busy"
    return "down" if cause.is_saturated and cause.down > 0.0 else "full_places"


def _population(cause: Part, load: Load) -> float | None:
    """Return of how many jobs those at a cause are a part; jobs that others start are not."""
    is_part = cause.waiting <= load.population and not load.is_open
    return load.population if is_part else None


def _is_among(row: Part, rows: Iterable[Part]) -> bool:
    return any(row is one for one in rows)


def _losses(load: Load) -> list[ClassLoss]:
    """Return the classes that lose most jobs, then those with most failed tries."""
    is_alone = len(load.lost) <= 1
    lost = [
        ClassLoss(name="" if is_alone else name, lost=share) for name, share in _most(load.lost)
    ]
    return lost + [
        ClassLoss(name="" if is_alone else name, failed_tries=tries)
        for name, tries in _most(load.failed_tries)
    ]


def _most(values: Mapping[str, float]) -> list[tuple[str, float]]:
    ranked = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(name, value) for name, value in ranked if value > 0.0][:LOSSES_SHOWN]


@dataclass(frozen=True, slots=True)
class _Overflows:
    """The work that stations reject, and whether that causes harm."""

    behind: Behind
    load: Load
    useless: Collection[str]

    def of(self, rows: Sequence[Part]) -> list[Overflow]:
        """Return the rejected load, largest first: such load is lost, and fills no queue."""
        lossy = sorted((row for row in rows if row.rejected > 0.0), key=lambda row: -row.rejected)
        return [
            Overflow(
                resource=row.used(),
                rejected=row.rejected,
                harmless=self.why_harmless(row) if row.is_saturated else "",
            )
            for row in lossy[:LOSSES_SHOWN]
        ]

    def why_harmless(self, row: Part) -> Literal["", "unawaited", "no_failures", "no_gain"]:
        """Return why the rejections of a station are harmless, empty if they may not be."""
        if row.rejected <= 0.0:
            return ""
        if not self.behind.is_awaited(row):
            return "unawaited"
        if self.load.has_failures is False:
            return "no_failures"
        return "no_gain" if row.name in self.useless else ""


def _rank(row: Part) -> tuple[float, float, str]:
    """Return a sort key: the most taken first, equally taken ones by their queue."""
    return -row.taken, -row.waiting, row.name


def wait_share(row: Part, load: Load) -> float | None:
    """Return the part of the mean response time that jobs wait at a resource.

    By Little's law it is the mean number that waits there over the mean number in the system;
    it is above 1 where several arms of one job wait there at once.
    """
    return row.waiting / load.all_jobs_mean if load.all_jobs_mean > 0.0 else None


def _verdict(row: Part, evidence: LimitEvidence, *, share: float | None = None) -> Bottleneck:
    utilization = row.utilization
    limits = isinstance(evidence, Limiting)
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


def _for_whom(cause: Part, load: Load) -> list[ClassShare]:
    """Return for which classes a station works, if the classes account for all of its work."""
    busy = load.busy.get(cause.name, {}) if cause.kind == "station" else {}
    total = sum(busy.values())
    whole = cause.utilization.value * cause.capacity
    if not whole > 0.0 or abs(total - whole) > UNEXPLAINED * whole:
        return []
    ranked = sorted(busy.items(), key=lambda pair: (-pair[1], pair[0]))[:LOSSES_SHOWN]
    shares = [ClassShare(name=name, share=work / total) for name, work in ranked if work > 0.0]
    return shares if len(shares) > 1 else []


def _is_tie(one: Part, other: Part) -> bool:
    """Return whether two utilizations are alike to 0.1%, or their intervals overlap."""
    left, right = one.utilization, other.utilization
    if round(left.value, _DIGITS) == round(right.value, _DIGITS):
        return True
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return False
    return left.low <= right.high and right.low <= left.high


def _symptom(row: Part, cause: Part, behind: Behind, load: Load) -> Symptom:
    if row.kind == "station":
        return Symptom(resource=row.used(), because="no_place")
    share = wait_share(row, load) if behind.is_awaited(row) else None
    return Symptom(resource=row.used(), because=_delayed(row, cause, behind), wait_share=share)


def _delayed(pool: Part, cause: Part, behind: Behind) -> SymptomCode:
    """Return how a cause keeps the holders of a pool."""
    if cause.kind == "pool":
        return "waits_for_pool"
    queue = cause.is_saturated and cause.waiting >= QUEUED and behind.is_behind(cause, pool)
    return "queues" if queue else "blocked"


def _why_nothing(ranked: Sequence[Part], load: Load) -> NotLimited:
    thinking = max(load.population - load.jobs_mean, 0.0)
    by: NotLimitedBy
    if load.is_observed:
        by = "observed"
    elif load.population > 0.0:
        by = "think_time" if thinking > load.jobs_mean else "population"
    elif any(row.rejected > 0.0 for row in ranked):
        by = "accepted_arrivals"
    else:
        by = "failing_arrivals" if load.has_failures else "arrivals"
    return NotLimited(
        fullest=ranked[0].used(), by=by, population=load.population, thinking=thinking
    )
