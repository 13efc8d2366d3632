"""One level of a hierarchy: jobs that share stations with load-dependent speeds.

A level is a closed network of one class: delays, single servers, and factors. A factor is a station
that gives rates[n - 1] when n jobs are there, and the last rate beyond. A station with several
servers is such a factor. So is a pool with everything that happens while its tokens are held: its
rates are the throughputs of the level inside (a flow-equivalent server: Chandy, Herzog and Woo
1975, IBM J. Res. Dev. 19(1), 36-42; Courtois 1977).

A factor's generating function is F(x) = P(x) / (1 - x), x in units of its last rate. P has no
negative coefficient if the rates do not fall. Jobs from elsewhere, which arrive at a separate rate,
turn F(x) into F(x + a). So every result is a sum of positive numbers, kept as logarithms: nothing
cancels or overflows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from headroom.solvers.exact.closed import FloatArray, IntArray

WORK_LIMIT = 3e8
"""Additions of logarithms of one level at most: a few seconds."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A station, or a pool with what is inside.

    Parameters
    ----------
    rates
        Passages per second with 1, 2, ... jobs; the last stays.
    visits
        Passages of one cycle of the level.
    foreign
        Passages per second of jobs that do not belong to the level.
    """

    rates: FloatArray
    visits: float
    foreign: float = 0.0

    @cached_property
    def share(self) -> float:
        """Share of the last rate that is left to the level."""
        return max(1.0 - self.foreign / float(self.rates[-1]), 1e-9)

    @cached_property
    def plain(self) -> FloatArray:
        """Logarithms of the coefficients of F(x) up to the number of rates."""
        rising = np.maximum.accumulate(self.rates)
        return np.append(0.0, np.cumsum(np.log(rising[-1] / rising)))

    @cached_property
    def head(self) -> FloatArray:
        """Logarithms of the coefficients of P(x + a)."""
        rising = np.maximum.accumulate(self.rates)
        with np.errstate(divide="ignore"):
            steps = np.log(rising[-1] / rising[:-1] - 1.0)
            own = np.append(0.0, self.plain[: len(steps)] + steps)
            moved = np.log(1.0 - self.share)
        if self.foreign <= 0:
            return own
        places = np.arange(len(own))
        return np.array([
            log_sum(own[j:] + _log_choose(places[j:], j) + (places[j:] - j) * moved)
            for j in range(len(places))
        ])  # fmt: skip

    @cached_property
    def log_step(self) -> float:
        """Logarithm of what one cycle asks for, in units of the last rate."""
        return float(np.log(self.visits / self.rates[-1]))

    def coefficients(self, most: int) -> FloatArray:
        """Return the logarithms of the coefficients of F(x + a) for 0 to `most` jobs."""
        unit = np.full(most + 1, -np.inf)
        unit[0] = -np.log(self.share)
        return self._times(unit, 0.0)

    def times(self, logs: FloatArray) -> FloatArray:
        """Return a level's normalising constants with this factor in."""
        return self._times(logs, self.log_step)

    def _times(self, logs: FloatArray, log_step: float) -> FloatArray:
        found = np.full_like(logs, -np.inf)
        for j, weight in enumerate(self.head[: len(logs)]):
            if np.isfinite(weight):
                shifted = logs[: len(logs) - j] + weight + j * log_step
                np.logaddexp(found[j:], shifted, out=found[j:])
        return geometric(found, log_step - float(np.log(self.share)))

    def foreign_jobs(self, shares: FloatArray) -> float:
        """Return the mean jobs from elsewhere, given the shares of 0, 1, ... jobs of the level."""
        if self.foreign <= 0:
            return 0.0
        logs = self.coefficients(len(shares))
        counts = np.arange(len(shares))
        given = (1.0 - self.share) * (counts + 1) * np.exp(logs[1:] - logs[:-1])
        return float(shares @ given)

    def inside(self, shares: FloatArray) -> FloatArray:
        """Return the shares of 0, 1, ... jobs, all counted, up to the number of rates."""
        most = len(self.rates)
        zeros = np.zeros(most + 1)
        if self.foreign <= 0:
            kept = min(most, len(shares))
            zeros[:kept] = shares[:kept]
        else:
            logs, moved = self.coefficients(len(shares) - 1), np.log(1.0 - self.share)
            for j in map(int, np.flatnonzero(shares[:most] > 0)):
                totals = np.arange(j, most)
                weights = self.plain[totals] + _log_choose(totals, j) + (totals - j) * moved
                zeros[totals] += shares[j] * np.exp(weights - logs[j])
        zeros[most] = max(1.0 - float(zeros[:most].sum()), 0.0)
        return zeros


