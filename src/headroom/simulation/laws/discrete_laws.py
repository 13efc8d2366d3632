"""Distributions on listed values or on whole numbers: sizes, counts, records, recordings.

Sources: Zipf's law as used by YCSB and most key-value benchmarks; NURand from TPC Benchmark C,
revision 5.11, clause 2.1.6. Means and `c2` are exact: sums over the whole law, long sums by
Euler-Maclaurin summation.
"""

import math
from numbers import Integral
from typing import Literal

import numpy as np
import numpy.typing as npt

from headroom.simulation.laws.distribution import (
    Distribution,
    Parameter,
    Values,
    c2_of,
    is_duration,
    is_positive,
    make,
    refuse_unless,
)

_LARGEST_WHOLE = 2**53
_LARGEST_RECORD = 2**24


def empirical(values: Values) -> Distribution:
    """Return the distribution that draws each of the measured `values` equally often.

    Examples
    --------
    >>> empirical([1, 2, 6]).mean
    3.0
    """
    return _of_values("empirical", values, None)


def discrete(values: Values, weights: Values) -> Distribution:
    """Return the distribution that draws each of `values` in proportion to its weight.

    Examples
    --------
    >>> discrete([1, 10], weights=[3, 1]).mean
    3.25
    """
    return _of_values("discrete", values, weights)


def replay(values: Values, at_end: Literal["repeat", "stop"] = "repeat") -> Distribution:
    """Return the recorded `values` (>= 0) one after the other, in their order.

    After the last value the replay starts again (``"repeat"``), or a run that needs another one
    ends with an error (``"stop"``).

    Examples
    --------
    >>> replay([3, 1, 2]).draw(5)
    array([3., 1., 2., 3., 1.])
    >>> replay([3, 1, 2], at_end="stop").draw(5)
    array([3., 1., 2.])
    """
    values = tuple(float(value) for value in values)
    refuse_unless("replay", at_end in {"repeat", "stop"}, values=values, at_end=at_end)
    return _of_values("replay", values, None, at_end=at_end)


def geometric(mean: float, low: int = 1) -> Distribution:
    """Return the memoryless law on the whole numbers from `low` (>= 0) on, with `mean` >= low.

    Examples
    --------
    >>> geometric(4).c2
    0.75
    """
    is_valid = _is_whole(low, 0, _LARGEST_WHOLE) and is_duration(mean) and mean >= low
    refuse_unless("geometric", is_valid, mean=mean, low=low)
    failures = mean - low
    c2 = c2_of(mean, failures * (failures + 1))
    parameters = (("mean", float(mean)), ("low", int(low)))
    return Distribution("geometric", parameters, float(mean), c2)


def zipf(count: int, exponent: float) -> Distribution:
    """Return Zipf's law on 1 to `count`: the k-th value in proportion to k^-exponent.

    Rejection-inversion (Hoermann & Derflinger 1996): exact for `count` up to 2^53 and `exponent`
    above 0, in constant memory.

    Examples
    --------
    >>> round(zipf(3, exponent=1).mean, 4)
    1.6364
    """
    is_valid = _is_whole(count, 1, _LARGEST_WHOLE) and is_positive(exponent)
    refuse_unless("zipf", is_valid, count=count, exponent=exponent)
    total = _power_sum(count, exponent)
    mean = _power_sum(count, exponent - 1) / total
    variance = _power_sum(count, exponent - 2) / total - mean**2
    c2 = c2_of(mean, variance)
    return make("zipf", mean=mean, c2=c2, count=int(count), exponent=float(exponent))


def nurand(a: int, low: int, high: int, c: int = 0) -> Distribution:
    """Return the non-uniform record numbers of TPC-C, from `low` to `high`.

    A draw is ``((random(0, a) | random(low, high)) + c) % (high - low + 1) + low``.

    Parameters
    ----------
    a
        Mask, one less than a power of two: TPC-C uses 255, 1023 and 8191.
    low, high
        First and last record, 0 <= low <= high <= 2^24.
    c
        The constant of the run, 0 to `a`.

    Examples
    --------
    >>> nurand(1, 0, 1).mean
    0.75
    """
    bounds = (a, low, high, c)
    is_valid = all(_is_whole(bound, 0, _LARGEST_RECORD) for bound in bounds)
    is_valid = is_valid and a & (a + 1) == 0 and c <= a and low <= high
    refuse_unless("nurand", is_valid, a=a, low=low, high=high, c=c)
    records, weights = nurand_shares(a, low, high, c)
    total = weights.sum()
    mean = float(records @ weights / total)
    variance = float((records - mean) ** 2 @ weights / total)
    parameters = {"a": int(a), "low": int(low), "high": int(high), "c": int(c)}
    return make("nurand", mean=mean, c2=c2_of(mean, variance), **parameters)


def _of_values(
    kind: str, values: Values, weights: Values | None, **others: Parameter
) -> Distribution:
    values = tuple(float(value) for value in values)
    shares = (1.0,) * len(values) if weights is None else tuple(float(weight) for weight in weights)
    is_valid = (
        len(values) == len(shares)
        and all(is_duration(value) for value in (*values, *shares))
        and sum(shares) > 0
    )
    refuse_unless(kind, is_valid, values=values, weights=shares)
    total = math.fsum(shares)
    mean = math.fsum(v * w for v, w in zip(values, shares, strict=True)) / total
    variance = math.fsum((v - mean) ** 2 * w for v, w in zip(values, shares, strict=True)) / total
    parameters: dict[str, Parameter] = {"values": values}
    if weights is not None:
        parameters["weights"] = shares
    return make(kind, mean=mean, c2=c2_of(mean, variance), **parameters, **others)


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, Integral) and least <= int(value) <= most


def _power_sum(count: int, power: float) -> float:
    """Return the sum of k^-power for k from 1 to `count`."""
    summed = min(count, 1000)
    near = math.fsum((np.arange(1, summed + 1, dtype=float) ** -power).tolist())
    if summed == count:
        return near
    log_ratio = math.log(count / summed)
    rest = 1 - power
    integral = log_ratio if rest == 0 else math.expm1(rest * log_ratio) / rest
    start, end = math.pow(summed, -power), math.pow(count, -power)
    slopes = -power * (end / count - start / summed)
    return near + start * summed * integral + (end - start) / 2 + slopes / 12


def nurand_shares(
    a: int, low: int, high: int, c: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the record numbers and their weights.

    A mask of k bits leaves the bits above alone. Below them, z comes from every b inside z, in
    2^(bits of b) ways: a sum over subsets, one bit at a time.
    """
    size = a + 1
    first, last = low // size, high // size
    numbers = np.arange(first * size, (last + 1) * size)
    ways = np.exp2(np.bitwise_count(np.arange(size)).astype(float))
    weights = ((numbers >= low) & (numbers <= high)).reshape(-1, size) * ways
    for bit in range(a.bit_length()):
        halves = weights.reshape(-1, size >> (bit + 1), 2, 1 << bit)
        halves[:, :, 1] += halves[:, :, 0]
    records = (numbers + c) % (high - low + 1) + low
    return records.astype(float), weights.reshape(-1)
