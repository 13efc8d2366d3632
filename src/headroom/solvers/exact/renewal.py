"""GI/M/c by its root: independent times between arrivals of any law, exponential service.

Takács (1962), *Introduction to the Theory of Queues*, chapter 2. An arrival that waits finds a
geometric number of others waiting; its ratio is the root of x = A*(c mu (1 - x)), where A* is the
Laplace transform of the time between arrivals.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy

from headroom.simulation import Distribution
from headroom.solvers.exact.phases import phase_type

Transform = Callable[[float], float]


def gi_m_c_wait_s(transform: Transform, servers: int, service_s: float) -> float:
    """Return the mean wait, given the transform of the time between arrivals (s).

    Examples
    --------
    >>> round(gi_m_c_wait_s(lambda s: 0.8 / (0.8 + s), 1, 1.0), 9)
    4.0
    """
    rate = servers / service_s
    root = _root(transform, rate)
    total, product = 1.0 / (1.0 - root), 1.0
    for j in range(1, servers + 1):
        value = transform(j / service_s)
        product *= value / (1.0 - value)
        part = (servers * (1.0 - value) - j) / (servers * (1.0 - root) - j)
        total += math.comb(servers, j) / (product * (1.0 - value)) * part
    return 1.0 / (total * rate * (1.0 - root) ** 2)


def _root(transform: Transform, rate: float) -> float:
    """Return the root below 1; it is the limit of x = A*(rate (1 - x)) from 0 on."""
    low = 0.0
    for _ in range(50):
        low = transform(rate * (1.0 - low))
    high = 1.0 - (1.0 - low) * 1e-6
    if transform(rate * (1.0 - high)) > high:
        return low
    return float(scipy.optimize.brentq(lambda x: transform(rate * (1.0 - x)) - x, low * 0.99, high))


def transform_of(law: Distribution) -> Transform | None:  # noqa: PLR0911 - a line for each law
    """Return the Laplace transform of a law, None if none is known here.

    Examples
    --------
    >>> from headroom.simulation import constant, erlang, uniform
    >>> round(transform_of(uniform(0, 2))(1.0), 9), round(transform_of(erlang(2, 2))(1.0), 9)
    (0.432332358, 0.25)
    """
    given: Mapping[str, Any] = dict(law.parameters)
    if law.kind == "constant":
        return lambda s: math.exp(-s * given["value"])
    if law.kind == "uniform" and given["low"] < given["high"]:
        low, high = given["low"], given["high"]
        return lambda s: (math.exp(-s * low) - math.exp(-s * high)) / (s * (high - low))
    if law.kind == "gamma":
        return lambda s: float((1.0 + s * given["mean"] * given["c2"]) ** (-1.0 / given["c2"]))
    if law.kind in {"discrete", "empirical"}:
        values = np.array(given["values"], float)
        weights = np.array(given.get("weights") or np.ones_like(values), float)
        return lambda s: float(np.exp(-s * values) @ weights / weights.sum())
    if law.kind == "scaled":
        inner, factor = transform_of(given["law"]), given["factor"]
        return None if inner is None else (lambda s: inner(s * factor))
    if (found := phase_type(law)) is not None:
        start, ends, inside = found.start, found.ends, found.inside
        size = np.eye(len(start))
        return lambda s: float(start @ np.linalg.solve(s * size - inside, ends))
    return _by_quantiles(law)


def _by_quantiles(law: Distribution) -> Transform | None:
    from headroom.simulation.laws.families import _REFERENCES, reference  # noqa: PLC0415

    if law.kind not in _REFERENCES:
        return None
    nodes, weights = np.polynomial.legendre.leggauss(16)
    # Panels that get narrow towards both ends, where quantiles are steep.
    tail = 0.1 * 0.5 ** np.arange(40)
    edges = np.concatenate([[0.0], tail[::-1], np.linspace(0.1, 0.9, 33)[1:-1], 1.0 - tail, [1.0]])
    halves = np.diff(edges) / 2.0
    places = (edges[:-1] + halves)[:, None] + halves[:, None] * nodes
    values = reference(law).ppf(np.minimum(places, 1.0 - 1e-16)).ravel()
    shares = (halves[:, None] * weights).ravel()
    return lambda s: float(np.exp(-s * values) @ shares)
