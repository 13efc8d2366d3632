"""Solvers: results of formulas for a model, to compare with simulation.

`solve` answers a `headroom.simulation.Model` exactly where theory can (product-form networks and
a few queues of their own) and approximately elsewhere, and says which, with the reasons. See
docs/background/solvers.md for the methods and their sources.
"""

from headroom.solvers.bounds import Bounds
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
