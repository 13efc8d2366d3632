"""Closed forms of single queues: means, and distributions if they exist.

Loads `offered` are mean busy servers (arrival rate x mean service time, in erlangs), rates are 1/s,
times are s, `c2` is a squared coefficient of variation. An overloaded queue has no steady state:
its mean is infinite.

Sources: Erlang (1917); Kleinrock, *Queueing Systems*, volumes 1 (1975) and 2 (1976); Cobham
(1954), Oper. Res. 2(1), 70-76; Allen, *Probability, Statistics, and Queueing Theory* (1990);
Kingman (1961), Proc. Camb. Phil. Soc. 57, 902-904.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import scipy


def erlang_b(servers: int, offered: float) -> float:
    """Return the probability that all of `servers` are busy if no job can wait (M/G/c/c).

    Examples
    --------
    >>> round(erlang_b(5, 3.0), 6)
    0.110054
    """
    inverse = 1.0
    for k in range(1, servers + 1):
        inverse = 1.0 + inverse * k / offered if offered > 0 else math.inf
        if inverse == math.inf:
            return 0.0
    return 1.0 / inverse


def erlang_c(servers: int, offered: float) -> float:
    """Return the probability that an arrival at M/M/c has to wait; 1 under overload.

    Examples
    --------
    >>> round(erlang_c(2, 1.6), 6)
    0.711111
    """
    if offered >= servers:
        return 1.0
    blocked = erlang_b(servers, offered)
    return blocked / (1.0 - offered / servers * (1.0 - blocked))


def mmc_wait_s(servers: int, rate_per_s: float, service_s: float) -> float:
    """Return the mean wait in the queue of M/M/c.

    Examples
    --------
    >>> round(mmc_wait_s(4, 3.6, 1.0), 6)
    1.969383
    """
    offered = rate_per_s * service_s
    if offered >= servers:
        return math.inf
    return erlang_c(servers, offered) * service_s / (servers - offered)


def mmc_wait_quantile_s(servers: int, rate_per_s: float, service_s: float, share: float) -> float:
    """Return the wait that `share` of the arrivals at M/M/c stay below; 0 where most do not wait.

    Examples
    --------
    >>> mmc_wait_quantile_s(8, 1.0, 1.0, 0.5)
    0.0
    """
    offered = rate_per_s * service_s
    waiting = erlang_c(servers, offered)
    if waiting <= 1.0 - share:
        return 0.0
    return math.log(waiting / (1.0 - share)) * service_s / (servers - offered)


def mmc_response_share_above(
    servers: int, rate_per_s: float, service_s: float, time_s: float
) -> float:
    """Return the share of jobs whose response time at M/M/c exceeds `time_s` (FCFS)."""
    offered = rate_per_s * service_s
    waiting = erlang_c(servers, offered)
    service, excess = math.exp(-time_s / service_s), (servers - offered)
    if abs(excess - 1.0) < 1e-9:  # noqa: PLR2004 - the two rates are equal: an Erlang law
        return (1.0 - waiting) * service + waiting * service * (1.0 + time_s / service_s)
    both = (excess * service - math.exp(-time_s / service_s * excess)) / (excess - 1.0)
    return (1.0 - waiting) * service + waiting * both


def mmc_response_quantile_s(
    servers: int, rate_per_s: float, service_s: float, share: float
) -> float:
    """Return the response time that `share` of the jobs at M/M/c stay below (FCFS).

    Examples
    --------
    >>> round(mmc_response_quantile_s(1, 0.8, 1.0, 0.95), 4)
    14.9787
    """
    return quantile(
        lambda time_s: mmc_response_share_above(servers, rate_per_s, service_s, time_s),
        share,
        start=service_s,
    )


def quantile(share_above: Callable[[float], float], share: float, *, start: float) -> float:
    """Return the time above which 1 - `share` of a falling distribution lies."""
    high = start
    while share_above(high) > 1.0 - share:
        high *= 2.0
    return float(
        scipy.optimize.brentq(
            lambda time_s: share_above(time_s) - (1.0 - share), 0.0, high, rtol=1e-13
        )
    )


def mg1_wait_s(rate_per_s: float, service_s: float, c2: float) -> float:
    """Return the mean wait of M/G/1 (Pollaczek and Khinchine), order of service independent of it.

    Examples
    --------
    >>> [round(mg1_wait_s(0.8, 1.0, c2), 12) for c2 in (0.0, 1 / 2, 4.0)]
    [2.0, 3.0, 10.0]
    """
    load = rate_per_s * service_s
    if load >= 1:
        return math.inf
    return load * (1.0 + c2) * service_s / (2.0 * (1.0 - load))


def batch_wait_s(
    rate_per_s: float, service_s: float, c2: float, *, size_mean: float, size_c2: float
) -> float:
    """Return the mean wait of M/G/1 whose jobs arrive in batches; the rate is that of jobs.

    A job waits as at M/G/1 and for those of its batch before it, stretched by the load (Burke 1975,
    Oper. Res. 23(4), 830-833).

    Examples
    --------
    >>> batch_wait_s(0.5, 1.0, 1.0, size_mean=3.0, size_c2=0.0)
    3.0
    """
    load = rate_per_s * service_s
    if load >= 1:
        return math.inf
    ahead = (size_mean * (1.0 + size_c2) - 1.0) / 2.0
    return mg1_wait_s(rate_per_s, service_s, c2) + ahead * service_s / (1.0 - load)


def batched_jobs(servers: int, batches: float, sizes: npt.NDArray[np.float64]) -> float:
    """Return the mean jobs at M/M/c with batch arrivals, by the flows between levels.

    `batches` arrive in a mean service; `sizes` are the shares of batches of 0, 1, 2, ... jobs.

    Examples
    --------
    >>> round(batched_jobs(1, 0.5, np.array([0.0, 1.0])), 9)
    1.0
    """
    above = 1.0 - np.cumsum(sizes)  # the share of batches of more than k jobs
    reach, shares = len(sizes), [1.0]
    while len(shares) < 2 * servers + reach or shares[-1] > 1e-16 * max(shares):
        recent = np.array(shares[-reach:])[::-1]
        crossing = float(recent @ above[: len(recent)])
        shares.append(batches * crossing / min(len(shares), servers))
    found = np.array(shares)
    return float(np.arange(len(found)) @ found / found.sum())


def ggc_wait_s(
    servers: int, rate_per_s: float, service_s: float, *, arrival_c2: float, service_c2: float
) -> float:
    """Return the approximate mean wait of G/G/c (Allen and Cunneen); Kingman's for one server.

    Exact for M/M/c and M/G/1.

    Examples
    --------
    >>> round(ggc_wait_s(1, 0.8, 1.0, arrival_c2=1.0, service_c2=4.0), 12)
    10.0
    """
    wait_s = mmc_wait_s(servers, rate_per_s, service_s)
    return wait_s * (arrival_c2 + service_c2) / 2.0 if wait_s else 0.0


def priority_waits_s(
    rates_per_s: Sequence[float],
    services_s: Sequence[float],
    c2s: Sequence[float],
    *,
    is_preemptive: bool,
) -> list[float]:
    """Return the mean wait of each class at M/G/1 with priorities, the most urgent first.

    Without preemption Cobham's formula; with preemptive resume the time in the system minus the
    own service, interruptions counted as wait. Classes of equal priority are one entry.

    Examples
    --------
    >>> [round(w, 6) for w in priority_waits_s([0.4, 0.4], [1, 1], [1, 1], is_preemptive=False)]
    [1.333333, 6.666667]
    >>> [round(w, 6) for w in priority_waits_s([0.4, 0.4], [1, 1], [1, 1], is_preemptive=True)]
    [0.666667, 7.333333]
    """
    residual = [
        rate * (service * service * (1.0 + c2)) / 2.0
        for rate, service, c2 in zip(rates_per_s, services_s, c2s, strict=True)
    ]
    loads = [rate * service for rate, service in zip(rates_per_s, services_s, strict=True)]
    waits = []
    for place, service in enumerate(services_s):
        above, through = sum(loads[:place]), sum(loads[: place + 1])
        if through >= 1:
            waits.append(math.inf)
            continue
        seen = sum(residual[: place + 1]) if is_preemptive else sum(residual)
        slowed = service * above / (1.0 - above) if is_preemptive else 0.0
        waits.append(slowed + seen / ((1.0 - above) * (1.0 - through)))
    return waits


def fork_join_response_s(arms: int, rate_per_s: float, service_s: float) -> float:
    """Return the mean response of a fork over equal M/M/1 queues that waits for all of them.

    Exact for two arms (Flatto and Hahn), the approximation of Nelson and Tantawi (1988), IEEE
    Transactions on Computers 37(6), 739-743, for more.

    Examples
    --------
    >>> fork_join_response_s(2, 0.5, 1.0), round(fork_join_response_s(4, 0.8, 1.0), 4)
    (2.875, 8.9303)
    """
    load = rate_per_s * service_s
    if load >= 1:
        return math.inf
    alone = service_s / (1.0 - load)
    if arms == 1:
        return alone
    of_two = (12.0 - load) / 8.0 * alone
    growth = harmonic(arms) / harmonic(2)
    return (growth + 4.0 / 11.0 * (1.0 - growth) * load) * of_two


def harmonic(count: int) -> float:
    """Return 1 + 1/2 + ... + 1/`count`."""
    return math.fsum(1.0 / k for k in range(1, count + 1))
