# The types of `import headroom as hr`; `__init__.py` loads each name at its first use.
from headroom.api import Model as Model
from headroom.api.answers import Fitted as Fitted
from headroom.api.answers import Sized as Sized
from headroom.api.answers import Solved as Solved
from headroom.api.answers import WhatIfs as WhatIfs
from headroom.api.asking import fit as fit
from headroom.api.asking import size as size
from headroom.api.asking import solve as solve
from headroom.api.asking import what_if as what_if
from headroom.api.estimates import Estimate as Estimate
from headroom.api.estimates import Point as Point
from headroom.api.loading import load as load
from headroom.api.results import Result as Result
from headroom.api.results import Sweep as Sweep
from headroom.api.running import compare as compare
from headroom.api.running import run as run
from headroom.api.running import simulate as simulate
from headroom.api.saved import Compared as Compared
from headroom.api.study import Experiment as Experiment
from headroom.api.study import Study as Study
from headroom.errors import HeadroomError as HeadroomError
from headroom.experiment.protocol.model_parameters import parameter as parameter
from headroom.experiment.study.asks import BestAsk as BestAsk
from headroom.experiment.study.asks import CapacityAsk as CapacityAsk
from headroom.experiment.study.asks import DeadlineAsk as DeadlineAsk
from headroom.experiment.study.asks import EffectAsk as EffectAsk
from headroom.experiment.study.asks import EnoughAsk as EnoughAsk
from headroom.experiment.study.asks import LimitAsk as LimitAsk
from headroom.experiment.study.asks import ReproduceAsk as ReproduceAsk
from headroom.experiment.study.asks import SafeAsk as SafeAsk
from headroom.experiment.study.asks import ScaleAsk as ScaleAsk
from headroom.experiment.study.asks import ValueAsk as ValueAsk
from headroom.experiment.study.asks import WindowAsk as WindowAsk
from headroom.experiment.study.study import AgreementClaim as AgreementClaim
from headroom.experiment.study.study import CrossoverClaim as CrossoverClaim
from headroom.experiment.study.study import ErrorsClaim as ErrorsClaim
from headroom.experiment.study.study import FlatClaim as FlatClaim
from headroom.experiment.study.study import KneeClaim as KneeClaim
from headroom.experiment.study.study import MonotoneClaim as MonotoneClaim
from headroom.experiment.study.study import OrderingClaim as OrderingClaim
from headroom.experiment.study.study import RatioClaim as RatioClaim
from headroom.experiment.study.study import ValueClaim as ValueClaim
from headroom.simulation import constant as constant
from headroom.simulation import draw as draw
from headroom.simulation import empirical as empirical
from headroom.simulation import erlang as erlang
from headroom.simulation import exponential as exponential
from headroom.simulation import from_moments as from_moments
from headroom.simulation import from_samples as from_samples
from headroom.simulation import hyperexponential as hyperexponential
from headroom.simulation import lognormal as lognormal
from headroom.simulation import schedule as schedule
from headroom.simulation import uniform as uniform

__version__: str
__all__: list[str]

def __dir__() -> list[str]: ...
