"""Maximum likelihood for each family of laws, and the SciPy equivalent of each law.

Invariant: a fit is a function of the sorted sample alone; no start value is random.

Sources: Minka (2002), Estimating a gamma distribution; Johnson, Kotz & Balakrishnan (1994),
Continuous Univariate Distributions, volume 1 (Weibull, Pareto, truncated normal); Aban,
Meerschaert & Panorska (2006), Parameter estimation for the truncated Pareto distribution.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy

from headroom.simulation.laws.distribution import (
    Distribution,
    bounded_pareto,
    erlang,
    exponential,
    gamma,
    hyperexponential,
    lognormal,
    normal,
    pareto,
    uniform,
    weibull,
)

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 100
# Truncation point in standard deviations; nothing that matters in 64 bits is lost.
_FAR_FROM_ZERO = 9.0


class Reference(Protocol):
    """The interface that a goodness-of-fit test needs of a law."""

    def logpdf(self, x: Floats) -> Floats:
        """Return the logarithm of the density."""

    def logcdf(self, x: Floats) -> Floats:
        """Return the logarithm of the lower tail."""

    def logsf(self, x: Floats) -> Floats:
        """Return the logarithm of the upper tail."""

    def ppf(self, q: Floats) -> Floats:
        """Return the quantiles."""

    def rvs(self, *, size: int, random_state: np.random.Generator) -> Floats:
        """Return draws."""


class FitError(Exception):
    """A family cannot describe the sample: the reason, as an end of a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of laws: how it is fitted, and its requirements on the sample."""

    fit: Callable[[Floats], Distribution]
    parameter_count: int
    needs_positive: bool = True


@dataclass(frozen=True, slots=True)
class _TwoBranches:
    """The hyperexponential law with balanced means, which SciPy lacks."""

    mean: float
    c2: float

    @property
    def branches(self) -> tuple[tuple[float, float], ...]:
        """Probability and mean of each branch."""
        root = math.sqrt((self.c2 - 1) / (self.c2 + 1))
        shares = ((1 + root) / 2, (1 - root) / 2)
        return tuple((share, self.mean / (2 * share)) for share in shares)

    def logpdf(self, x: Floats) -> Floats:
        (p, first), (q, second) = self.branches
        logs = math.log(p / first) - x / first, math.log(q / second) - x / second
        return np.logaddexp(*logs)

    def logsf(self, x: Floats) -> Floats:
        (p, first), (q, second) = self.branches
        return np.logaddexp(math.log(p) - x / first, math.log(q) - x / second)

    def logcdf(self, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(self.logsf(x))))

    def ppf(self, q: Floats) -> Floats:
        """Solve by Newton on the log of the upper tail: it is convex, so never past the root."""
        goal = np.log1p(-np.asarray(q))
        x = np.max([0 * goal, *((math.log(p) - goal) * m for p, m in self.branches)], axis=0)
        for _ in range(_MOST_STEPS):
            x = x + (self.logsf(x) - goal) * np.exp(self.logsf(x) - self.logpdf(x))
        return np.asarray(x)

    def rvs(self, *, size: int, random_state: np.random.Generator) -> Floats:
        (p, first), (_, second) = self.branches
        means = np.where(random_state.random(size) < p, first, second)
        return np.asarray(random_state.exponential(means))


def reference(law: Distribution) -> Reference:
    """Return `law`, of one of the `FAMILIES`, as SciPy or its like here.

    Examples
    --------
    >>> float(reference(exponential(2.0)).ppf(0.5)) == 2 * math.log(2)
    True
    """
    known: Reference = _REFERENCES[law.kind](**dict(law.parameters))
    return known


def _known_lognormal(*, mean: float, c2: float) -> Reference:
    variance = math.log1p(c2)
    known: Reference = scipy.stats.lognorm(
        math.sqrt(variance), scale=mean * math.exp(-variance / 2)
    )
    return known


def _known_normal(*, mean: float, deviation: float) -> Reference:
    known: Reference = scipy.stats.truncnorm(-mean / deviation, np.inf, loc=mean, scale=deviation)
    return known


_REFERENCES: Mapping[str, Callable[..., Reference]] = {
    "exponential": lambda mean: scipy.stats.expon(scale=mean),
    "uniform": lambda low, high: scipy.stats.uniform(low, high - low),
    "normal": _known_normal,
    "gamma": lambda mean, c2: scipy.stats.gamma(1 / c2, scale=mean * c2),
    "lognormal": _known_lognormal,
    "weibull": lambda scale, shape: scipy.stats.weibull_min(shape, scale=scale),
    "hyperexponential": _TwoBranches,
    "pareto": lambda low, shape: scipy.stats.pareto(shape, scale=low),
    "bounded_pareto": lambda low, high, shape: scipy.stats.truncpareto(
        shape, high / low, scale=low
    ),
    "erlang": lambda mean, stages: scipy.stats.gamma(stages, scale=mean / stages),
}


def _exponential(sample: Floats) -> Distribution:
    return exponential(float(sample.mean()))


def _uniform(sample: Floats) -> Distribution:
    return uniform(float(sample[0]), float(sample[-1]))


def _gamma_shape(sample: Floats) -> float:
    """Solve log k - digamma(k) = log mean - mean log by Minka's steps."""
    spread = math.log(sample.mean()) - float(np.log(sample).mean())
    shape = (3 - spread + math.sqrt((spread - 3) ** 2 + 24 * spread)) / (12 * spread)
    for _ in range(_MOST_STEPS):
        error = math.log(shape) - float(scipy.special.digamma(shape)) - spread
        slope = 1 / shape - float(scipy.special.polygamma(1, shape))
        step = 1 / (1 / shape + error / (shape**2 * slope))
        if abs(step - shape) < 1e-12 * shape:
            break
        shape = step
    return shape


