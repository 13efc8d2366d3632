"""Solvers: analytic results for a model, to compare with simulation.

`solve` solves a `headroom.simulation.Model` exactly if theory allows (product-form networks and a
few single queues) and approximately otherwise. The result says which, with the reasons. See
docs/background/solvers.md for the methods and their sources.
"""

from headroom.solvers.bounds.bounds import Bounds
from headroom.solvers.errors import NoSteadyStateError, SolverError
from headroom.solvers.network import Network, network_of
from headroom.solvers.solution import ClassSolution, Solution, StationSolution
from headroom.solvers.solve import bounds, solve

__all__ = [
    "Bounds",
    "ClassSolution",
    "Network",
    "NoSteadyStateError",
    "Solution",
    "SolverError",
    "StationSolution",
    "bounds",
    "network_of",
    "solve",
]
