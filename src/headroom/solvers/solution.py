"""The result of a solver: plain values, the method, and its validity.

Invariant: metric names and units are those of a simulated point, so that both can be laid side by
side; a figure that does not exist (the utilization of unlimited servers) is absent.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headroom.solvers.bounds.bounds import Bounds

ROUNDING = 1e-11
"""Share of the jobs at a station that the rounding of sums may leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSolution:
    """One class of jobs: completions per second, mean response (s), mean jobs in the system.

    `response_s_at` holds percentiles by their per cent, where a closed form gives them.
    """

    name: str
    throughput_per_s: float
    response_s: float
    jobs: float
    response_s_at: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StationSolution:
    """One station; `wait_s` and `response_s` are of one visit, `servers` may be infinite.

    `jobs_by_class` and `throughput_by_class` split the totals by class.
    """

    name: str
    servers: float
    throughput_per_s: float
    busy: float
    jobs: float
    wait_s: float
    response_s: float
    jobs_by_class: Mapping[str, float]
    throughput_by_class: Mapping[str, float]
    wait_s_at: Mapping[int, float] = field(default_factory=dict)
    availability: float = 1.0

    @property
    def utilization(self) -> float:
        """Busy share of the servers' time up, not-a-number where they are unlimited."""
        up = self.servers * self.availability
        return self.busy / up if math.isfinite(up) else math.nan

    @property
    def queue_len(self) -> float:
        """Mean jobs that wait; a remainder of rounding counts as none."""
        waiting = self.jobs - self.busy
        if math.isinf(waiting):
            return math.inf
        return 0.0 if waiting <= ROUNDING * self.jobs else waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSolution:
    """One pool: the held share of its tokens, requests that wait, their wait (s), grants."""

    name: str
    utilization: float
    queue_len: float
    wait_s: float
    throughput_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The answer of a solver.

    Parameters
    ----------
    model
        Name of the model.
    method
        How it was found, as text.
    is_exact
        True where theory gives exactly these figures for exactly this model.
    reasons
        Why the answer is an approximation, each with the line of the model where there is one;
        empty for an exact one.
    refused
        Those of the reasons for which figures are withheld (not-a-number): an estimate could be
        off by more than `headroom.solvers.reasons.MOST_ERROR`. Values that follow from flow
        conservation are kept.
    classes, stations, pools
        The figures.
    bounds
        Asymptotic or balanced-job bounds of each class.
    error_key
        The kind of error that it has, as `headroom.solvers.known_errors` knows it.
    """

    model: str
    method: str
    is_exact: bool
    reasons: tuple[str, ...]
    classes: tuple[ClassSolution, ...]
    stations: tuple[StationSolution, ...]
    pools: tuple[PoolSolution, ...]
    bounds: tuple[Bounds, ...]
    refused: tuple[str, ...] = ()
    error_key: str = ""

    @property
    def throughput_per_s(self) -> float:
        """Completions of all classes per second."""
        return math.fsum(class_.throughput_per_s for class_ in self.classes)

    @property
    def response_s(self) -> float:
        """Mean response time (s) of the jobs that complete."""
        total = self.throughput_per_s
        spent = math.fsum(class_.throughput_per_s * class_.response_s for class_ in self.classes)
        return spent / total if total > 0 else math.nan

    @property
    def label(self) -> str:
        """Exact or approximate, and the method; the method alone where figures are withheld.

        Examples
        --------
        >>> Solution(model="m", method="convolution", is_exact=True, reasons=(), classes=(),
        ...     stations=(), pools=(), bounds=()).label
        'exact (convolution)'
        """
        if self.refused:
            return self.method
        return f"{'exact' if self.is_exact else 'approximation'} ({self.method})"

    def metrics(self) -> dict[str, float]:
        """Return every figure under the name that a simulated point gives it, in base units."""
        jobs = math.fsum(class_.jobs for class_ in self.classes)
        found = {
            "throughput": self.throughput_per_s,
            "response_s_mean": self.response_s,
            "jobs_mean": jobs,
        }
        for class_ in self.classes:
            found |= {f"class.{class_.name}.{name}": value for name, value in _of_class(class_)}
        if len(self.classes) == 1:
            found |= dict(_percentiles(self.classes[0]))
        for station in self.stations:
            found |= {f"station.{station.name}.{name}": v for name, v in _of_station(station)}
        for pool in self.pools:
            found |= {f"pool.{pool.name}.{name}": value for name, value in _of_pool(pool)}
        return {name: float(value) for name, value in found.items() if math.isfinite(value)}


def _of_class(one: ClassSolution) -> Iterator[tuple[str, float]]:
    yield "throughput", one.throughput_per_s
    yield "response_s_mean", one.response_s
    yield "jobs_mean", one.jobs
    yield from _percentiles(one)


def _percentiles(one: ClassSolution) -> Iterator[tuple[str, float]]:
    for percent, value in one.response_s_at.items():
        yield f"response_s_p{percent}", value


def _of_station(one: StationSolution) -> Iterator[tuple[str, float]]:
    yield "utilization", one.utilization
    yield "queue_len_mean", one.queue_len
    yield "wait_s_mean", one.wait_s
    yield "response_s_mean", one.response_s
    yield "throughput", one.throughput_per_s
    yield "jobs_mean", one.jobs
    for percent, value in one.wait_s_at.items():
        yield f"wait_s_p{percent}", value


def _of_pool(one: PoolSolution) -> Iterator[tuple[str, float]]:
    yield "utilization", one.utilization
    yield "queue_len_mean", one.queue_len
    yield "wait_s_mean", one.wait_s
    yield "throughput", one.throughput_per_s
