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
from headroom.simulation.program import Program
from headroom.simulation.stations import Pool, Station
from headroom.simulation.step import Step

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
        A name is unknown, or a number is not whole.

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
    model.stations = {**model.stations, change.name: station.with_servers(servers)}


def _with_tokens(model: Model, change: Change) -> None:
    pool = _named(change, model.pools)
    tokens = change.capacity_from(pool.tokens)
    model.pools = {**model.pools, change.name: replace(pool, tokens=tokens)}


def _with_speed(model: Model, change: Change) -> None:
    """Divide the service times; where they are computed, make the servers faster instead."""
    station = _named(change, model.stations)
    programs = {name: _faster(program, change) for name, program in model.programs.items()}
    faster = {name: program for name, program in programs.items() if program is not None}
    if len(faster) == len(programs):
        model.programs = faster
    else:
        model.stations = {**model.stations, change.name: station.with_speed(change.value)}


def _faster(program: Program, change: Change) -> Program | None:
    """Return a program with shorter service times, None where one of them is computed."""
    faster = program.copy()
    steps = [_faster_step(step, change) for step in program.steps]
    faster.steps = [step for step in steps if step is not None]
    return faster if len(faster.steps) == len(steps) else None


def _faster_step(step: Step, change: Change) -> Step | None:
    if step.op != "use" or step.data["station"] != change.name:
        return step
    service = step.amounts["service"]
    law = scaled(service, 1.0 / change.value) if isinstance(service, Distribution) else None
    if law is None:
        return None
    data = {**step.data, "service": law.to_data()}
    return replace(step, data=data, amounts={"service": law})


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
