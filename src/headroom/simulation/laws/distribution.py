"""Distributions of service times, delays, think times and interarrival times.

A distribution is frozen data; the kernel draws from it. Parameters are in the model's time unit. If
two parametrisations are common, the one by mean and `c2` (the squared coefficient of variation,
variance / mean squared) is used, because these two determine queue lengths.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from headroom import _core
from headroom.simulation.errors import SimulationError, users_location

if TYPE_CHECKING:
    from headroom.simulation.laws.fitting import Fit

Values: TypeAlias = Sequence[float] | npt.NDArray[np.float64]
Parameter: TypeAlias = Union[
    float, str, tuple[float, ...], "Distribution", "tuple[Distribution, ...]"
]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of non-negative numbers; build one with the functions of this module.

    Parameters
    ----------
    kind
        Name of the distribution, e.g. ``"exponential"``.
    parameters
        Name and value of each parameter, in the model's time unit if it is a time.
    mean
        Mean, infinity if it does not exist.
    c2
        Squared coefficient of variation, infinity if the variance does not exist.
    fit
        How the law was fitted, if it was (see `from_samples`).

    Notes
    -----
    ``law * 2`` and ``law / 2`` scale, ``3 + law`` shifts, and ``law + other`` adds independent
    draws. A value that may become negative, or true or false, needs an expression: write
    ``draw(law) - 3``.

    Examples
    --------
    >>> erlang(10, stages=4).c2
    0.25
    >>> (3 + 2 * exponential(1)).mean
    5.0
    """

    kind: str
    parameters: tuple[tuple[str, Parameter], ...]
    mean: float
    c2: float
    fit: "Fit | None" = field(default=None, compare=False, repr=False)

    @property
    def variance(self) -> float:
        """Variance, in squares of the unit of the mean; infinity if it does not exist."""
        return self.c2 * self.mean**2 if self.mean > 0 else 0.0

    def to_data(self) -> dict[str, object]:
        """Return the distribution as the kernel reads it."""
        data: dict[str, object] = {"kind": self.kind}
        for name, value in self.parameters:
            data[name] = _data_of(value)
        return data

    def draw(
        self,
        count: int,
        *,
        seed: int = 1,
        sampling: Literal["fast", "inversion", "antithetic"] = "fast",
    ) -> npt.NDArray[np.float64]:
        """Return `count` draws, to inspect the distribution.

        Parameters
        ----------
        count
            Number of draws; a replay that stops at its end may give fewer.
        seed
            Seed of the random numbers, 0 to 2^64 - 1.
        sampling
            As in `simulate`.

        Examples
        --------
        >>> constant(2.5).draw(2)
        array([2.5, 2.5])
        >>> one = uniform(0, 2).draw(3, sampling="inversion")
        >>> other = uniform(0, 2).draw(3, sampling="antithetic")
        >>> one + other
        array([2., 2., 2.])
        """
        data = json.dumps(self.to_data()).encode()
        return _core.draw(distribution=data, seed=seed, key=0, count=count, sampling=sampling)

    @property
    def is_whole(self) -> bool:
        """True if every draw is a whole number."""
        if self.kind in {"geometric", "zipf", "nurand"}:
            return True
        if self.kind not in {"constant", "discrete", "empirical", "replay", *_COMPOUND}:
            return False
        parameters = dict(self.parameters)
        return all(
            part.is_whole if isinstance(part, Distribution) else float(part).is_integer()
            for name in ("value", "values", "factor", "law", "laws")
            for part in _as_tuple(parameters.get(name, ()))
        )

    def __add__(self, other: "Distribution | float") -> "Distribution":
        """Return the law of a draw of each, added up; a number shifts the law (>= 0)."""
        if not isinstance(other, (Distribution, Real)):
            return NotImplemented
        return added((self, as_distribution(other)))

    def __radd__(self, other: float) -> "Distribution":
        if not isinstance(other, Real):
            return NotImplemented
        return added((as_distribution(other), self))

    def __mul__(self, factor: float) -> "Distribution":
        """Return the law of a draw times `factor` (> 0)."""
        if not isinstance(factor, Real):
            return NotImplemented
        refuse_unless("a scaled law", is_positive(factor), factor=factor)
        return make("scaled", mean=self.mean * factor, c2=self.c2, factor=float(factor), law=self)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> "Distribution":
        """Return the law of a draw divided by `divisor` (> 0)."""
        if not isinstance(divisor, Real):
            return NotImplemented
        refuse_unless("a divided law", is_positive(divisor), divisor=divisor)
        return self * (1.0 / divisor)

    def __sub__(self, other: "Distribution | float") -> "Distribution":
        _refuse_operator(self, "-", other)
        return NotImplemented

    def __lt__(self, other: "Distribution | float") -> "Distribution":
        _refuse_operator(self, "<", other)
        return NotImplemented

    def __le__(self, other: "Distribution | float") -> "Distribution":
        _refuse_operator(self, "<=", other)
        return NotImplemented

    def __gt__(self, other: "Distribution | float") -> "Distribution":
        _refuse_operator(self, ">", other)
        return NotImplemented

    def __ge__(self, other: "Distribution | float") -> "Distribution":
        _refuse_operator(self, ">=", other)
        return NotImplemented

    def __str__(self) -> str:
        inside = ", ".join(_text_of(name, value) for name, value in self.parameters)
        text = f"{self.kind}({inside})"
        return f"fitted {text}" if self.fit is not None else text


