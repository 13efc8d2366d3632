"""A copy of a model with other numbers of servers and tokens, or with faster stations.

Invariant: names of stations, pools, classes and random streams stay, so that a model and its
changed copy share their draws (common random numbers); the given model is never touched.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TypeVar

from headroom.errors import StudyError
from headroom.experiment.changes import Change
from headroom.experiment.suggestions import suggestion
from headroom.simulation import Distribution, Model
from headroom.simulation.program import Pool, Program, Station, Step

Resource = TypeVar("Resource", Station, Pool)

_TIMES = {
    "constant": ("value",),
    "uniform": ("low", "high"),
    "exponential": ("mean",),
    "erlang": ("mean",),
    "gamma": ("mean",),
    "hyperexponential": ("mean",),
    "lognormal": ("mean",),
    "weibull": ("scale",),
    "pareto": ("low",),
    "bounded_pareto": ("low", "high"),
    "normal": ("mean", "deviation"),
    "triangular": ("low", "mode", "high"),
    "empirical": ("values",),
    "discrete": ("values",),
}
"""Parameters of each law that are times; the others say its shape."""


def changed_model(model: Model, changes: Sequence[Change]) -> Model:
    """Return a copy of `model` with `changes`, applied one after another.

    Raises
    ------
    StudyError
        A name is unknown, a number is not whole, or a service time cannot be scaled.

    Examples
    --------
    >>> from headroom.experiment.changes import parse_change
    >>> from headroom.systems.model.library import mm1
    >>> changed = changed_model(mm1(), [parse_change("station.server.servers=x2")])
    >>> changed.stations["server"].servers
    2
    """
    changed = copy(model)
    for change in changes:
        _CHANGERS[change.aspect](changed, change)
    return changed


def scaled(law: Distribution, factor: float) -> Distribution | None:
    """Return the law of `factor` times what `law` draws, None where that is not known.

    Examples
    --------
    >>> from headroom.simulation import erlang
    >>> print(scaled(erlang(10, stages=4), 0.5))
    erlang(mean=5.0, stages=4)
    """
    times = _TIMES.get(law.kind)
    if times is None:
        return None
    parameters = tuple(
        (name, _times(value, factor) if name in times else value) for name, value in law.parameters
    )
    return replace(law, parameters=parameters, mean=law.mean * factor)


def _times(value: float | tuple[float, ...], factor: float) -> float | tuple[float, ...]:
    if isinstance(value, tuple):
        return tuple(one * factor for one in value)
    return value * factor


def _with_servers(model: Model, change: Change) -> None:
    station = _named(change, model.stations)
    servers = change.capacity_from(station.servers)
    model.stations = {**model.stations, change.name: replace(station, servers=servers)}


def _with_tokens(model: Model, change: Change) -> None:
    pool = _named(change, model.pools)
    tokens = change.capacity_from(pool.tokens)
    model.pools = {**model.pools, change.name: replace(pool, tokens=tokens)}


def _with_speed(model: Model, change: Change) -> None:
    _named(change, model.stations)
    model.programs = {name: _faster(program, change) for name, program in model.programs.items()}


def _faster(program: Program, change: Change) -> Program:
    faster = copy(program)
    faster.steps = [_faster_step(step, change) for step in program.steps]
    return faster


def _faster_step(step: Step, change: Change) -> Step:
    if step.op != "use" or step.data["station"] != change.name:
        return step
    law = None if step.law is None else scaled(step.law, 1.0 / change.value)
    if law is None:
        raise StudyError(
            f"{step.location}: {change.text} cannot scale this service time, which is computed",
            cure="make the speed a parameter of the model function and vary that",
        )
    return replace(step, data={**step.data, "service": law.to_data()}, law=law)


_CHANGERS: dict[str, Callable[[Model, Change], None]] = {
    "servers": _with_servers,
    "tokens": _with_tokens,
    "speed": _with_speed,
}


def _named(change: Change, known: Mapping[str, Resource]) -> Resource:
    found = known.get(change.name)
    if found is None:
        raise StudyError(
            f"{change.text}: the model has no {change.kind} {change.name!r}",
            cure=suggestion(change.name, known),
        )
    return found
