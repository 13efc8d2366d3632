"""Open networks, station by station.

A product-form network is a set of M/M/c queues (Jackson 1957). Otherwise each station is treated as
a single queue between flows of known rate and variability: the two-moment decomposition of Whitt's
Queueing Network Analyzer (1983), Bell Syst. Tech. J. 62(9), 2779-2815, with the wait of Allen and
Cunneen. Priorities follow Cobham, for several servers in the ratio of Buzen and Bondi (1983), Oper.
Res. 31(3), 456-465.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headroom.solvers.approximate.levels import Factor
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.exact.formulas import ggc_wait_s, mmc_wait_s, priority_waits_s
from headroom.solvers.exact.single_queue import Single
from headroom.solvers.network import PRIORITY, SHARED, Network
from headroom.solvers.walk import OUTSIDE

ROUNDS = 500
"""Rounds until the variability of the flows has settled."""
FIERCE = 1e6
"""Variability of a flow that has none, as far as two moments tell."""
NONE: Mapping[int, Single] = {}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OpenAnswer:
    """Waits (s) of one visit, shape (stations, classes), and the share of jobs rejected."""

    wait_s: FloatArray
    lost: FloatArray


def open_waits(network: Network, singles: Mapping[int, Single] = NONE) -> OpenAnswer:
    """Return the mean wait at each station of an open network, some of them already solved."""
    rates = network.visits * network.rate_per_s
    variability = arrival_c2(network, rates)
    waits, lost = np.zeros_like(rates), np.zeros(len(network.stations))
    for row in network.queues:
        station = network.stations[row]
        if not rates[row].sum() > 0:
            continue
        if row in singles:
            waits[row], lost[row] = singles[row].wait_s, singles[row].lost
        elif station.discipline in PRIORITY:
            waits[row] = _by_priority(network, row, rates[row], variability[row])
        else:
            waits[row] = _alike(network, row, rates[row], variability[row])
    return OpenAnswer(wait_s=np.where(rates > 0, waits, 0.0), lost=lost)


def _mixture(network: Network, row: int, rates: FloatArray) -> tuple[float, float]:
    """Return mean (s) and c2 of the service of the next job."""
    shares = rates / rates.sum()
    mean = float(shares @ network.service_s[row])
    second = float(shares @ (network.service_s[row] ** 2 * (1 + network.service_c2[row])))
    return mean, second / mean**2 - 1 if mean > 0 else 0.0


def _alike(network: Network, row: int, rates: FloatArray, arrivals: float) -> FloatArray:
    station = network.stations[row]
    total, servers = float(rates.sum()), int(station.servers)
    mean, c2 = _mixture(network, row, rates)
    if station.discipline in SHARED:
        stretch = mmc_wait_s(servers, total, mean) / mean if mean > 0 else 0.0
        return np.asarray(network.service_s[row] * stretch)
    if station.work_rates:
        rates_of_work = np.array(station.work_rates)
        jobs = Factor(rates_of_work, 1.0, total * mean).foreign_jobs(np.ones(1))
        wait = (jobs / total - mean) * (arrivals + c2) / 2.0
    else:
        wait = ggc_wait_s(servers, total, mean, arrival_c2=arrivals, service_c2=c2)
    return np.full(len(rates), wait)


def _by_priority(network: Network, row: int, rates: FloatArray, arrivals: float) -> FloatArray:
    station = network.stations[row]
    servers = int(station.servers)
    urgency = [class_.priority for class_ in network.classes]
    levels = sorted({p for p, rate in zip(urgency, rates, strict=True) if rate > 0}, reverse=True)
    groups = [np.array([p == level for p in urgency]) for level in levels]
    flows = [float(rates[group].sum()) for group in groups]
    mixed = [_mixture(network, row, np.where(group, rates, 0.0)) for group in groups]
    waits = priority_waits_s(
        flows,
        [mean / servers for mean, _ in mixed],
        [c2 for _, c2 in mixed],
        is_preemptive=station.discipline == "priority_preempt",
    )
    mean, c2 = _mixture(network, row, rates)
    factor = (arrivals + c2) / (1 + c2)
    if servers > 1:
        one = ggc_wait_s(1, float(rates.sum()), mean / servers, arrival_c2=1.0, service_c2=c2)
        many = ggc_wait_s(servers, float(rates.sum()), mean, arrival_c2=1.0, service_c2=c2)
        factor *= many / one if one > 0 and math.isfinite(one) else 1.0
    result = np.zeros(len(rates))
    for group, wait in zip(groups, waits, strict=True):
        result[group] = wait * factor
    return result


def arrival_c2(network: Network, rates: FloatArray) -> FloatArray:
    """Return the c2 of the time between arrivals at each station, by Whitt's equations."""
    names = [station.name for station in network.stations]
    flow = _flows(network, names)
    into = np.maximum(rates.sum(axis=1), 1e-300)
    load = np.array([_load(network, row, rates[row]) for row in range(len(names))])
    weights = _superposition_weights(network, flow, into, load)
    external = _external_c2(network, names, into)
    split = flow / into[:, None]
    found = np.ones(len(names))
    for _ in range(ROUNDS):
        leaving = _departure_c2(network, rates, load, found)
        parts = split * leaving[:, None] + 1 - split
        mixed = external + (flow * parts).sum(axis=0) / into
        following = np.where(rates.sum(axis=1) > 0, 1 - weights + weights * mixed, 1.0)
        if np.abs(following - found).max(initial=0.0) < 1e-12:  # noqa: PLR2004 - settled
            break
        found = following
    return found


