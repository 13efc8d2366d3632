"""Distributions composed of others: phases in series, mixtures, and the fit to two moments."""

import math
from collections.abc import Sequence

from headroom.simulation.laws.distribution import (
    Distribution,
    Values,
    added,
    c2_of,
    constant,
    erlang,
    exponential,
    hyperexponential,
    is_duration,
    is_positive,
    make,
    refuse_unless,
)

_SMALLEST_C2 = 1e-9


def hypoexponential(means: Values) -> Distribution:
    """Return the sum of exponential phases with `means` (> 0), one after the other; c2 <= 1.

    Examples
    --------
    >>> law = hypoexponential([1, 3])
    >>> law.mean, law.c2
    (4.0, 0.625)
    """
    means = tuple(float(mean) for mean in means)
    is_valid = len(means) > 0 and all(is_positive(mean) for mean in means)
    refuse_unless("hypoexponential", is_valid, means=means)
    return added([exponential(mean) for mean in means])


def coxian(means: Values, onward: Values) -> Distribution:
    """Return a Coxian phase-type law: exponential phases, each of which may be the last.

    Parameters
    ----------
    means
        Mean of each phase (> 0).
    onward
        For each phase but the last, the probability that the next one follows.

    Notes
    -----
    Cox (1955), A use of complex probabilities in the theory of stochastic processes.

    Examples
    --------
    >>> coxian([1, 4], onward=[0.5]).mean
    3.0
    """
    means = tuple(float(mean) for mean in means)
    onward = tuple(float(share) for share in onward)
    is_valid = (
        0 < len(means) <= 1000  # noqa: PLR2004 - as in the kernel
        and all(is_positive(mean) for mean in means)
        and len(onward) == len(means) - 1
        and all(0 <= share <= 1 for share in onward)
    )
    refuse_unless("coxian", is_valid, means=means, onward=onward)
    first, second = 0.0, 0.0
    for mean, share in zip(reversed(means), (0.0, *reversed(onward)), strict=True):
        second = 2 * mean**2 + 2 * mean * share * first + share * second
        first = mean + share * first
    c2 = c2_of(first, second - first**2)
    return make("coxian", mean=first, c2=c2, means=means, onward=onward)


def mixture(laws: Sequence[Distribution], weights: Values) -> Distribution:
    """Return the law that draws from one of `laws`, chosen in proportion to its weight.

    Examples
    --------
    >>> hit, miss = constant(1), exponential(9)
    >>> mixture([hit, miss], weights=[3, 1]).mean
    3.0
    """
    laws = tuple(laws)
    weights = tuple(float(weight) for weight in weights)
    is_valid = (
        len(laws) == len(weights)
        and all(isinstance(law, Distribution) for law in laws)
        and all(is_duration(weight) for weight in weights)
        and sum(weights) > 0
    )
    refuse_unless("mixture", is_valid, laws=laws, weights=weights)
    total = math.fsum(weights)
    parts = [(w / total, law) for w, law in zip(weights, laws, strict=True) if w > 0]
    mean = math.fsum(share * law.mean for share, law in parts)
    if mean == math.inf:
        return make("mixture", mean=mean, c2=math.inf, weights=weights, laws=laws)
    variance = math.fsum(share * (law.variance + (law.mean - mean) ** 2) for share, law in parts)
    return make("mixture", mean=mean, c2=c2_of(mean, variance), weights=weights, laws=laws)


def from_moments(mean: float, c2: float) -> Distribution:
    """Return a law with exactly this `mean` (> 0) and `c2` (0, or 1e-9 and more).

    Queues depend on a service time mostly through these two.

    Notes
    -----
    Tijms (1994), Stochastic Models: An Algorithmic Approach, appendix B. Below 1, with 1/k <= c2
    <= 1/(k-1), a mixture of Erlang laws of k-1 and k stages of equal rate (k-p)/mean, where
    p = (k c2 - sqrt(k (1 + c2) - k^2 c2)) / (1 + c2) is the share of k-1 stages. Above 1, the
    hyperexponential law with balanced means. A c2 of 0 is constant, 1 exponential.

    Examples
    --------
    >>> str(from_moments(10, 1))
    'exponential(mean=10.0)'
    >>> from_moments(10, 4).kind
    'hyperexponential'
    >>> law = from_moments(10, 0.4)
    >>> law.kind, round(law.mean, 12), round(law.c2, 12)
    ('mixture', 10.0, 0.4)
    """
    is_valid = is_positive(mean) and is_duration(c2) and (c2 == 0 or c2 >= _SMALLEST_C2)
    refuse_unless("from_moments", is_valid, mean=mean, c2=c2)
    if c2 == 0:
        return constant(mean)
    if c2 == 1:
        return exponential(mean)
    return hyperexponential(mean, c2) if c2 > 1 else _erlang_mixture(mean, c2)


def _erlang_mixture(mean: float, c2: float) -> Distribution:
    stages = math.ceil(1 / c2)
    root = math.sqrt(max(stages * (1 + c2) - stages**2 * c2, 0.0))
    share = min((stages * c2 - root) / (1 + c2), 1.0)
    if share <= 0:
        return erlang(mean, stages)
    stage_mean = mean / (stages - share)
    laws = [erlang(stage_mean * count, count) for count in (stages - 1, stages)]
    return mixture(laws, weights=[share, 1 - share])
