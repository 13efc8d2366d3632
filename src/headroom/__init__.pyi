# The types of `import headroom as hr`; `__init__.py` loads each name at its first use.
# isort: skip_file
# fmt: off
from headroom.api import Model as Model
from headroom.api.answers import (
    Fitted as Fitted, Sized as Sized, Solved as Solved, WhatIfs as WhatIfs,
)
from headroom.api.asking import fit as fit, size as size, solve as solve, what_if as what_if
from headroom.api.estimates import Estimate as Estimate, Point as Point
from headroom.api.loading import load as load
from headroom.api.results import Result as Result, Sweep as Sweep
from headroom.api.running import compare as compare, run as run, simulate as simulate
from headroom.api.saved import Compared as Compared
from headroom.api.study import Experiment as Experiment, Study as Study
from headroom.errors import HeadroomError as HeadroomError
from headroom.experiment.protocol.model_parameters import parameter as parameter
from headroom.experiment.study.asks import (
    BestAsk as BestAsk, CapacityAsk as CapacityAsk, DeadlineAsk as DeadlineAsk,
    EffectAsk as EffectAsk, EnoughAsk as EnoughAsk, LimitAsk as LimitAsk,
    ReproduceAsk as ReproduceAsk, SafeAsk as SafeAsk, ScaleAsk as ScaleAsk, ValueAsk as ValueAsk,
    WindowAsk as WindowAsk,
)
from headroom.experiment.study.study import (
    AgreementClaim as AgreementClaim, CrossoverClaim as CrossoverClaim, ErrorsClaim as ErrorsClaim,
    FlatClaim as FlatClaim, KneeClaim as KneeClaim, MonotoneClaim as MonotoneClaim,
    OrderingClaim as OrderingClaim, RatioClaim as RatioClaim, ValueClaim as ValueClaim,
)
from headroom.simulation import (
    bounded_pareto as bounded_pareto, bursty as bursty, changing_rate as changing_rate,
    computed_arrivals as computed_arrivals, computed_draw as computed_draw, constant as constant,
    coxian as coxian, discrete as discrete, draw as draw, empirical as empirical, erlang as erlang,
    exponential as exponential, floor as floor, from_moments as from_moments,
    from_samples as from_samples, gamma as gamma, geometric as geometric,
    hyperexponential as hyperexponential, hypoexponential as hypoexponential,
    lognormal as lognormal, maximum as maximum, minimum as minimum, mixture as mixture,
    mmpp as mmpp, normal as normal, nurand as nurand, on_off as on_off, pareto as pareto,
    replay as replay, schedule as schedule, trace as trace, triangular as triangular,
    uniform as uniform, weibull as weibull, zipf as zipf,
)

__version__: str
__all__: list[str]

def __dir__() -> list[str]: ...