def _flows(network: Network, names: Sequence[str]) -> FloatArray:
    """Return [i, j]: jobs per second that go from station i to station j."""
    rows = {name: row for row, name in enumerate(names)}
    flow = np.zeros((len(names), len(names)))
    for class_ in network.classes:
        for (origin, target), mass in class_.flows.items():
            if OUTSIDE not in {origin, target}:
                flow[rows[origin], rows[target]] += class_.rate_per_s * mass
    return flow


def _external_c2(network: Network, names: Sequence[str], into: FloatArray) -> FloatArray:
    zeros = np.zeros(len(names))
    for class_ in network.classes:
        for row, name in enumerate(names):
            mass = class_.flows.get((OUTSIDE, name), 0.0)
            share = min(mass, 1.0)
            part = share * class_.arrivals.c2 + 1 - share
            zeros[row] += class_.rate_per_s * mass / into[row] * part
    return zeros


def _load(network: Network, row: int, rates: FloatArray) -> float:
    servers = network.stations[row].servers * network.stations[row].availability
    return 0.0 if math.isinf(servers) else float(rates @ network.service_s[row]) / servers


def _superposition_weights(
    network: Network, flow: FloatArray, into: FloatArray, load: FloatArray
) -> FloatArray:
    outside = np.zeros_like(into)
    squares = ((flow / into) ** 2).sum(axis=0)
    for class_ in network.classes:
        for row, station in enumerate(network.stations):
            outside[row] = class_.rate_per_s * class_.flows.get((OUTSIDE, station.name), 0.0)
        squares += (outside / into) ** 2
    streams = 1 / np.maximum(squares, 1e-300)
    return np.asarray(1 / (1 + 4 * (1 - load) ** 2 * (np.minimum(streams, 1e12) - 1)))


def _departure_c2(
    network: Network, rates: FloatArray, load: FloatArray, arrivals: FloatArray
) -> FloatArray:
    found = arrivals.copy()
    for row in network.queues:
        if rates[row].sum() > 0 and network.stations[row].discipline not in SHARED:
            _, c2 = _mixture(network, row, rates[row])
            busy = load[row] ** 2
            calm = (1 - busy) * (arrivals[row] - 1)
            found[row] = 1 + calm + busy * (c2 - 1) / math.sqrt(network.stations[row].servers)
    # A law without a variance leaves nothing that two moments could follow.
    return np.where(np.isfinite(found), found, FIERCE)
