"""Distribution-free bounds, and the knee.

Asymptotic bounds follow from the operational laws alone. Balanced-job bounds are tighter and hold
for product-form networks of single servers and one class.

Sources: Denning and Buzen (1978), ACM Computing Surveys 10(3), 225-261; Zahorjan, Sevcik, Eager and
Galler (1982), CACM 25(2), 134-141; Lazowska et al. (1984), *Quantitative System Performance*,
chapter 5.
"""

import math
from dataclasses import dataclass

import numpy as np

from headroom.solvers.exact.closed import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Limits of one class.

    Parameters
    ----------
    class_name
        Name of the class.
    throughput_per_s_low, throughput_per_s_high
        What the throughput cannot leave; for an open class the highest is its saturation with
        all other classes as they are.
    response_s_low, response_s_high
        The same for the mean response time; infinite if nothing bounds it.
    knee
        Population at which the asymptotes cross, None for open classes and several classes.
    station
        The station that sets the highest throughput, empty if none does.
    kind
        ``"asymptotic"`` or ``"balanced jobs"``.
    notes
        Why a bound is wider than it may look, or absent.
    """

    class_name: str
    throughput_per_s_low: float
    throughput_per_s_high: float
    response_s_low: float
    response_s_high: float
    knee: float | None
    station: str
    kind: str
    notes: tuple[str, ...] = ()


def asymptotic_throughput(
    demand_s: FloatArray, capacity: FloatArray, *, population: int, think_s: float
) -> tuple[float, float]:
    """Return the lowest and highest throughput (1/s) of one closed class.

    Parameters
    ----------
    demand_s, capacity
        Shape (stations,): service time of a cycle, and servers.
    population, think_s
        Jobs, and the time of a cycle that passes at no station.

    Examples
    --------
    >>> low, high = asymptotic_throughput(np.array([0.05, 0.03]), np.ones(2), population=10,
    ...     think_s=1.0)
    >>> round(low, 3), round(high, 3)
    (5.556, 9.259)
    """
    total = float(demand_s.sum())
    fastest = fastest_per_s(demand_s, capacity)
    low = population / (population * total + think_s) if total + think_s > 0 else math.inf
    high = population / (total + think_s) if total + think_s > 0 else math.inf
    return low, min(high, fastest)


def fastest_per_s(demand_s: FloatArray, capacity: FloatArray) -> float:
    """Return the throughput at which the first station is busy all the time."""
    slowest = float((demand_s / capacity).max(initial=0.0))
    return 1.0 / slowest if slowest > 0 else math.inf


def balanced_throughput(
    demand_s: FloatArray, *, population: int, think_s: float
) -> tuple[float, float]:
    """Return the balanced-job bounds (1/s) of one closed class at single servers.

    Examples
    --------
    >>> balanced_throughput(np.array([1.0, 1.0, 1.0]), population=4, think_s=0.0)
    (0.6666666666666666, 0.6666666666666666)
    """
    visited = demand_s[demand_s > 0]
    if not len(visited) or population < 1:
        return asymptotic_throughput(
            demand_s, np.ones(len(demand_s)), population=population, think_s=think_s
        )
    total, largest, mean = float(visited.sum()), float(visited.max()), float(visited.mean())
    others = population - 1
    crowded = others * largest / (1.0 + think_s / (population * total))
    level = others * mean / (1.0 + think_s / total)
    low = population / (total + think_s + crowded)
    return low, min(population / (total + think_s + level), 1.0 / largest)
