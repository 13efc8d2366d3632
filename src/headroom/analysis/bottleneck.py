"""Which station or pool limits a point, in one sentence with its evidence.

The utilization law makes the resource with the highest utilization the one that saturates first:
throughput cannot grow by more than 1 / U before its utilization U reaches 1. A resource limits
when it is busy at least `SATURATED` of the time, so that whatever else is improved gains less
than 1 / 0.9 - 1 = 11 %.

A pool can be used up only because a station behind it is: its tokens are held while their
holders queue there. Such a pool is a symptom. It is the cause only when no station, and no pool
nested within it, is saturated while its tokens are held.

Invariant: the verdict follows from means over replications, the sentence shows their intervals.

Sources: Denning and Buzen, *The Operational Analysis of Queueing Network Models* (1978);
Lazowska et al., *Quantitative System Performance* (1984), chapter 5 (asymptotic bounds).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headroom.analysis.results import Bottleneck, Estimate, Resource
from headroom.experiment.run import ResourceTable
from headroom.quantities import format_bounds, format_percent, format_plain

SATURATED = 0.9
"""Busy share from which a resource limits: everything else together can gain 11 % at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A station or pool with its estimates, keyed by metric without ``KIND.NAME.``."""

    kind: Literal["station", "pool"]
    name: str
    capacity: float
    estimates: Mapping[str, Estimate]


def parts_of(resources: Iterable[Resource], estimates: Mapping[str, Estimate]) -> list[Part]:
    """Return the resources of a point with their estimates, picked from all of the point."""
    return [
        Part(
            kind=resource.kind,
            name=resource.name,
            capacity=resource.capacity,
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
    """

    population: float
    jobs_mean: float
    is_open: bool


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
    )


def find_bottleneck(
    parts: Sequence[Part], holds: Mapping[str, Sequence[str]], load: Load
) -> Bottleneck | None:
    """Return the verdict for a point, None where no resource has a utilization.

    Parameters
    ----------
    parts
        Stations and pools of the point.
    holds
        Pool name to the stations used while its tokens are held.
    load
        Who asks for the resources.
    """
    ranked = sorted((row for row in parts if _has_utilization(row)), key=_rank)
    if not ranked:
        return None
    saturated = [row for row in ranked if _utilization(row).value >= SATURATED]
    causes = [row for row in saturated if not _is_symptom(row, saturated, holds)]
    if not causes:
        return _verdict(ranked[0], _why_nothing(ranked[0], load), limits=False)
    cause = causes[0]
    sentence = _why_station if cause.kind == "station" else _why_pool
    return _verdict(cause, sentence(cause, ranked, holds, load), limits=True)


def _has_utilization(row: Part) -> bool:
    return "utilization" in row.estimates


def _utilization(row: Part) -> Estimate:
    return row.estimates["utilization"]


def _waiting(row: Part) -> float:
    queue = row.estimates.get("queue_len_mean")
    return queue.value if queue else 0.0


def _rank(row: Part) -> tuple[float, float, str]:
    """Busiest first; equally busy ones by their queue."""
    return -_utilization(row).value, -_waiting(row), row.name


def _is_symptom(row: Part, saturated: Sequence[Part], holds: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a pool is used up because of something used while its tokens are held."""
    if row.kind == "station":
        return False
    behind = set(holds.get(row.name, ()))
    return any(
        other.name in behind
        if other.kind == "station"
        else other is not row and _is_nested(holds.get(other.name, ()), behind)
        for other in saturated
    )


def _is_nested(inner: Sequence[str], outer: set[str]) -> bool:
    return bool(inner) and set(inner) < outer


def _verdict(row: Part, evidence: str, *, limits: bool) -> Bottleneck:
    utilization = _utilization(row)
    return Bottleneck(
        limits=limits,
        kind=row.kind if limits else "none",
        name=row.name if limits else "",
        evidence=evidence,
        utilization=utilization.value,
        utilization_low=utilization.low,
        utilization_high=utilization.high,
    )


def _why_station(
    cause: Part, ranked: Sequence[Part], holds: Mapping[str, Sequence[str]], load: Load
) -> str:
    parts = [f"{cause.name} is busy {_shown(cause)}"]
    others = [row for row in ranked if row.kind == "station" and row is not cause]
    if others:
        parts.append(_others(others))
    parts.append(f"{_of_all(_waiting(cause), load)} wait there")
    symptoms = [
        row
        for row in ranked
        if row.kind == "pool"
        and cause.name in holds.get(row.name, ())
        and _utilization(row).value >= SATURATED
    ]
    parts += [
        f"pool {row.name} is used up ({format_percent(_utilization(row).value)} held, "
        f"{_jobs(_waiting(row))} wait for it) only because its holders queue at {cause.name}"
        for row in symptoms
    ]
    return "; ".join(parts)


def _why_pool(
    cause: Part, ranked: Sequence[Part], holds: Mapping[str, Sequence[str]], load: Load
) -> str:
    behind = [
        row for row in ranked if row.kind == "station" and row.name in holds.get(cause.name, ())
    ]
    parts = [
        f"{_shown(cause)} of the tokens of pool {cause.name} ({cause.capacity:g}) are held",
        f"{_of_all(_waiting(cause), load)} wait for one",
    ]
    if behind:
        busiest = behind[0]
        parts.append(
            f"no station used while holding one is saturated: the busiest, {busiest.name}, is "
            f"busy {_shown(busiest)}"
        )
    else:
        parts.append("no station is used while holding one")
    return "; ".join(parts)


def _why_nothing(busiest: Part, load: Load) -> str:
    if busiest.kind == "station":
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
    else:
        second = "the arrival rate limits: all that arrives is served"
    return f"{first}; {second}"


def _shown(row: Part) -> str:
    utilization = _utilization(row)
    return format_bounds(
        utilization.value, utilization.low, utilization.high, "1", metric="utilization"
    )


def _jobs(number: float) -> str:
    """Return a mean number of jobs, with a decimal only where it matters."""
    return format_plain(number, decimals=0 if number >= 10.0 else 1)  # noqa: PLR2004


def _others(others: Sequence[Part]) -> str:
    """Say how busy the rest is; `others` is sorted, busiest first."""
    share = _utilization(others[0]).value
    if share >= SATURATED:
        return f"{others[0].name} follows at {format_percent(share)}"
    bound = format_percent(share)
    if len(others) == 1:
        return f"the other station, {others[0].name}, is at {bound}"
    return f"every other station is at {bound} or less"


def _of_all(waiting: float, load: Load) -> str:
    if load.population > 0.0 and not load.is_open:
        return f"{_jobs(waiting)} of {load.population:g} jobs"
    return f"{_jobs(waiting)} jobs"
