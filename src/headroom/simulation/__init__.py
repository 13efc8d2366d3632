"""Simulation: a model is data, built in Python and run by the kernel in Rust.

Build a `Model` of stations, pools, programs and job classes, then `simulate` it. See
docs/background/simulation-kernel.md for how the kernel works and what it promises.
"""

from headroom.simulation.checks.capacity import offered_loads
from headroom.simulation.checks.check import canonical_json, model_data
from headroom.simulation.checks.holding import holds, nested
from headroom.simulation.checks.remarks import ModelWarning
from headroom.simulation.checks.visits import Visits, expected_visits
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.blocks import Attempt, Branch, Fork
from headroom.simulation.language.computed_arrivals import ComputedArrivals, computed_arrivals
from headroom.simulation.language.expression import (
    Attribute,
    Expression,
    draw,
    floor,
    maximum,
    minimum,
)
from headroom.simulation.language.mechanisms import Mechanism
from headroom.simulation.language.mix_draws import ComputedDraw, computed_draw
from headroom.simulation.language.model import Model
from headroom.simulation.language.network import Network
from headroom.simulation.language.program import Program
from headroom.simulation.language.schedules import Schedule, schedule
from headroom.simulation.language.stations import Pool, Station
from headroom.simulation.laws.arrivals import (
    ArrivalProcess,
    bursty,
    changing_rate,
    mmpp,
    on_off,
    trace,
)
from headroom.simulation.laws.compound_laws import coxian, from_moments, hypoexponential, mixture
from headroom.simulation.laws.discrete_laws import (
    discrete,
    empirical,
    geometric,
    nurand,
    replay,
    zipf,
)
from headroom.simulation.laws.distribution import (
    Distribution,
    bounded_pareto,
    constant,
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
from headroom.simulation.laws.fitting import Fit, from_samples
from headroom.simulation.laws.law_data import law_from_data
from headroom.simulation.runs.event_trace import EventTrace
from headroom.simulation.runs.result import (
    ClassHistogram,
    ClassSeries,
    Occupancy,
    Samples,
    SimulationResult,
    Table,
)
from headroom.simulation.runs.run import simulate

__all__ = [
    "ArrivalProcess",
    "Attempt",
    "Attribute",
    "Branch",
    "ClassHistogram",
    "ClassSeries",
    "ComputedArrivals",
    "ComputedDraw",
    "Distribution",
    "EventTrace",
    "Expression",
    "Fit",
    "Fork",
    "Mechanism",
    "Model",
    "ModelWarning",
    "Network",
    "Occupancy",
    "Pool",
    "Program",
    "Samples",
    "Schedule",
    "SimulationError",
    "SimulationResult",
    "Station",
    "Table",
    "Visits",
    "bounded_pareto",
    "bursty",
    "canonical_json",
    "changing_rate",
    "computed_arrivals",
    "computed_draw",
    "constant",
    "coxian",
    "discrete",
    "draw",
    "empirical",
    "erlang",
    "expected_visits",
    "exponential",
    "floor",
    "from_moments",
    "from_samples",
    "gamma",
    "geometric",
    "holds",
    "hyperexponential",
    "hypoexponential",
    "law_from_data",
    "lognormal",
    "maximum",
    "minimum",
    "mixture",
    "mmpp",
    "model_data",
    "nested",
    "normal",
    "nurand",
    "offered_loads",
    "on_off",
    "pareto",
    "replay",
    "schedule",
    "simulate",
    "trace",
    "triangular",
    "uniform",
    "weibull",
    "zipf",
]
