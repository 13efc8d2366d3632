"""Headroom: a performance laboratory for data systems.

`import headroom as hr` is the Python front: `hr.simulate(model)`, `hr.run(study)`,
`hr.load(path)`, `hr.solve(model)`. Names are loaded when they are first used, so that the command
starts at once. See docs/guides/use-from-python.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from headroom.api.study import Experiment as Experiment
    from headroom.api.study import Study as Study
    from headroom.errors import HeadroomError as HeadroomError
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
    from headroom.systems.model.parameters import parameter as parameter

    __version__: str

_HOMES = {
    "headroom.api": ("Model",),
    "headroom.api.answers": ("Fitted", "Sized", "Solved", "WhatIfs"),
    "headroom.api.asking": ("fit", "size", "solve", "what_if"),
    "headroom.api.estimates": ("Estimate", "Point"),
    "headroom.api.loading": ("load",),
    "headroom.api.results": ("Result", "Sweep"),
    "headroom.api.running": ("compare", "run", "simulate"),
    "headroom.api.study": ("Experiment", "Study"),
    "headroom.errors": ("HeadroomError",),
    "headroom.experiment.study.study": (
        *("AgreementClaim", "CrossoverClaim", "ErrorsClaim", "FlatClaim", "KneeClaim"),
        *("MonotoneClaim", "OrderingClaim", "RatioClaim", "ValueClaim"),
    ),
    "headroom.simulation": (
        *("constant", "draw", "empirical", "erlang", "exponential", "from_moments"),
        *("from_samples", "hyperexponential", "lognormal", "schedule", "uniform"),
    ),
    "headroom.systems.model.parameters": ("parameter",),
}
"""Module -> the names that it gives to this package."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - made of the table above


if not TYPE_CHECKING:  # A type checker knows the names above, and no others.

    def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562
        """Return a name of the Python front, loaded now."""
        if name == "__version__":
            return import_module("headroom.version").version()
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
