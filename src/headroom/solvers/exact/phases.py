"""Laws and arrivals of phase type: matrices that a Markov chain of a queue is made of.

Neuts (1981), *Matrix-Geometric Solutions in Stochastic Models*; Lucantoni (1991), Stochastic Models
7(1), 1-46, for Markovian arrival processes. Rates are per second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy

from headroom.simulation import Distribution, from_moments
from headroom.simulation.laws.arrivals import ArrivalProcess
from headroom.solvers.exact.closed import FloatArray

MOST_PHASES = 60
"""Phases of one law at most."""
MOST_STAGES = 16
"""Stages in a row that stand for a law of little variability."""


@dataclass(frozen=True, slots=True, eq=False)
class PhaseType:
    """The time until a Markov chain is absorbed: where it starts, and its rates inside."""

    start: FloatArray
    inside: FloatArray

    @property
    def ends(self) -> FloatArray:
        """Rate of the end in each phase."""
        return np.asarray(-self.inside.sum(axis=1))

    @property
    def mean(self) -> float:
        """Mean time to the end."""
        return float(-self.start @ np.linalg.solve(self.inside, np.ones(len(self.start))))

    def with_mean(self, mean: float) -> "PhaseType":
        """Return the same law on another scale."""
        return PhaseType(self.start, self.inside * (self.mean / mean))


def phase_type(law: Distribution) -> PhaseType | None:
    """Return a law as one of phase type, None if it is none, or of too many phases.

    Examples
    --------
    >>> from headroom.simulation import erlang
    >>> phase_type(erlang(4, 2)).inside.tolist()
    [[-0.5, 0.5], [0.0, -0.5]]
    """
    given: dict[str, Any] = dict(law.parameters)
    found = None
    match law.kind:
        case "exponential":
            found = _stages([1.0 / given["mean"]])
        case "erlang":
            count = given["stages"]
            found = _stages([count / given["mean"]] * min(count, MOST_PHASES + 1))
        case "hyperexponential":
            found = _branches(given["mean"], given["c2"])
        case "coxian":
            found = _stages(1.0 / np.array(given["means"]), given["onward"])
        case "scaled":
            inner = phase_type(given["law"])
            found = inner and PhaseType(inner.start, inner.inside / given["factor"])
        case "sum" | "mixture":
            parts = [phase_type(one) for one in given["laws"]]
            known = [one for one in parts if one is not None]
            if len(known) == len(parts):
                of = given.get("weights")
                found = reduce(_after, known) if of is None else mixed(known, np.array(of))
    return found if found is not None and len(found.start) <= MOST_PHASES else None


def two_moments(mean: float, c2: float, *, most: int = MOST_STAGES) -> PhaseType:
    """Return a law of phase type with these moments; a c2 below 1 / `most` is taken as that.

    Examples
    --------
    >>> round(two_moments(3.0, 5.0).mean, 12)
    3.0
    """
    if c2 > 1.0:
        return _branches(mean, c2)
    law = from_moments(mean, max(c2, 1.0 / most))
    found = phase_type(law)
    if found is None:
        raise AssertionError(f"{law} is not of phase type")
    return found


def _branches(mean: float, c2: float) -> PhaseType:
    """Return a hyperexponential law with balanced means."""
    share = (1.0 + np.sqrt((c2 - 1.0) / (c2 + 1.0))) / 2.0
    shares = np.array([share, 1.0 - share])
    return PhaseType(shares, np.diag(-2.0 * shares / mean))


def _stages(
    rates: Sequence[float] | FloatArray, onward: tuple[float, ...] | None = None
) -> PhaseType:
    values = np.asarray(rates, dtype=np.float64)
    onward = (1.0,) * (len(values) - 1) if onward is None else onward
    start = np.zeros(len(values))
    start[0] = 1.0
    return PhaseType(start, np.diag(-values) + np.diag(values[:-1] * np.array(onward), 1))


def _after(first: PhaseType, second: PhaseType) -> PhaseType:
    """Return the law of one time after another."""
    across = np.outer(first.ends, second.start)
    inside = np.block([[first.inside, across], [np.zeros(across.T.shape), second.inside]])
    return PhaseType(np.concatenate([first.start, np.zeros(len(second.start))]), inside)


def mixed(parts: Sequence[PhaseType], weights: FloatArray) -> PhaseType:
    """Return the law that is one of several, in proportion to its weight."""
    shares = weights / weights.sum()
    start = np.concatenate([share * one.start for share, one in zip(shares, parts, strict=True)])
    return PhaseType(start, scipy.linalg.block_diag(*(one.inside for one in parts)))


@dataclass(frozen=True, slots=True, eq=False)
class Arriving:
    """A Markovian arrival process: rates of changes without an arrival, and with one."""

    silent: FloatArray
    arriving: FloatArray

    @property
    def rate(self) -> float:
        """Arrivals per second in the long run."""
        return float(stationary(self.silent + self.arriving) @ self.arriving.sum(axis=1))

    def with_rate(self, rate: float) -> "Arriving":
        """Return the same process on another scale of time."""
        factor = rate / self.rate
        return Arriving(self.silent * factor, self.arriving * factor)


def renewal(gap: PhaseType) -> Arriving:
    """Return arrivals with independent times between them."""
    return Arriving(gap.inside, np.outer(gap.ends, gap.start))


def modulated(process: ArrivalProcess) -> Arriving | None:
    """Return a process as a Markovian one, None if it is none."""
    given: dict[str, Any] = process.to_data()
    if given["kind"] != "mmpp":
        return None
    rates, jumps = np.array(given["rates"], float), np.array(given["switch_rates"], float)
    np.fill_diagonal(jumps, 0.0)
    return Arriving(jumps - np.diag(jumps.sum(axis=1) + rates), np.diag(rates))


def kronecker_sum(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the generator of two independent chains side by side."""
    return np.asarray(np.kron(first, np.eye(len(second))) + np.kron(np.eye(len(first)), second))


def stationary(generator: FloatArray) -> FloatArray:
    """Return the share of time that a Markov chain spends in each state.

    Examples
    --------
    >>> stationary(np.array([[-1.0, 1.0], [3.0, -3.0]])).round(12).tolist()
    [0.75, 0.25]
    """
    size = len(generator)
    system = np.vstack([generator.T, np.ones(size)])
    found = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return np.asarray(np.maximum(found, 0.0) / np.maximum(found, 0.0).sum())
