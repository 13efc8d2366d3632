"""Simulation: a model is data, built in Python and run by the kernel in Rust.

Build a `Model` of stations, pools, programs and job classes, then `simulate` it. See
docs/background/simulation-kernel.md for how the kernel works and what it promises.
"""

from headroom.simulation.blocks import Attempt, Branch, Fork
from headroom.simulation.distribution import (
    Distribution,
    bounded_pareto,
    constant,
    discrete,
    empirical,
    erlang,
    exponential,
    gamma,
    hyperexponential,
    lognormal,
    normal,
    pareto,
    triangular,
    uniform,
    weibull,
)
from headroom.simulation.errors import SimulationError
from headroom.simulation.expression import Attribute, Expression, draw, floor, maximum, minimum
from headroom.simulation.model import Model
from headroom.simulation.network import Network
from headroom.simulation.program import Program
from headroom.simulation.result import ClassHistogram, ClassSeries, SimulationResult, Table
from headroom.simulation.run import simulate
from headroom.simulation.stations import Pool, Station
from headroom.simulation.visits import Visits

__all__ = [
    "Attempt",
    "Attribute",
    "Branch",
    "ClassHistogram",
    "ClassSeries",
    "Distribution",
    "Expression",
    "Fork",
    "Model",
    "Network",
    "Pool",
    "Program",
    "SimulationError",
    "SimulationResult",
    "Station",
    "Table",
    "Visits",
    "bounded_pareto",
    "constant",
    "discrete",
    "draw",
    "empirical",
    "erlang",
    "exponential",
    "floor",
    "gamma",
    "hyperexponential",
    "lognormal",
    "maximum",
    "minimum",
    "normal",
    "pareto",
    "simulate",
    "triangular",
    "uniform",
    "weibull",
]
