"""Reconstruct laws from the data of a model: the inverse of `Distribution.to_data`."""

from collections.abc import Callable, Mapping
from typing import Any

from headroom.simulation.errors import SimulationError
from headroom.simulation.laws import compound_laws, discrete_laws, distribution
from headroom.simulation.laws.distribution import Distribution


def law_from_data(data: Mapping[str, Any]) -> Distribution:
    """Return the law that the data of a model describe, with its mean and `c2`.

    Raises
    ------
    SimulationError
        If the data do not describe a law.

    Examples
    --------
    >>> from headroom.simulation import exponential
    >>> law = 1 + exponential(3) * 2
    >>> law_from_data(law.to_data()) == law
    True
    """
    parameters = {name: value for name, value in data.items() if name != "kind"}
    build = _BUILDERS.get(str(data.get("kind")))
    if build is None:
        raise SimulationError(
            f"unknown distribution '{data.get('kind')}'",
            cure=f"choose one of {', '.join(_BUILDERS)}",
        )
    for name in {"law", "laws"} & parameters.keys():
        inner = parameters[name]
        is_one = isinstance(inner, Mapping)
        parameters[name] = (
            law_from_data(inner) if is_one else [law_from_data(part) for part in inner]
        )
    try:
        return build(**parameters)
    except TypeError as error:
        raise SimulationError(
            f"{dict(data)} is not a valid distribution: {error}",
            cure="`headroom describe model-builder` lists the laws",
        ) from error


def _scaled(*, factor: float, law: Distribution) -> Distribution:
    return law * factor


_BUILDERS: Mapping[str, Callable[..., Distribution]] = {
    "constant": distribution.constant,
    "uniform": distribution.uniform,
    "exponential": distribution.exponential,
    "erlang": distribution.erlang,
    "gamma": distribution.gamma,
    "hyperexponential": distribution.hyperexponential,
    "lognormal": distribution.lognormal,
    "weibull": distribution.weibull,
    "pareto": distribution.pareto,
    "bounded_pareto": distribution.bounded_pareto,
    "normal": distribution.normal,
    "triangular": distribution.triangular,
    "empirical": discrete_laws.empirical,
    "discrete": discrete_laws.discrete,
    "replay": discrete_laws.replay,
    "geometric": discrete_laws.geometric,
    "zipf": discrete_laws.zipf,
    "nurand": discrete_laws.nurand,
    "coxian": compound_laws.coxian,
    "mixture": compound_laws.mixture,
    "sum": distribution.added,
    "scaled": _scaled,
}
