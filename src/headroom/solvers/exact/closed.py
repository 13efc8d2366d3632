"""Input and output of the solvers of closed networks: arrays, in seconds.

Invariant: rows are stations, columns are closed classes, in the order of the network.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Closed:
    """A closed product-form network.

    Parameters
    ----------
    demand_s
        Shape (stations, classes): service time that one cycle takes at each station, all visits
        together.
    servers
        Shape (stations,): number of servers, 1 or more. Delays are not stations: see `think_s`.
    think_s
        Shape (classes,): time of a cycle that no station takes.
    population
        Shape (classes,): jobs of each class.
    open_load
        Shape (stations,): mean busy servers that open classes ask for, below `servers`.
    """

    demand_s: FloatArray
    servers: FloatArray
    think_s: FloatArray
    population: IntArray
    open_load: FloatArray

    @property
    def lattice_size(self) -> int:
        """Number of populations from no job to all jobs."""
        size = 1
        for jobs in self.population:
            size *= int(jobs) + 1
        return size


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClosedAnswer:
    """The solution of a closed network.

    Parameters
    ----------
    throughput_per_s
        Shape (classes,): cycles per second.
    jobs
        Shape (stations, classes): mean jobs of each closed class, in service or waiting.
    open_jobs
        Shape (stations,): mean jobs of all open classes.
    """

    throughput_per_s: FloatArray
    jobs: FloatArray
    open_jobs: FloatArray


def closed(
    demand_s: npt.ArrayLike,
    population: npt.ArrayLike,
    *,
    servers: npt.ArrayLike | None = None,
    think_s: npt.ArrayLike | None = None,
    open_load: npt.ArrayLike | None = None,
) -> Closed:
    """Return a closed network from lists; one class may be given as a flat list of demands.

    Examples
    --------
    >>> closed([0.05, 0.03], 4, think_s=1).demand_s.shape
    (2, 1)
    """
    jobs = np.atleast_1d(np.asarray(population, dtype=np.int64))
    demands = np.asarray(demand_s, dtype=np.float64).reshape(-1, len(jobs))
    stations = len(demands)
    return Closed(
        demand_s=demands,
        servers=_filled(servers, stations, 1.0),
        think_s=_filled(think_s, len(jobs), 0.0),
        population=jobs,
        open_load=_filled(open_load, stations, 0.0),
    )


def _filled(values: npt.ArrayLike | None, count: int, default: float) -> FloatArray:
    given = np.asarray(default if values is None else values, dtype=np.float64)
    return np.array(np.broadcast_to(given, (count,)))