def _gamma(sample: Floats) -> Distribution:
    return gamma(float(sample.mean()), c2=1 / _gamma_shape(sample))


def _erlang(sample: Floats) -> Distribution:
    shape = _gamma_shape(sample)
    mean = float(sample.mean())
    laws = [erlang(mean, max(round_to(shape), 1)) for round_to in (math.floor, math.ceil)]
    return max(laws, key=lambda law: log_likelihood(law, sample))


def _lognormal(sample: Floats) -> Distribution:
    logs = np.log(sample)
    variance = float(logs.var())
    return lognormal(math.exp(float(logs.mean()) + variance / 2), c2=math.expm1(variance))


def _weibull(sample: Floats) -> Distribution:
    logs = np.log(sample / sample[-1])

    def slope(shape: float) -> float:
        powers = np.exp(shape * logs)
        return float(powers @ logs / powers.sum() - 1 / shape - logs.mean())

    guess = math.pi / math.sqrt(6) / float(logs.std())
    shape = float(
        scipy.optimize.brentq(slope, guess / 50, guess * 50, xtol=1e-12 * guess, rtol=1e-12)
    )
    scale = float(sample[-1]) * float(np.exp(shape * logs).mean()) ** (1 / shape)
    return weibull(scale, shape)


def _pareto(sample: Floats) -> Distribution:
    return pareto(float(sample[0]), shape=1 / float(np.log(sample / sample[0]).mean()))


def _bounded_pareto(sample: Floats) -> Distribution:
    width = math.log(sample[-1] / sample[0])
    mean = float(np.log(sample / sample[0]).mean())

    def slope(shape: float) -> float:
        return 1 / shape - width / math.expm1(shape * width) - mean

    low, high = 1e-6 / width, 500 / width
    if slope(low) <= 0 or slope(high) >= 0:
        raise FitError("its values do not thin out like a power")
    shape = float(scipy.optimize.brentq(slope, low, high, xtol=1e-14 / width, rtol=1e-12))
    return bounded_pareto(float(sample[0]), float(sample[-1]), shape)


def _normal(sample: Floats) -> Distribution:
    """Fit by mean and variance, which are all that the likelihood needs from the sample."""
    mean, variance = float(sample.mean()), float(sample.var())
    unit = math.sqrt(variance)
    if mean > _FAR_FROM_ZERO * unit:
        return normal(mean, unit)

    def loss(point: Floats) -> float:
        centre, deviation = point[0], math.exp(point[1])
        squares = 1 + (mean / unit - centre) ** 2
        kept = float(scipy.special.log_ndtr(centre / deviation))
        return float(math.log(deviation) + squares / (2 * deviation**2) + kept)

    start = np.array([mean / unit, 0.0])
    bounds = [(0.0, None), (-5.0, 5.0)]
    fit = scipy.optimize.minimize(
        loss, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9}
    )
    return normal(float(fit.x[0]) * unit, math.exp(fit.x[1]) * unit)


def _hyperexponential(sample: Floats) -> Distribution:
    mean = float(sample.mean())
    c2 = float(sample.var()) / mean**2
    if c2 <= 1:
        raise FitError(f"its c2 of {c2:.3g} is not above 1")

    def loss(point: Floats) -> float:
        law = _TwoBranches(mean * math.exp(point[0]), 1 + math.exp(point[1]))
        return -float(law.logpdf(sample).mean())

    start = np.array([0.0, math.log(c2 - 1)])
    options = {"xatol": 1e-7, "fatol": 1e-11, "maxiter": 1000}
    bounds = [(-5.0, 5.0), (-12.0, 12.0)]
    fit = scipy.optimize.minimize(loss, start, method="Nelder-Mead", bounds=bounds, options=options)
    return hyperexponential(mean * math.exp(fit.x[0]), c2=1 + math.exp(fit.x[1]))


FAMILIES: Mapping[str, Family] = {
    "exponential": Family(fit=_exponential, parameter_count=1, needs_positive=False),
    "uniform": Family(fit=_uniform, parameter_count=2, needs_positive=False),
    "normal": Family(fit=_normal, parameter_count=2, needs_positive=False),
    "gamma": Family(fit=_gamma, parameter_count=2),
    "lognormal": Family(fit=_lognormal, parameter_count=2),
    "weibull": Family(fit=_weibull, parameter_count=2),
    "hyperexponential": Family(fit=_hyperexponential, parameter_count=2, needs_positive=False),
    "pareto": Family(fit=_pareto, parameter_count=2),
    "bounded_pareto": Family(fit=_bounded_pareto, parameter_count=3),
    "erlang": Family(fit=_erlang, parameter_count=2),
}
"""Families that can be fitted. Erlang comes last: gamma includes it and is never less likely."""


def fit_family(name: str, sample: Floats) -> Distribution:
    """Return the most likely law of family `name` for the sorted `sample`.

    Raises
    ------
    FitError
        If the family cannot describe the sample.
    """
    family = FAMILIES[name]
    if family.needs_positive and sample[0] <= 0:
        raise FitError("it holds a 0")
    return family.fit(sample)


def log_likelihood(law: Distribution, sample: Floats) -> float:
    """Return the logarithm of the likelihood of `law`, of one of the `FAMILIES`."""
    return float(np.sum(reference(law).logpdf(sample)))
