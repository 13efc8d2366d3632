"""Headroom: a performance laboratory for data systems.

`import headroom as hr` is the Python front: `hr.simulate(model)`, `hr.run(study)`,
`hr.load(path)`, `hr.solve(model)`. Names are loaded when they are first used, so that the command
starts at once. See docs/guides/use-from-python.md.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "headroom.api": ("Model",),
    "headroom.api.answers": ("Fitted", "Sized", "Solved", "WhatIfs"),
    "headroom.api.asking": ("fit", "size", "solve", "what_if"),
    "headroom.api.estimates": ("Estimate", "Point"),
    "headroom.api.loading": ("load",),
    "headroom.api.results": ("Result", "Sweep"),
    "headroom.api.running": ("compare", "run", "simulate"),
    "headroom.api.saved": ("Compared",),
    "headroom.api.study": ("Experiment", "Study"),
    "headroom.errors": ("HeadroomError",),
    "headroom.experiment.study.asks": (
        *("BestAsk", "CapacityAsk", "DeadlineAsk", "EffectAsk", "EnoughAsk", "LimitAsk"),
        *("ReproduceAsk", "SafeAsk", "ScaleAsk", "ValueAsk", "WindowAsk"),
    ),
    "headroom.experiment.study.study": (
        *("AgreementClaim", "CrossoverClaim", "ErrorsClaim", "FlatClaim", "KneeClaim"),
        *("MonotoneClaim", "OrderingClaim", "RatioClaim", "ValueClaim"),
    ),
    "headroom.simulation": (
        *("bounded_pareto", "bursty", "changing_rate", "computed_arrivals", "computed_draw"),
        *("constant", "coxian", "discrete", "draw", "empirical", "erlang", "exponential"),
        *("floor", "from_moments", "from_samples", "gamma", "geometric", "hyperexponential"),
        *("hypoexponential", "lognormal", "maximum", "minimum", "mixture", "mmpp", "normal"),
        *("nurand", "on_off", "pareto", "replay", "schedule", "trace", "triangular", "uniform"),
        *("weibull", "zipf"),
    ),
    "headroom.experiment.protocol.model_parameters": ("parameter",),
}
"""Module -> the names that it gives to this package; their types are in `__init__.pyi`."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - made of the table above


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
    return sorted([*__all__, "__version__"])
