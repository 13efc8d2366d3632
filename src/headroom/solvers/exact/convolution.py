"""Buzen's convolution for closed and mixed product-form networks, stable for any population.

A station with c servers and offered work s contributes the generating function F(s) = sum of s^n /
(min(1, c) ... min(n, c)) = P(s) / (1 - s / c), where P(s) = sum over n < c of s^n / n! (1 - n / c)
has positive coefficients. Open classes that keep a servers busy turn F(s) into F(s + a). So every
factor is multiplied in by sums of positive numbers: nothing cancels, and the relative error grows
like the population times 1e-16.

A tilt avoids overflow and underflow. Each variable z_r is scaled by a throughput close to the
solution, and each station by its own normalisation. Every factor then becomes a probability
distribution, and the normalising constant becomes the probability that an open network holds
exactly N jobs.

Sources: Buzen (1973), CACM 16(9), 527-531; Reiser and Kobayashi (1975), IBM J. Res. Dev. 19(3),
283-294 (several classes, several servers); Baskett et al. (1975), JACM 22(2), 248-260.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from headroom.solvers.exact.closed import Closed, ClosedAnswer, FloatArray
from headroom.solvers.exact.lattice import Lattice

WIDEST_TILT = 1.0 - 1e-6
"""Largest utilization of a station under the tilt; the tails stay summable."""


@dataclass(frozen=True, slots=True, eq=False)
class _Factor:
    """One station under the tilt: `head`(s) / (1 - ratio s), s the weighted sum of variables."""

    place: int
    head: FloatArray
    ratio: float
    weights: FloatArray
    offered: float
    """Mean busy servers that the closed classes ask for under the tilt."""


def convolution_work(network: Closed) -> float:
    """Return the multiplications that `convolve` needs, about."""
    total = float(network.population.sum())
    several = network.servers > 1
    halvings = np.log2(max(int(several.sum()), 1)) + 1
    steps = (~several).sum() * 2 + (np.minimum(network.servers[several], total) * halvings).sum()
    return float(network.lattice_size * len(network.population) * (steps + 1))


def convolve(network: Closed) -> ClosedAnswer:
    """Return the exact solution of a closed or mixed product-form network.

    Examples
    --------
    The central server of docs/background/solvers.md: 4 CPUs of mean 4, 16 disks of mean 15.

    >>> from headroom.solvers.exact.closed import closed
    >>> central = closed([4] + [15 / 16] * 16, 256, servers=[4] + [1] * 16)
    >>> round(float(convolve(central).throughput_per_s[0]), 6)
    0.990538
    """
    lattice = Lattice(network.population)
    tilt, whole, slopes = _constants(network, lattice)
    return _answer(network, lattice, tilt, whole, slopes)


def _constants(
    network: Closed, lattice: Lattice
) -> tuple[FloatArray, FloatArray, Iterator[tuple["_Factor", FloatArray]]]:
    """Return the tilt, the tilted normalising constants, and the slopes of all stations."""
    tilt = _tilt(network)
    factors = _factors(network, tilt)
    single = [factor for factor in factors if len(factor.head) == 1]
    several = [factor for factor in factors if len(factor.head) > 1]
    thinking = zip(network.think_s, tilt, network.population, strict=True)
    start = lattice.product([_poisson(think * x, int(jobs)) for think, x, jobs in thinking])
    for factor in single:
        start = lattice.divide(float(factor.head[0]) * start, factor.ratio, factor.weights)
    whole = start
    for factor in several:
        whole = _multiplied(lattice, whole, factor)
    if not (np.isfinite(whole).all() and whole[lattice.full] > 0):
        raise AssertionError("the normalising constant left the range of a float")
    return tilt, whole, _slopes(lattice, start, whole, single, several)


def _poisson(mean: float, most: int) -> FloatArray:
    """Return the probabilities of 0 to `most` under a Poisson law."""
    counts = np.arange(most + 1)
    if mean <= 0:
        return np.asarray(counts == 0, dtype=np.float64)
    return np.asarray(np.exp(counts * np.log(mean) - mean - scipy.special.gammaln(counts + 1)))


def _factors(network: Closed, tilt: FloatArray) -> list[_Factor]:
    factors = []
    for place, demands in enumerate(network.demand_s):
        offered = demands * tilt
        total = float(offered.sum())
        if total > 0:
            servers, taken = float(network.servers[place]), float(network.open_load[place])
            most = int(min(servers, network.population.sum() + 2))
            head = _head(total, servers, taken, most)
            ratio = total / (servers - taken)
            head *= (1 - ratio) / head.sum()
            factors.append(_Factor(place, head, ratio, offered / total, total))
    return factors


def _head(offered: float, servers: float, taken: float, most: int) -> FloatArray:
    """Return the coefficients of P(s + taken), s in units of `offered`, up to a common factor."""
    counts = np.arange(most)
    log_terms = counts * np.log(offered) - scipy.special.gammaln(counts + 1)
    tails = np.cumsum(scipy.special.pdtr(np.arange(int(servers)), taken))[int(servers) - 1 - counts]
    return np.asarray(np.exp(log_terms - log_terms.max()) * tails / servers)


def _tilt(network: Closed) -> FloatArray:
    """Return for each class a throughput near the solution, below every station's capacity."""
    if len(network.population) == 1:
        return np.full(1, _saddle(network))
    from headroom.solvers.approximate.approximate import schweitzer  # noqa: PLC0415 - it starts from no tilt

    throughput_per_s = schweitzer(network).throughput_per_s
    load = network.demand_s @ throughput_per_s / (network.servers - network.open_load)
    return np.asarray(
        throughput_per_s * min(1.0, WIDEST_TILT / max(float(load.max(initial=0.0)), 1e-300))
    )


