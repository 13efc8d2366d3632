"""Answers of formulas for the points of a model or a study; of a model, else a short simulation."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from headroom.analysis.formulas import forecast_at
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol.changes import Change, parse_change
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import HasStandIn, Modelled, Parameter, System, Value
from headroom.experiment.study.plan import Plan, Point
from headroom.forecasts import Forecast, of_stand_in
from headroom.quantities import format_level
from headroom.report.terminal.solved import SolvedPoint
from headroom.sessions.short_run import short_run
from headroom.sizing.space import Axis

POINTS_AT_MOST = 100_000
"""Points of a sweep; beyond it a typing error is likelier than patience."""
_RESOURCES = ("station.", "pool.")
SIMULATED_AT_MOST = 10
"""Points of a sweep that a short simulation answers: a second or two each."""
SHORT = "completions=20_000, replications=5"
"""How long the simulation lasts that is offered where an estimate is refused."""


def solve_model(
    name: str, system: System, axes: Sequence[Axis], *, asked: str
) -> Iterator[SolvedPoint]:
    """Yield the answers of formulas for a model, for each combination of the levels of `axes`.

    `asked` is the model as an argument of a Python function.

    Raises
    ------
    StudyError
        A name is unknown, or a parameter has no value.
    """
    declared = system.parameters()
    _check_names(axes, declared)
    defaults = {one.name: one.default for one in declared if one.default is not None}
    varied = {axis.name for axis in axes}
    for parameter in declared:
        if parameter.name not in defaults and parameter.name not in varied:
            raise StudyError(
                f"the parameter {parameter.name!r} of model {name!r} has no value",
                cure=f"add --set {parameter.name}=VALUE",
            )
    simulated = 0
    for point in _solved(name, system, defaults, {}, axes):
        found = msgspec.structs.replace(point, simulate=_short(asked, point))
        if simulated < SIMULATED_AT_MOST and (more := _simulated(system, defaults, found)):
            simulated, found = simulated + 1, more
        yield found


def _simulated(
    system: System, defaults: Mapping[str, Value], point: SolvedPoint
) -> SolvedPoint | None:
    """Return a point with a short simulation where formulas give no mean response; else None."""
    forecast = point.forecast
    is_told = "response_s_mean" in forecast.values or forecast.overload
    is_counted = forecast.highest and not forecast.limits  # by hand: events without number
    if is_told or is_counted or not isinstance(system, Modelled):
        return None
    chosen = {name: point.levels.get(name, value) for name, value in defaults.items()}
    changes = [
        parse_change(f"{name}={format_level(level)}")
        for name, level in point.levels.items()
        if name.startswith(_RESOURCES)
    ]
    try:
        model = system.model(chosen, changes)
        if system.natural_end(model):
            return None
        found, completions = short_run(model)
    except HeadroomError:  # what has no steady state, or deadlocks: the formulas said what they can
        return None
    return msgspec.structs.replace(point, simulated=found, simulated_completions=completions)


def solve_plan(plan: Plan, axes: Sequence[Axis]) -> Iterator[SolvedPoint]:
    """Yield the answers of formulas for each simulated point of a study, and for `axes`.

    Raises
    ------
    StudyError
        A name is unknown, or nothing is simulated.
    """
    solvable = [one for one in plan.experiments if isinstance(one.system, Modelled)]
    if not solvable:
        raise StudyError(
            f"study {plan.study.name!r} is measured, but formulas apply to simulated systems only",
            cure="name a study whose system is `model`",
        )
    for experiment in solvable:
        _check_names(axes, experiment.system.parameters())
        for config, levels in _set_apart(experiment.points, axes):
            yield from _solved(experiment.spec.name, experiment.system, config, levels, axes)


def _short(asked: str, point: SolvedPoint) -> str:
    """Return a bounded simulation of a point without an estimate; empty if no call says it."""
    if not point.forecast.refused or any(name.startswith(_RESOURCES) for name in point.levels):
        return ""
    levels = [f"{name}={level!r}" for name, level in point.levels.items()]
    return f"hr.simulate({', '.join([asked, *levels, SHORT])})"


def _set_apart(
    points: Sequence[Point], axes: Sequence[Axis]
) -> Iterator[tuple[Mapping[str, Value], dict[str, Value]]]:
    """Yield the points that still differ once the parameters of `axes` are set."""
    told = {axis.name for axis in axes}
    seen = set()
    for point in points:
        levels = {name: level for name, level in point.levels.items() if name not in told}
        if tuple(levels.items()) not in seen:
            seen.add(tuple(levels.items()))
            yield point.config, levels


def _check_names(axes: Sequence[Axis], declared: Sequence[Parameter]) -> None:
    known = [parameter.name for parameter in declared]
    for axis in axes:
        if axis.name not in known and not axis.name.startswith(_RESOURCES):
            raise StudyError(
                f"--set {axis.name} names no parameter of the model",
                cure=suggestion(axis.name, known),
            )


def _solved(
    name: str,
    system: System,
    config: Mapping[str, Value],
    levels: Mapping[str, Value],
    axes: Sequence[Axis],
) -> Iterator[SolvedPoint]:
    """Yield the answer for each combination of the levels of `axes`."""
    count = 1
    for axis in axes:
        count *= len(axis.levels)
    if count > POINTS_AT_MOST:
        raise StudyError(
            f"--set asks for {count:,} points, more than {POINTS_AT_MOST:,}",
            cure="vary fewer parameters, or over fewer levels",
        )
    known = {parameter.name: parameter for parameter in system.parameters()}
    for combination in itertools.product(*(axis.levels for axis in axes)):
        chosen = {axis.name: level for axis, level in zip(axes, combination, strict=True)}
        values = {n: known[n].check(level) for n, level in chosen.items() if n in known}
        changes = [
            parse_change(f"{n}={format_level(level)}")
            for n, level in chosen.items()
            if n not in known
        ]
        varied = {axis.name: chosen[axis.name] for axis in axes}
        found = _answer(system, {**config, **values}, changes)
        yield SolvedPoint(name=name, levels={**levels, **varied}, forecast=found)


def _answer(system: System, config: Mapping[str, Value], changes: Sequence[Change]) -> Forecast:
    try:
        forecast = forecast_at(system, config, changes)
        if forecast is None:
            raise TypeError(f"system {system.name!r} has no formulas")
        if forecast.values or forecast.overload or changes or not isinstance(system, HasStandIn):
            return forecast
        simpler = system.stand_in(config)
        instead = Forecast() if simpler is None else of_stand_in(*simpler)
        return replace(instead, highest=forecast.highest) if instead.values else forecast
    except StudyError:
        raise  # a station that the model has not, a value that it refuses: a mistake, no answer
    except HeadroomError as error:
        return Forecast(reasons=(error.message,))
