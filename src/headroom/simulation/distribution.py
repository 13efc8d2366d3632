"""Distributions of service times, delays, think times and interarrival times.

A distribution is frozen data; the kernel draws from it. Parameters are in the model's time unit.
Wherever two parametrisations are common, the one by mean and `c2` (the squared coefficient of
variation, variance / mean squared) is used, because those two decide how long queues get.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headroom import _core
from headroom.simulation.errors import SimulationError

Parameter: TypeAlias = float | int | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of non-negative numbers; build one with the functions of this module.

    Parameters
    ----------
    kind
        Name of the distribution, e.g. ``"exponential"``.
    parameters
        Name and value of each parameter, in the model's time unit where it is a time.
    mean
        Mean, infinity where it does not exist.
    c2
        Squared coefficient of variation, infinity where the variance does not exist.

    Examples
    --------
    >>> erlang(10, stages=4).c2
    0.25
    """

    kind: str
    parameters: tuple[tuple[str, Parameter], ...]
    mean: float
    c2: float

    def to_data(self) -> dict[str, object]:
        """Return the distribution as the kernel reads it."""
        data: dict[str, object] = {"kind": self.kind}
        for name, value in self.parameters:
            data[name] = list(value) if isinstance(value, tuple) else value
        return data

    def draw(self, count: int, *, seed: int = 1) -> npt.NDArray[np.float64]:
        """Return `count` draws, for a look at the distribution.

        Examples
        --------
        >>> constant(2.5).draw(2)
        array([2.5, 2.5])
        """
        data = json.dumps(self.to_data()).encode()
        return _core.draw(distribution=data, seed=seed, key=0, count=count)

    @property
    def is_whole(self) -> bool:
        """True where every draw is a whole number."""
        if self.kind not in {"constant", "discrete", "empirical"}:
            return False
        value = dict(self.parameters).get("value", dict(self.parameters).get("values"))
        values = value if isinstance(value, tuple) else (value,)
        return all(isinstance(one, (int, float)) and float(one).is_integer() for one in values)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.kind}({inside})"


def constant(value: float) -> Distribution:
    """Return the distribution that is always `value` (>= 0)."""
    _refuse_unless("constant", _is_duration(value), value=value)
    return _make("constant", mean=value, c2=0.0, value=float(value))


def uniform(low: float, high: float) -> Distribution:
    """Return the uniform distribution on [`low`, `high`], 0 <= low <= high."""
    is_valid = _is_duration(low) and _is_duration(high) and low <= high
    _refuse_unless("uniform", is_valid, low=low, high=high)
    mean = (low + high) / 2
    variance = (high - low) ** 2 / 12
    return _make("uniform", mean=mean, c2=_c2(mean, variance), low=float(low), high=float(high))


def exponential(mean: float) -> Distribution:
    """Return the exponential distribution with `mean` (> 0).

    Examples
    --------
    >>> exponential(5).c2
    1.0
    """
    _refuse_unless("exponential", _is_positive(mean), mean=mean)
    return Distribution("exponential", (("mean", float(mean)),), float(mean), 1.0)


def erlang(mean: float, stages: int) -> Distribution:
    """Return the sum of `stages` (>= 1) equal exponentials, with `mean` (> 0) in all."""
    is_valid = _is_positive(mean) and isinstance(stages, int) and stages >= 1
    _refuse_unless("erlang", is_valid, mean=mean, stages=stages)
    parameters = (("mean", float(mean)), ("stages", stages))
    return Distribution("erlang", parameters, float(mean), 1 / stages)


def gamma(mean: float, c2: float) -> Distribution:
    """Return the gamma distribution with `mean` (> 0) and `c2` (> 0)."""
    _refuse_unless("gamma", _is_positive(mean) and _is_positive(c2), mean=mean, c2=c2)
    return _by_mean_and_c2("gamma", mean, c2)


