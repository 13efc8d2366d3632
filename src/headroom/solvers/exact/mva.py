"""Exact mean value analysis of closed networks of single servers and delays, several classes.

R_kr(n) = D_kr (1 + sum_s Q_ks(n - e_r)); X_r(n) = n_r / (Z_r + sum_k R_kr(n)); Q_kr = X_r R_kr. The
recursion runs over all populations of one total at a time, as arrays. It only adds, multiplies and
divides positive numbers, so it is stable. Stations with several servers would need marginal
probabilities, whose recursion is unstable: `convolution` solves those.

Source: Reiser and Lavenberg (1980), JACM 27(2), 313-322.
"""

import numpy as np

from headroom.solvers.exact.closed import Closed, ClosedAnswer, FloatArray
from headroom.solvers.exact.lattice import Lattice


def mva_work(network: Closed) -> float:
    """Return the multiplications that `mean_value_analysis` needs, about."""
    return float(network.lattice_size * network.demand_s.size)


def mean_value_analysis(network: Closed) -> ClosedAnswer:
    """Return the exact solution; every station has one server.

    Open classes take a share of each server and leave 1 - share to the closed ones.

    Examples
    --------
    >>> from headroom.solvers.exact.closed import closed
    >>> answer = mean_value_analysis(closed([0.05, 0.03, 0.04], 20, think_s=1))
    >>> round(float(answer.throughput_per_s[0]), 6)
    15.359464
    """
    if (network.servers != 1).any():
        raise AssertionError("mean value analysis here is for single servers")
    demands = network.demand_s / (1 - network.open_load)[:, None]
    lattice = Lattice(network.population)
    grids = np.indices(lattice.shape).reshape(len(lattice.shape), -1) - 1
    present = np.zeros((int(np.prod(lattice.shape)), len(demands)))
    throughput = np.zeros(len(network.population))
    jobs = np.zeros_like(demands)
    for places in lattice.levels:
        total = np.zeros((len(places), len(demands)))
        for r, step in enumerate(lattice.strides):
            residence = demands[:, r] * (1 + present[places - step])
            cycle = network.think_s[r] + residence.sum(axis=1)
            throughputs = grids[r][places] / np.where(cycle > 0, cycle, 1.0)
            total += throughputs[:, None] * residence
            jobs[:, r] = throughputs[-1] * residence[-1]
            throughput[r] = throughputs[-1]
        present[places] = total
    return ClosedAnswer(
        throughput_per_s=throughput, jobs=jobs, open_jobs=_open_jobs(network, jobs.sum(axis=1))
    )


def _open_jobs(network: Closed, closed_jobs: FloatArray) -> FloatArray:
    share = network.open_load
    return np.asarray(share / (1 - share) * (1 + closed_jobs))