_COMPOUND = ("sum", "mixture", "scaled")
_LONGEST_LIST = 8
_LONGEST_NUMBER = 9


def _as_tuple(value: Parameter) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _data_of(value: Parameter) -> object:
    if isinstance(value, Distribution):
        return value.to_data()
    return [_data_of(element) for element in value] if isinstance(value, tuple) else value


def _text_of(name: str, value: Parameter) -> str:
    if isinstance(value, float) and len(str(value)) > _LONGEST_NUMBER:
        return f"{name}={value:.6g}"
    if not isinstance(value, tuple):
        return f"{name}={value}"
    if len(value) > _LONGEST_LIST:
        return f"{len(value)} {name}"
    inside = ", ".join(str(element) for element in value)
    return f"{name}=({inside},)" if len(value) == 1 else f"{name}=({inside})"


def constant(value: float) -> Distribution:
    """Return the distribution that is always `value` (>= 0).

    Examples
    --------
    >>> constant(5).c2
    0.0
    """
    refuse_unless("constant", is_duration(value), value=value)
    return make("constant", mean=value, c2=0.0, value=float(value))


def uniform(low: float, high: float) -> Distribution:
    """Return the uniform distribution on [`low`, `high`], 0 <= low <= high.

    Examples
    --------
    >>> uniform(2, 4).mean
    3.0
    """
    is_valid = is_duration(low) and is_duration(high) and low <= high
    refuse_unless("uniform", is_valid, low=low, high=high)
    mean = (low + high) / 2
    variance = (high - low) ** 2 / 12
    return make("uniform", mean=mean, c2=c2_of(mean, variance), low=float(low), high=float(high))


def exponential(mean: float) -> Distribution:
    """Return the exponential distribution with `mean` (> 0).

    Examples
    --------
    >>> exponential(5).c2
    1.0
    """
    refuse_unless("exponential", is_positive(mean), mean=mean)
    return Distribution("exponential", (("mean", float(mean)),), float(mean), 1.0)


def erlang(mean: float, stages: int) -> Distribution:
    """Return the sum of `stages` (>= 1) equal exponentials, with `mean` (> 0) in all.

    Examples
    --------
    >>> erlang(5, stages=4).c2
    0.25
    """
    is_valid = is_positive(mean) and isinstance(stages, Integral) and stages >= 1
    refuse_unless("erlang", is_valid, mean=mean, stages=stages)
    parameters = (("mean", float(mean)), ("stages", int(stages)))
    return Distribution("erlang", parameters, float(mean), 1 / stages)


def gamma(mean: float, c2: float) -> Distribution:
    """Return the gamma distribution with `mean` (> 0) and `c2` (> 0).

    Examples
    --------
    >>> gamma(5, c2=0.5).mean
    5.0
    """
    refuse_unless("gamma", is_positive(mean) and is_positive(c2), mean=mean, c2=c2)
    return _by_mean_andc2_of("gamma", mean, c2)