def hyperexponential(mean: float, c2: float) -> Distribution:
    """Return two exponential branches with balanced means: `mean` (> 0) and `c2` (> 1)."""
    is_valid = _is_positive(mean) and _is_positive(c2) and c2 > 1
    _refuse_unless("hyperexponential", is_valid, mean=mean, c2=c2)
    return _by_mean_and_c2("hyperexponential", mean, c2)


def lognormal(mean: float, c2: float) -> Distribution:
    """Return the lognormal distribution with `mean` (> 0) and `c2` (> 0)."""
    _refuse_unless("lognormal", _is_positive(mean) and _is_positive(c2), mean=mean, c2=c2)
    return _by_mean_and_c2("lognormal", mean, c2)


def weibull(scale: float, shape: float) -> Distribution:
    """Return the Weibull distribution with `scale` (> 0) and `shape` (> 0).

    Examples
    --------
    >>> weibull(3, shape=1).mean
    3.0
    """
    is_valid = _is_positive(scale) and _is_positive(shape)
    _refuse_unless("weibull", is_valid, scale=scale, shape=shape)
    mean = scale * math.gamma(1 + 1 / shape)
    c2 = math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1
    return _make("weibull", mean=mean, c2=c2, scale=float(scale), shape=float(shape))


def pareto(low: float, shape: float) -> Distribution:
    """Return the Pareto distribution from `low` (> 0) with tail index `shape` (> 0).

    The mean is infinite for a shape of 1 or less, the variance for 2 or less.
    """
    is_valid = _is_positive(low) and _is_positive(shape)
    _refuse_unless("pareto", is_valid, low=low, shape=shape)
    mean = shape * low / (shape - 1) if shape > 1 else math.inf
    c2 = 1 / (shape * (shape - 2)) if shape > 2 else math.inf  # noqa: PLR2004 - the formula's own
    return _make("pareto", mean=mean, c2=c2, low=float(low), shape=float(shape))


def bounded_pareto(low: float, high: float, shape: float) -> Distribution:
    """Return the Pareto distribution cut to [`low`, `high`], 0 < low < high, `shape` > 0."""
    is_valid = _is_positive(low) and _is_positive(high) and low < high and _is_positive(shape)
    _refuse_unless("bounded_pareto", is_valid, low=low, high=high, shape=shape)
    mean = _bounded_pareto_moment(low, high, shape, 1)
    variance = _bounded_pareto_moment(low, high, shape, 2) - mean**2
    parameters = {"low": float(low), "high": float(high), "shape": float(shape)}
    return _make("bounded_pareto", mean=mean, c2=_c2(mean, variance), **parameters)


def normal(mean: float, deviation: float) -> Distribution:
    """Return the normal distribution, drawn again while negative.

    `mean` (>= 0) and `deviation` (> 0) are those before the truncation; the attribute ``mean`` of
    the result is the mean after it.

    Examples
    --------
    >>> round(normal(0, 1).mean, 4)
    0.7979
    """
    is_valid = _is_duration(mean) and _is_positive(deviation)
    _refuse_unless("normal", is_valid, mean=mean, deviation=deviation)
    alpha = -mean / deviation
    kept = math.erfc(alpha / math.sqrt(2)) / 2
    ratio = math.exp(-(alpha**2) / 2) / math.sqrt(2 * math.pi) / kept
    truncated = mean + deviation * ratio
    variance = deviation**2 * (1 + alpha * ratio - ratio**2)
    parameters = (("mean", float(mean)), ("deviation", float(deviation)))
    return Distribution("normal", parameters, truncated, _c2(truncated, variance))


def triangular(low: float, mode: float, high: float) -> Distribution:
    """Return the triangular distribution, 0 <= low <= mode <= high, low < high."""
    is_valid = _is_duration(low) and math.isfinite(high) and low <= mode <= high and low < high
    _refuse_unless("triangular", is_valid, low=low, mode=mode, high=high)
    mean = (low + mode + high) / 3
    variance = (low**2 + mode**2 + high**2 - low * mode - low * high - mode * high) / 18
    parameters = {"low": float(low), "mode": float(mode), "high": float(high)}
    return _make("triangular", mean=mean, c2=_c2(mean, variance), **parameters)


