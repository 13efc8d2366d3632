"""Simulation: a model is data, built in Python and run by the kernel in Rust.

Build a `Model` of stations, pools, programs and job classes, then `simulate` it. See
docs/background/simulation-kernel.md for how the kernel works and what it promises.
"""

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
from headroom.simulation.model import Model
from headroom.simulation.program import Branch, Fork, Pool, Program, Station
from headroom.simulation.result import ClassHistogram, ClassSeries, SimulationResult, Table
from headroom.simulation.run import simulate

__all__ = [
    "Branch",
    "ClassHistogram",
    "ClassSeries",
    "Distribution",
    "Fork",
    "Model",
    "Pool",
    "Program",
    "SimulationError",
    "SimulationResult",
    "Station",
    "Table",
    "bounded_pareto",
    "constant",
    "discrete",
    "empirical",
    "erlang",
    "exponential",
    "gamma",
    "hyperexponential",
    "lognormal",
    "normal",
    "pareto",
    "simulate",
    "triangular",
    "uniform",
    "weibull",
]