def _saddle(network: Closed) -> float:
    """Return the throughput at which an open network holds the population on average."""
    demands, think = network.demand_s[:, 0], float(network.think_s[0])
    capacity = network.servers - network.open_load
    jobs = float(network.population[0])
    slowest = float((demands / capacity).max(initial=0.0))
    if slowest == 0.0:
        return jobs / think

    def missing(x: float) -> float:
        load = demands * x / capacity
        return float(x * think + (demands * x + load / (1 - load)).sum() - jobs)

    highest = (1 - 1e-12) / slowest
    return (
        highest
        if missing(highest) < 0
        else float(scipy.optimize.brentq(missing, 0.0, highest, xtol=1e-9 * highest))
    )


def _multiplied(lattice: Lattice, values: FloatArray, factor: _Factor) -> FloatArray:
    body = lattice.polynomial(values, factor.head, factor.weights)
    return lattice.divide(body, factor.ratio, factor.weights)


def _slopes(
    lattice: Lattice,
    start: FloatArray,
    whole: FloatArray,
    single: Sequence[_Factor],
    several: Sequence[_Factor],
) -> Iterator[tuple[_Factor, FloatArray]]:
    """Yield for each station the network with its factor F replaced by the derivative F'."""
    kept: dict[tuple[float, bytes], FloatArray] = {}
    for factor in single:
        key = (factor.ratio, factor.weights.tobytes())
        if key not in kept:
            kept = {key: factor.ratio * lattice.divide(whole, factor.ratio, factor.weights)}
        yield factor, kept[key]
    for factor, others in _without_each(lattice, several, start):
        grown = lattice.divide(others, factor.ratio, factor.weights)
        rising = factor.head[1:] * np.arange(1, len(factor.head))
        body = _multiplied(lattice, grown, factor) * factor.ratio
        yield factor, lattice.polynomial(grown, rising, factor.weights) + body


def _without_each(
    lattice: Lattice, factors: Sequence[_Factor], values: FloatArray
) -> Iterator[tuple[_Factor, FloatArray]]:
    """Yield each factor with the product of all others: halves of halves, no division."""
    if len(factors) == 1:
        yield factors[0], values
    elif factors:
        left, right = factors[: len(factors) // 2], factors[len(factors) // 2 :]
        for mine, others in ((left, right), (right, left)):
            product = values
            for factor in others:
                product = _multiplied(lattice, product, factor)
            yield from _without_each(lattice, mine, product)


def _answer(
    network: Closed,
    lattice: Lattice,
    tilt: FloatArray,
    whole: FloatArray,
    slopes: Iterator[tuple[_Factor, FloatArray]],
) -> ClosedAnswer:
    constant = whole[lattice.full]
    fewer = np.array([lattice.full - step for step in lattice.strides])
    jobs = np.zeros_like(network.demand_s)
    waiting_for_none = network.servers - network.open_load
    open_jobs = _alone(network, waiting_for_none)
    for factor, slope in slopes:
        jobs[factor.place] = factor.weights * slope[fewer] / constant
        share = network.open_load[factor.place] / factor.offered
        open_jobs[factor.place] = share * slope[lattice.full] / constant
    return ClosedAnswer(
        throughput_per_s=tilt * whole[fewer] / constant, jobs=jobs, open_jobs=open_jobs
    )


def _alone(network: Closed, capacity: FloatArray) -> FloatArray:
    """Return the open jobs at stations that no closed class visits."""
    from headroom.solvers.exact.formulas import erlang_c  # noqa: PLC0415 - beside its only use

    load = network.open_load
    waiting = [erlang_c(int(c), float(a)) for c, a in zip(network.servers, load, strict=True)]
    return np.asarray(load + np.array(waiting) * load / capacity)