def hyperexponential(mean: float, c2: float) -> Distribution:
    """Return two exponential branches with balanced means: `mean` (> 0) and `c2` (> 1).

    Examples
    --------
    >>> hyperexponential(5, c2=4).c2
    4.0
    """
    is_valid = is_positive(mean) and is_positive(c2) and c2 > 1
    refuse_unless("hyperexponential", is_valid, mean=mean, c2=c2)
    return _by_mean_andc2_of("hyperexponential", mean, c2)


def lognormal(mean: float, c2: float) -> Distribution:
    """Return the lognormal distribution with `mean` (> 0) and `c2` (> 0).

    Examples
    --------
    >>> lognormal(5, c2=0.5).mean
    5.0
    """
    refuse_unless("lognormal", is_positive(mean) and is_positive(c2), mean=mean, c2=c2)
    return _by_mean_andc2_of("lognormal", mean, c2)


def weibull(scale: float, shape: float) -> Distribution:
    """Return the Weibull distribution with `scale` (> 0) and `shape` (> 0).

    Examples
    --------
    >>> weibull(3, shape=1).mean
    3.0
    """
    is_valid = is_positive(scale) and is_positive(shape)
    refuse_unless("weibull", is_valid, scale=scale, shape=shape)
    first, second = math.lgamma(1 + 1 / shape), math.lgamma(1 + 2 / shape)
    mean = scale * math.gamma(1 + 1 / shape) if first < _LARGEST_LOG else math.inf
    c2 = math.expm1(second - 2 * first) if second - 2 * first < _LARGEST_LOG else math.inf
    return make("weibull", mean=mean, c2=c2, scale=float(scale), shape=float(shape))


def pareto(low: float, shape: float) -> Distribution:
    """Return the Pareto distribution from `low` (> 0) with tail index `shape` (> 0).

    The mean is infinite for a shape of 1 or less, the variance for 2 or less.
    """
    is_valid = is_positive(low) and is_positive(shape)
    refuse_unless("pareto", is_valid, low=low, shape=shape)
    mean = shape * low / (shape - 1) if shape > 1 else math.inf
    c2 = 1 / (shape * (shape - 2)) if shape > 2 else math.inf  # noqa: PLR2004 - the formula's own
    return make("pareto", mean=mean, c2=c2, low=float(low), shape=float(shape))


def bounded_pareto(low: float, high: float, shape: float) -> Distribution:
    """Return the Pareto distribution cut to [`low`, `high`], 0 < low < high, `shape` > 0."""
    is_valid = is_positive(low) and is_positive(high) and low < high and is_positive(shape)
    refuse_unless("bounded_pareto", is_valid, low=low, high=high, shape=shape)
    mean = _bounded_pareto_moment(low, high, shape, 1)
    variance = _bounded_pareto_moment(low, high, shape, 2) - mean**2
    parameters = {"low": float(low), "high": float(high), "shape": float(shape)}
    return make("bounded_pareto", mean=mean, c2=c2_of(mean, variance), **parameters)


def normal(mean: float, deviation: float) -> Distribution:
    """Return the normal distribution, drawn again while negative.

    `mean` (>= 0) and `deviation` (> 0) apply before the truncation, the attribute ``mean`` of the
    result after it.

    Examples
    --------
    >>> round(normal(0, 1).mean, 4)
    0.7979
    """
    is_valid = is_duration(mean) and is_positive(deviation)
    refuse_unless("normal", is_valid, mean=mean, deviation=deviation)
    alpha = -mean / deviation
    kept = math.erfc(alpha / math.sqrt(2)) / 2
    ratio = math.exp(-(alpha**2) / 2) / math.sqrt(2 * math.pi) / kept
    truncated = mean + deviation * ratio
    variance = deviation**2 * (1 + alpha * ratio - ratio**2)
    parameters = (("mean", float(mean)), ("deviation", float(deviation)))
    return Distribution("normal", parameters, truncated, c2_of(truncated, variance))


def triangular(low: float, mode: float, high: float) -> Distribution:
    """Return the law on low to high with its peak at mode: 0 <= low <= mode <= high, low < high."""
    is_valid = is_duration(low) and math.isfinite(high) and low <= mode <= high and low < high
    refuse_unless("triangular", is_valid, low=low, mode=mode, high=high)
    mean = (low + mode + high) / 3
    variance = (low**2 + mode**2 + high**2 - low * mode - low * high - mode * high) / 18
    parameters = {"low": float(low), "mode": float(mode), "high": float(high)}
    return make("triangular", mean=mean, c2=c2_of(mean, variance), **parameters)