def empirical(values: Sequence[float]) -> Distribution:
    """Return the distribution that draws each of the measured `values` equally often."""
    return _of_values("empirical", values, None)


def discrete(values: Sequence[float], weights: Sequence[float]) -> Distribution:
    """Return the distribution that draws each of `values` in proportion to its weight.

    Examples
    --------
    >>> discrete([1, 10], weights=[3, 1]).mean
    3.25
    """
    return _of_values("discrete", values, weights)


def as_distribution(value: Distribution | float) -> Distribution:
    """Return `value`, a bare number standing for a constant."""
    return value if isinstance(value, Distribution) else constant(value)


def _of_values(kind: str, values: Sequence[float], weights: Sequence[float] | None) -> Distribution:
    values = tuple(float(value) for value in values)
    shares = tuple(float(weight) for weight in (weights if weights is not None else values))
    if weights is None:
        shares = (1.0,) * len(values)
    is_valid = (
        len(values) == len(shares)
        and all(_is_duration(value) for value in (*values, *shares))
        and sum(shares) > 0
    )
    _refuse_unless(kind, is_valid, values=values, weights=shares)
    mean = math.fsum(v * w for v, w in zip(values, shares, strict=True)) / sum(shares)
    variance = math.fsum((v - mean) ** 2 * w for v, w in zip(values, shares, strict=True)) / sum(
        shares
    )
    parameters: dict[str, Parameter] = {"values": values}
    if weights is not None:
        parameters["weights"] = shares
    return _make(kind, mean=mean, c2=_c2(mean, variance), **parameters)


def _make(kind: str, /, *, mean: float, c2: float, **parameters: Parameter) -> Distribution:
    return Distribution(kind, tuple(parameters.items()), float(mean), float(c2))


def _by_mean_and_c2(kind: str, mean: float, c2: float) -> Distribution:
    parameters = (("mean", float(mean)), ("c2", float(c2)))
    return Distribution(kind, parameters, float(mean), float(c2))


def _bounded_pareto_moment(low: float, high: float, shape: float, order: int) -> float:
    scale = shape * math.pow(low, shape) / (1 - math.pow(low / high, shape))
    rest = order - shape
    if rest == 0:
        return scale * math.log(high / low)
    return scale * (math.pow(high, rest) - math.pow(low, rest)) / rest


def _c2(mean: float, variance: float) -> float:
    return variance / mean**2 if mean > 0 else 0.0


def _is_duration(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and value >= 0


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and _is_duration(value) and value > 0


_RANGES: Mapping[str, str] = {
    "constant": "a value of 0 or more",
    "uniform": "0 <= low <= high",
    "exponential": "a mean above 0",
    "erlang": "a mean above 0 and 1 or more stages",
    "gamma": "a mean and a c2 above 0",
    "hyperexponential": "a mean above 0 and a c2 above 1",
    "lognormal": "a mean and a c2 above 0",
    "weibull": "a scale and a shape above 0",
    "pareto": "a low bound and a shape above 0",
    "bounded_pareto": "0 < low < high and a shape above 0",
    "normal": "a mean of 0 or more and a deviation above 0",
    "triangular": "0 <= low <= mode <= high with low < high",
    "empirical": "one or more values of 0 or more",
    "discrete": "as many weights as values, all 0 or more and one weight above 0",
}


def _refuse_unless(kind: str, is_valid: bool, /, **parameters: object) -> None:  # noqa: FBT001 - the one condition, named by the caller's expression
    if not is_valid:
        given = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        raise SimulationError(
            f"{kind}({given}) does not exist", cure=f"{kind} asks for {_RANGES[kind]}"
        )
