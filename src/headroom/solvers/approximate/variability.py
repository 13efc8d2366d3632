"""Correction of waits for a pool, as flow-equivalent servers ignore the variability of times.

Flow-equivalent servers use means alone, as if all times were exponential. A queue waits (ca2 + cs2)
/ 2 times as long (Allen and Cunneen). Here ca2 is the squared coefficient of variation of the
interarrival times, and cs2 that of the time between two token releases while all tokens are out.
With one token, cs2 is the c2 of its holding time; with many, the c2 of the service at the busiest
place inside. In between, Headroom interpolates by the utilization of that place. Closed classes
return in step with the pool: as in `headroom.solvers.approximate.approximate`, the correction fades
with the load like 1 - U^(1 + sqrt N).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headroom.solvers.approximate.regions import Region
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.network import JobClass, Network
from headroom.solvers.walk import Path


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """The demands by region, and the throughput of each pool with 1, 2, ... jobs inside.

    Inner pools come before those around them.
    """

    network: Network
    regions: Mapping[Path, Region]
    rates: Mapping[str, FloatArray]

    def asked(self, pool: str) -> float:
        """Return how often a second tokens of a pool are requested."""
        return math.fsum(region.grants.get(pool, 0.0) for region in self.regions.values())


def wait_factors(flows: Flows) -> dict[str, float]:
    """Return for each pool by how much its wait differs from that of exponential times."""
    releases: dict[str, float] = {}
    found = {}
    for pool, rates in flows.rates.items():
        releases[pool] = _release_c2(flows, pool, releases)
        c2 = (_arrival_c2(flows.network, pool) + releases[pool]) / 2.0
        users = [class_ for class_ in flows.network.classes if pool in class_.holds]
        found[pool] = faded(c2, flows.asked(pool) / float(rates[-1]), users)
    return found


def faded(c2: float, load: float, users: Sequence[JobClass]) -> float:
    """Return by how much a wait differs where c2 is the variability, at a load, for these users.

    Examples
    --------
    >>> faded(4.0, 0.5, [])
    4.0
    """
    if all(user.is_open for user in users):
        return c2
    jobs = sum(user.population for user in users)
    return 1.0 + (c2 - 1.0) * (1.0 - math.pow(min(load, 1.0), 1.0 + math.sqrt(jobs)))


def _arrival_c2(network: Network, pool: str) -> float:
    """Return the c2 of the time between requests for a pool; 1 for closed classes."""
    users = [
        class_
        for class_ in network.classes
        if pool in class_.holds and class_.holds[pool].grants > 0
    ]
    asked = [
        max(user.rate_per_s, float(user.population)) * user.holds[pool].grants for user in users
    ]
    shares = [min(user.holds[pool].grants, 1.0) for user in users]
    c2 = [share * one.arrivals.c2 + 1.0 - share for one, share in zip(users, shares, strict=True)]
    return float(np.average(c2, weights=asked))


def _release_c2(flows: Flows, pool: str, releases: Mapping[str, float]) -> float:
    """Return the c2 of the time between two releases while all tokens are out."""
    region, network = flows.regions[(pool,)], flows.network
    most = len(flows.rates[pool])
    held = _held_c2(network, pool)
    passes = float(flows.rates[pool][-1]) / flows.asked(pool)
    places = []
    for row in network.queues:
        busy = float(region.busy[row].sum())
        if busy > 0:
            load = busy * passes / network.stations[row].servers
            places.append((load, service_c2(network, region.visits[row], row)))
    for inner, grants in region.grants.items():
        if inner in releases:
            places.append((grants * passes / float(flows.rates[inner][-1]), releases[inner]))
    busiest, c2 = max(places, default=(0.0, held))
    weight = 1.0 / most + (1.0 - 1.0 / most) * max(1.0 - busiest, 0.0)
    return c2 + (held - c2) * weight


def _held_c2(network: Network, pool: str) -> float:
    """Return the c2 of the time that tokens are held, without any waiting, over all classes."""
    weights, means, variances = [], [], []
    for class_ in network.classes:
        grants = class_.holds[pool].grants if pool in class_.holds else 0.0
        if grants > 0:
            under = [part for path, part in class_.parts.items() if pool in path]
            total = math.fsum(math.fsum(part.work.values()) + part.delay for part in under)
            weights.append(max(class_.rate_per_s, float(class_.population)) * grants)
            means.append(total / grants)
            variances.append(math.fsum(part.variance for part in under) / grants)
    mean = float(np.average(means, weights=weights))
    square = float(np.average(np.array(variances) + np.square(means), weights=weights))
    return square / mean**2 - 1.0 if mean > 0 else 1.0


def service_c2(network: Network, visits: FloatArray, row: int) -> float:
    """Return the c2 of the services of a station, classes mixed by their visits."""
    means = network.service_s[row]
    squares = means**2 * (1.0 + network.service_c2[row])
    mean = float(visits @ means) / float(visits.sum())
    return float(visits @ squares) / float(visits.sum()) / mean**2 - 1.0 if mean > 0 else 1.0
