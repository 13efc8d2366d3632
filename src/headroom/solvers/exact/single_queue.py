"""Recognise a station that is a queue with a known exact solution, and solve it.

Exact is an answer if the arrivals are what they are taken for: a station that jobs come to first
gets those of its classes, any other one independent times with the given variability.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from headroom.simulation import Distribution
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.formulas import batch_wait_s, batched_jobs, ggc_wait_s, mmc_wait_s
from headroom.solvers.exact.phases import (
    Arriving,
    PhaseType,
    mixed,
    modulated,
    phase_type,
    renewal,
    two_moments,
)
from headroom.solvers.exact.queue_chain import (
    Breaking,
    Queue,
    alternating,
    independent,
    solve_queue,
)
from headroom.solvers.exact.renewal import gi_m_c_wait_s, transform_of
from headroom.solvers.network import INDIFFERENT, PRIORITY, Centre, JobClass, Network
from headroom.solvers.walk import OUTSIDE, Visit

MARKOV = 1e-9
"""Distance of a c2 from 1 up to which arrivals count as Poisson."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """Wait (s) of the jobs served, share of the others, all jobs there, and the theorem's name."""

    wait_s: float
    lost: float = 0.0
    jobs: float
    name: str
    is_exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A station with the classes that come to it, and what they ask for."""

    network: Network
    row: int
    arrival_c2: float

    @property
    def station(self) -> Centre:
        return self.network.stations[self.row]

    @property
    def classes(self) -> list[JobClass]:
        visits = self.network.visits[self.row]
        return [one for one, count in zip(self.network.classes, visits, strict=True) if count > 0]

    @property
    def rate(self) -> float:
        return float(self.network.visits[self.row] @ self.network.rate_per_s)

    @property
    def uses(self) -> list[tuple[float, Visit]]:
        """Each use with its jobs per second."""
        return [
            (one.rate_per_s * use.mass, use)
            for one in self.classes
            for use in one.uses
            if use.station == self.station.name and use.mass > 0
        ]

    @property
    def is_first(self) -> bool:
        """True if every job of its classes comes here first, and once.

        A delay before it would blur arrivals that are not Poisson; where it is, is not known.
        """
        name = self.station.name
        if any(one.arrivals.reason and one.delay_s > 0 for one in self.classes):
            return False
        return all(
            {pair: mass for pair, mass in one.flows.items() if name == pair[1] or not pair[0]}
            == {(OUTSIDE, name): 1.0}
            for one in self.classes
        )

    @property
    def is_poisson(self) -> bool:
        if any(one.arrivals.reason for one in self.classes):
            return False
        return self.is_first or abs(self.arrival_c2 - 1.0) < MARKOV

    @property
    def is_exponential(self) -> bool:
        means = [use.service.mean for _, use in self.uses]
        is_one = max(means) - min(means) <= MARKOV * max(means)
        return is_one and all(use.service.is_exponential for _, use in self.uses)

    @property
    def moments(self) -> tuple[float, float]:
        """Mean (s) and c2 of the service of the next job."""
        shares = self.network.visits[self.row] * self.network.rate_per_s / self.rate
        means = self.network.service_s[self.row]
        mean = float(shares @ means)
        second = float(shares @ (means**2 * (1.0 + self.network.service_c2[self.row])))
        return mean, max(second / mean**2 - 1.0, 0.0)


def single_queue(network: Network, row: int, arrival_c2: float = 1.0) -> Single | None:
    """Return the answer for one station of an open network, None if no method here knows it.

    Parameters
    ----------
    network, row
        The network, and the row of the station.
    arrival_c2
        Variability of the time between arrivals where jobs come from other stations.
    """
    place = _Place(network, row, arrival_c2)
    if not _is_known(place) or place.moments[0] <= 0 or not math.isfinite(place.moments[1]):
        return None
    if any(one.arrivals.batch is not None for one in place.classes):
        return _batches(place) if _is_plain(place) else None
    return _by_root(place) or _by_chain(place)


def _is_known(place: _Place) -> bool:
    station = place.station
    urgencies = {one.priority for one in place.classes}
    if station.is_delay or not place.classes or any(not one.is_open for one in place.classes):
        return False
    arrivals = [one.arrivals for one in place.classes]
    if any(one.law is None and one.process is None for one in arrivals):
        return False  # computed by the model
    if any(one.process is not None and modulated(one.process) is None for one in arrivals):
        return False  # replayed, or changing with time
    is_plain = station.batch == 1 and len(set(station.speeds)) < 2  # noqa: PLR2004
    is_ordered = station.discipline in INDIFFERENT or (
        station.discipline in PRIORITY and len(urgencies) == 1
    )
    is_shared = station.discipline in {"ps", "lcfs_preempt"} and place.is_exponential
    has_room = math.isinf(station.places) or station.rejects
    return is_plain and has_room and station.limit is None and (is_ordered or is_shared)


def _is_plain(place: _Place) -> bool:
    """Return whether nothing breaks, no room is limited and no job is impatient."""
    has_patience = any(use.patience is not None for _, use in place.uses)
    return place.station.breakdown is None and math.isinf(place.station.places) and not has_patience


def _batches(place: _Place) -> Single | None:
    (one, *others), servers = place.classes, int(place.station.servers)
    size, law = one.arrivals.batch, one.arrivals.law
    if others or size is None or not place.is_first or law is None or law.kind != "exponential":
        return None
    mean, c2 = place.moments
    if place.rate * mean >= servers:
        return None
    if servers == 1:
        wait = batch_wait_s(place.rate, mean, c2, size_mean=size.mean, size_c2=size.c2)
        name = "M/G/1 with batch arrivals"
    else:
        shares = _sizes(size)
        if shares is None:
            return None
        jobs = batched_jobs(servers, place.rate / size.mean * mean, shares)
        wait, name = jobs / place.rate - mean, "M/M/c with batch arrivals"
        if not place.is_exponential:  # what one by one would wait, and what a batch adds
            alone = ggc_wait_s(servers, place.rate, mean, arrival_c2=1.0, service_c2=c2)
            wait += alone - mmc_wait_s(servers, place.rate, mean)
    is_exact = servers == 1 or place.is_exponential
    return Single(wait_s=wait, jobs=place.rate * (wait + mean), name=name, is_exact=is_exact)


def _sizes(law: Distribution) -> FloatArray | None:
    """Return the shares of batches of 0, 1, 2, ... jobs, None if they are not known here."""
    given: dict[str, Any] = dict(law.parameters)
    if law.kind == "geometric":
        low, stop = int(given["low"]), 1.0 / (1.0 + law.mean - int(given["low"]))
        count = int(math.log(1e-15) / math.log1p(-stop)) + 1 if stop < 1 else 1
        return np.concatenate([np.zeros(low), stop * (1.0 - stop) ** np.arange(count)])
    values = [given["value"]] if law.kind == "constant" else given.get("values", ())
    if law.kind not in {"constant", "discrete", "empirical"} or not law.is_whole:
        return None
    weights = given.get("weights") or [1.0] * len(values)
    return np.bincount(np.array(values, int), weights=weights) / math.fsum(weights)


def _by_root(place: _Place) -> Single | None:
    """Return GI/M/c where the law between arrivals is not of phase type."""
    law = place.classes[0].arrivals.law
    is_renewal = len(place.classes) == 1 and place.is_first and law is not None
    if not (is_renewal and law and _is_plain(place) and place.is_exponential) or phase_type(law):
        return None
    found = transform_of(law)
    mean, _ = place.moments
    servers = int(place.station.servers)
    if found is None or place.rate * mean >= servers:
        return None
    unit = place.network.unit_s
    wait = gi_m_c_wait_s(lambda s: found(s * unit), servers, mean)
    name = f"GI/M/{'1' if servers == 1 else 'c'} by its root"
    return Single(wait_s=wait, jobs=place.rate * (wait + mean), name=name, is_exact=True)


def _by_chain(place: _Place) -> Single | None:
    arriving, knows_arrivals = _arriving(place)
    service, knows_service = _service(place)
    breaking, knows_breaking = _breaking(place)
    if breaking is not None and not breaking.is_total:
        service = two_moments(place.moments[0], 1.0)  # a job that is put back keeps no phase
    patience = _patience_s(place)
    if patience is None:
        return None
    station, is_exact = place.station, knows_arrivals and knows_service and knows_breaking
    mean, _ = place.moments
    phases = len(service.start)
    if math.isfinite(patience) and (phases > 1 or breaking is not None):
        return None
    queue = Queue(
        arriving=arriving,
        service=service,
        servers=int(station.servers),
        places=station.places,
        breaking=breaking,
        patience_s=patience,
    )
    found = solve_queue(queue)
    if found is None:
        return None
    return Single(
        wait_s=max(found.response_s - mean, 0.0),
        lost=found.lost,
        jobs=found.jobs,
        name=_name(place, arriving, phases),
        is_exact=is_exact,
    )


def _name(place: _Place, arriving: Arriving, phases: int) -> str:
    station = place.station
    is_modulated = any(one.arrivals.process is not None for one in place.classes)
    arrivals = "M" if len(arriving.silent) == 1 else "MAP" if is_modulated else "PH"
    room = "/K" if math.isfinite(station.places) else ""
    count = "1" if station.servers == 1 else "c"
    extra = " with breakdowns" if station.breakdown is not None else ""
    if any(use.patience is not None for _, use in place.uses):
        return f"{arrivals}/M/{count}{room} with patience (Erlang A)"
    how = "level by level" if room else "matrix-geometric"
    return f"{arrivals}/{'M' if phases == 1 else 'PH'}/{count}{room}{extra}, {how}"


def _arriving(place: _Place) -> tuple[Arriving, bool]:
    """Return the arrivals, and whether they are the true ones."""
    poisson = renewal(two_moments(1.0 / place.rate, 1.0))
    if place.is_poisson:
        return poisson, True
    if place.is_first and len(place.classes) == 1:
        known = _of_class(place.classes[0])
        if known is not None:
            return known, True
    return renewal(two_moments(1.0 / place.rate, place.arrival_c2)), False


def _of_class(one: JobClass) -> Arriving | None:
    arrivals = one.arrivals
    if arrivals.process is not None:
        found = modulated(arrivals.process)
    else:
        gap = None if arrivals.law is None else phase_type(arrivals.law)
        found = None if gap is None else renewal(gap)
    return None if found is None else found.with_rate(one.rate_per_s)


def _service(place: _Place) -> tuple[PhaseType, bool]:
    """Return the law of the next service, and whether it is the true one."""
    mean, c2 = place.moments
    if place.is_exponential:
        return two_moments(mean, 1.0), True
    is_markov = place.is_poisson or len(place.classes) == 1
    parts = [
        None if use.service.law is None else phase_type(use.service.law) for _, use in place.uses
    ]
    known = [one for one in parts if one is not None]
    if len(known) == len(parts):
        weights = np.array([rate for rate, _ in place.uses])
        return mixed(known, weights).with_mean(mean), is_markov
    return two_moments(mean, c2), False


def _breaking(place: _Place) -> tuple[Breaking | None, bool]:
    """Return what breaks, and whether it is the true law, and work is resumed in its order."""
    station, unit = place.station, place.network.unit_s
    if station.breakdown is None:
        return None, True
    up, down = station.breakdown.time_to_failure, station.breakdown.repair
    first, second = _timed(up, unit), _timed(down, unit)
    servers = int(station.servers)
    is_ordered = place.is_exponential or station.discipline == "fcfs"
    is_true = is_ordered and all(phase_type(law) for law in (up, down))
    has_one_mean = len(place.classes) == 1 or place.is_exponential
    if station.breakdown.unit == "all" or servers == 1:
        return alternating(first, second, servers), is_true and has_one_mean
    return independent(first, second, servers), is_true and place.is_exponential


def _timed(law: Distribution, unit_s: float) -> PhaseType:
    """Return a law in seconds as one of phase type, one without a variance as exponential."""
    found = phase_type(law) or two_moments(law.mean, law.c2 if math.isfinite(law.c2) else 1.0)
    return found.with_mean(law.mean * unit_s)


def _patience_s(place: _Place) -> float | None:
    """Return the mean patience (s), infinite if every job waits, None if it is of no known kind."""
    given = [use.patience for _, use in place.uses]
    if not any(given):
        return math.inf
    known = [one for one in given if one is not None and one.is_exponential]
    if len(known) < len(given) or len({one.mean for one in known}) > 1:
        return None
    is_fcfs = place.station.discipline == "fcfs" and place.is_first
    return known[0].mean * place.network.unit_s if is_fcfs else None
