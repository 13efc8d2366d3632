"""Closed forms of queues, implemented from their sources without using Headroom code."""

import math
from collections.abc import Callable, Sequence

from scipy import integrate, optimize, special


def erlang_b(servers: int, load: float) -> float:
    """Return the share of lost calls; `load` is arrival rate times service time (Erlang 1917).

    Examples
    --------
    >>> round(erlang_b(5, 3), 6)
    0.110054
    """
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked


def erlang_c(servers: int, load: float) -> float:
    """Return the share of jobs that wait in M/M/c (Erlang 1917)."""
    blocked, busy = erlang_b(servers, load), load / servers
    return blocked / (1 - busy * (1 - blocked))


def mmc_wait(servers: int, load: float) -> float:
    """Return the mean wait in M/M/c, in service times."""
    return erlang_c(servers, load) / (servers - load)


def mmc_response_tail(servers: int, load: float, time: float) -> float:
    """Return P(response > time) in M/M/c with mean service 1, load other than servers - 1."""
    spare = servers - 1 - load
    waits = erlang_c(servers, load)
    return math.exp(-time) * (1 + waits * -math.expm1(-spare * time) / spare)


def mg1_wait(rate: float, mean: float, c2: float) -> float:
    """Return the mean wait in M/G/1 (Pollaczek 1930, Khinchine 1932).

    Examples
    --------
    >>> round(mg1_wait(0.8, 1, 4), 6)
    10.0
    """
    return rate * mean**2 * (1 + c2) / (2 * (1 - rate * mean))


def cobham_waits(
    rates: Sequence[float], means: Sequence[float], c2s: Sequence[float]
) -> list[float]:
    """Return mean waits of M/G/1 without preemption, the most urgent class first (Cobham 1954)."""
    parts = list(zip(rates, means, c2s, strict=True))
    left = sum(rate * mean**2 * (1 + c2) / 2 for rate, mean, c2 in parts)
    waits, above = [], 0.0
    for rate, mean, _c2 in parts:
        waits.append(left / ((1 - above) * (1 - above - rate * mean)))
        above += rate * mean
    return waits


def preemptive_responses(
    rates: Sequence[float], means: Sequence[float], c2s: Sequence[float]
) -> list[float]:
    """Return mean responses of M/G/1 with preemption and resumption (Jaiswal 1968)."""
    responses, above, left = [], 0.0, 0.0
    for rate, mean, c2 in zip(rates, means, c2s, strict=True):
        left += rate * mean**2 * (1 + c2) / 2
        responses.append(mean / (1 - above) + left / ((1 - above) * (1 - above - rate * mean)))
        above += rate * mean
    return responses


def gm1_response(transform: Callable[[float], float]) -> float:
    """Return the mean response of G/M/1 with mean service 1 (Kleinrock 1975, section 6.4).

    `transform` is the Laplace transform of the time between arrivals; s = transform(1 - s).
    """
    root = float(optimize.brentq(lambda s: transform(1 - s) - s, 0.0, 1 - 1e-6, xtol=1e-14))
    return 1 / (1 - root)


def busy_period_percentile(rate: float, share: float) -> float:
    """Return a percentile of the busy period of M/M/1 with mean service 1 (Kleinrock 5.148)."""
    root = math.sqrt(rate)

    def density(time: float) -> float:
        scaled = special.ive(1, 2 * time * root) * math.exp(2 * time * root - (1 + rate) * time)
        return float(scaled) / (time * root)

    def missing(time: float) -> float:
        tail, _error = integrate.quad(density, time, math.inf, epsabs=1e-12, limit=500)
        return float(tail) - (1 - share)

    return float(optimize.brentq(missing, 0.1, 2000.0, xtol=1e-9))


def mva(demands: Sequence[float], think: float, population: int) -> tuple[float, list[float]]:
    """Return throughput, and stay at each of the single servers of a closed network (Reiser 1980).

    Examples
    --------
    >>> throughput, stays = mva([0.05, 0.03, 0.04], 1, 20)
    >>> round(throughput, 6), round(sum(stays), 6)
    (15.359464, 0.302129)
    """
    throughput, stays = 0.0, [0.0] * len(demands)
    for jobs in range(1, population + 1):
        stays = [d * (1 + throughput * stay) for d, stay in zip(demands, stays, strict=True)]
        throughput = jobs / (think + sum(stays))
    return throughput, stays


def repairman_throughput(servers: int, users: int, think: float, service: float = 1.0) -> float:
    """Return the throughput of `users` who think and wait for one of `servers` (Buzen 1973).

    Examples
    --------
    >>> round(repairman_throughput(4, 64, 15), 6)
    3.700119
    """
    factors = [servers_factors(time, count, users) for time, count in
               ((service, servers), (think, math.inf))]  # fmt: skip
    *_, fewer, all_of_them = convolution(factors)
    return fewer / all_of_them


def convolution(factors: Sequence[Sequence[float]]) -> list[float]:
    """Return the constants G of a closed product-form network (Buzen 1973).

    Each station gives its factors for 0, 1, ... jobs; all sums are of positive numbers.
    """
    total = [1.0] + [0.0] * (len(factors[0]) - 1)
    for station in factors:
        total = [
            sum(total[part] * station[jobs - part] for part in range(jobs + 1))
            for jobs in range(len(total))
        ]
    return total


def servers_factors(demand: float, servers: float, population: int) -> list[float]:
    """Return the factors of a station with `servers` (infinity for think time)."""
    factors = [1.0]
    for jobs in range(1, population + 1):
        factors.append(factors[-1] * demand / min(jobs, servers))
    return factors