def as_distribution(value: Distribution | float) -> Distribution:
    """Return `value`, a bare number standing for a constant."""
    return value if isinstance(value, Distribution) else constant(value)


def added(laws: Sequence[Distribution]) -> Distribution:
    """Return the law of the sum of a draw of each of `laws`; sums inside are unfolded."""
    parts = tuple(part for law in laws for part in _summands(law))
    mean = math.fsum(law.mean for law in parts)
    variance = math.fsum(law.variance for law in parts)
    return make("sum", mean=mean, c2=c2_of(mean, variance), laws=parts)


def _summands(law: Distribution) -> tuple[Distribution, ...]:
    if law.kind != "sum" or law.fit is not None:
        return (law,)
    return tuple(part for part in _as_tuple(dict(law.parameters)["laws"]))


def make(kind: str, /, *, mean: float, c2: float, **parameters: Parameter) -> Distribution:
    """Return a distribution from the kernel's name and parameters."""
    return Distribution(kind, tuple(parameters.items()), float(mean), float(c2))


def _by_mean_andc2_of(kind: str, mean: float, c2: float) -> Distribution:
    parameters = (("mean", float(mean)), ("c2", float(c2)))
    return Distribution(kind, parameters, float(mean), float(c2))


def _bounded_pareto_moment(low: float, high: float, shape: float, order: int) -> float:
    log_ratio = math.log(high / low)
    rest = order - shape
    integral = log_ratio if rest == 0 else math.expm1(rest * log_ratio) / rest
    return shape * math.pow(low, order) * integral / -math.expm1(-shape * log_ratio)


def c2_of(mean: float, variance: float) -> float:
    """Return the squared coefficient of variation; 0 for the law that is always 0."""
    if math.inf in (mean, variance):
        return math.inf
    return max(variance, 0.0) / mean**2 if mean > 0 else 0.0


def is_duration(value: object) -> bool:
    """Return whether `value` is a finite number of 0 or more."""
    return isinstance(value, Real) and math.isfinite(value) and float(value) >= 0


def is_positive(value: object) -> bool:
    """Return whether `value` is a finite number above 0."""
    return isinstance(value, Real) and is_duration(value) and float(value) > 0


# The exponential of more has no place in 64 bits.
_LARGEST_LOG = 709.0

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
    "geometric": "a whole low bound of 0 or more and a mean that is not below it",
    "zipf": "a whole count from 1 to 2^53 and an exponent above 0",
    "nurand": "whole numbers: a = 2^k - 1, 0 <= c <= a, 0 <= low <= high, all up to 2^24",
    "replay": "one or more values of 0 or more, and at_end 'repeat' or 'stop'",
    "coxian": "1 to 1000 means above 0, and for all but the last the probability of the next",
    "hypoexponential": "one or more means above 0",
    "mixture": "as many weights as laws, all 0 or more and one above 0",
    "from_moments": "a mean above 0 and a c2 of 0 or from 1e-9 on",
    "a scaled law": "a factor above 0",
    "a divided law": "a divisor above 0",
}


def _refuse_operator(law: Distribution, sign: str, other: object) -> None:
    """Refuse operands that give no law; an expression operand handles the operator itself."""
    if not isinstance(other, (Distribution, Real)):
        return
    raise SimulationError(
        f"{users_location()}({law} {sign} {other}) is not a distribution",
        cure=f"write draw(...) {sign} {other}, which each job computes, or a law that needs no "
        f"{sign}",
    )


def refuse_unless(kind: str, is_valid: bool, /, **parameters: object) -> None:  # noqa: FBT001 - the one condition, named by the caller's expression
    """Raise the error with the requirements of `kind`, unless `is_valid`."""
    if not is_valid:
        given = ", ".join(f"{name}={_given(value)}" for name, value in parameters.items())
        raise SimulationError(
            f"{users_location()}{kind}({given}) is not valid",
            cure=f"{kind} needs {_RANGES[kind]}",
        )


def _given(value: object) -> str:
    if isinstance(value, tuple) and len(value) > _LONGEST_LIST:
        return f"({len(value)} of them)"
    return repr(value)