def several_servers(servers: float, demand_s: float, taken: float) -> Factor:
    """Return the factor of equal servers, `taken` of which work for others on average."""
    return Factor(np.arange(1.0, servers + 1.0), demand_s, taken)


@dataclass(frozen=True, eq=False)
class Level:
    """A level with up to `most` jobs.

    Parameters
    ----------
    delay_s
        Time of a cycle without any queue.
    single_s
        Time of a cycle at each single server, work for others taken off its speed.
    factors
        All that has a speed of its own.
    """

    most: int
    delay_s: float
    single_s: FloatArray
    factors: Sequence[Factor] = field(default_factory=tuple)

    @property
    def work(self) -> float:
        """Additions that a solution takes, about."""
        heads = sum(min(len(factor.rates), self.most) for factor in self.factors)
        steps = len(self.single_s) * 2 + heads * (1 + len(self.factors))
        return float((self.most + 1) * (steps + 1))

    @cached_property
    def _simple(self) -> FloatArray:
        counts = np.arange(self.most + 1)
        logs = np.full(self.most + 1, -np.inf)
        logs[0] = 0.0
        if self.delay_s > 0:
            logs = counts * np.log(self.delay_s) - scipy.special.gammaln(counts + 1)
        for demand in self.single_s:
            logs = geometric(logs, float(np.log(demand)))
        return logs

    @cached_property
    def constants(self) -> FloatArray:
        """Logarithms of the normalising constants with 0 to `most` jobs."""
        logs = self._simple
        for factor in self.factors:
            logs = factor.times(logs)
        return logs

    @cached_property
    def rates(self) -> FloatArray:
        """Cycles per second with 1, 2, ... `most` jobs."""
        return np.asarray(np.exp(self.constants[:-1] - self.constants[1:]))

    def single_jobs(self, shares: FloatArray) -> FloatArray:
        """Return the mean jobs at each single server, given the shares of 0, 1, ... jobs."""
        found, known = np.zeros(len(self.single_s)), {}
        for place, demand in enumerate(self.single_s):
            if demand not in known:
                step = float(np.log(demand))
                grown = geometric(self.constants, step)[:-1] + step - self.constants[1:]
                known[demand] = float(shares[1:] @ np.exp(grown))
            found[place] = known[demand]
        return found

    def factor_shares(self, which: int, shares: FloatArray) -> FloatArray:
        """Return the shares of 0, 1, ... jobs at a factor, given those of the level."""
        rest = self._simple
        for place, factor in enumerate(self.factors):
            if place != which:
                rest = factor.times(rest)
        factor = self.factors[which]
        own = factor.coefficients(self.most) + np.arange(self.most + 1) * factor.log_step
        zeros = np.zeros(self.most + 1)
        for n in np.flatnonzero(shares > 0):
            zeros[: n + 1] += shares[n] * np.exp(own[: n + 1] + rest[n::-1] - self.constants[n])
        return np.asarray(zeros / zeros.sum())


def geometric(logs: FloatArray, log_ratio: float) -> FloatArray:
    """Return the product with 1 / (1 - ratio x), all as logarithms.

    Examples
    --------
    >>> geometric(np.log([1.0, 1.0, 1.0]), float(np.log(0.5))).round(4).tolist()
    [0.0, 0.4055, 0.5596]
    """
    steps = np.arange(len(logs)) * log_ratio
    return np.asarray(np.logaddexp.accumulate(logs - steps) + steps)


def log_sum(logs: FloatArray) -> float:
    """Return the logarithm of the sum of what `logs` are logarithms of."""
    return float(np.logaddexp.reduce(logs))


def _log_choose(totals: IntArray, chosen: int) -> FloatArray:
    rest = scipy.special.gammaln(chosen + 1) + scipy.special.gammaln(totals - chosen + 1)
    return np.asarray(scipy.special.gammaln(totals + 1) - rest)
