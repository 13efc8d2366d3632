"""The checks of a model before it runs.

The builder rejects single wrong steps as they are written. This module checks whole programs, each
topic in its own module: resources held (`balance`), unreachable steps (`reachability`), reserved
places (`reservations`), circular waits (`deadlocks`, `blocking`), offered load (`capacity`).
Messages name the line on which the step was written.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from headroom.simulation.checks.balance import check_balance, check_replies
from headroom.simulation.checks.blocking import check_blocking_cycles
from headroom.simulation.checks.capacity import refuse_overload
from headroom.simulation.checks.controllers import check_controllers
from headroom.simulation.checks.deadlocks import check_token_cycles
from headroom.simulation.checks.parsed import parse_model
from headroom.simulation.checks.reachability import check_reachability
from headroom.simulation.checks.reservations import check_reservations
from headroom.simulation.checks.timeless import refuse_timeless
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.amounts import known_of
from headroom.simulation.language.model import LATEST, Model
from headroom.simulation.language.stations import Pool, Station
from headroom.simulation.language.with_block import refuse_forgotten
from headroom.simulation.laws.distribution import Distribution

__all__ = [
    "LARGEST_SHIFT",
    "SHORTEST_MEAN",
    "TICK",
    "canonical_json",
    "check_model",
    "model_data",
    "refuse_overload",
]

SHORTEST_MEAN = 1e-6
"""Shortest mean (time units) of a random time: a thousand ticks, so that rounding to whole ticks
shifts no mean by more than 0.05%."""

TICK = 1e-9
"""Step of the clock (time units)."""
LARGEST_SHIFT = 5e-4
"""Largest share by which rounding to whole ticks may shift a time."""

_TIMES = frozenset({"service", "time", "timeout", "pause", "patience"})


def canonical_json(model: Model) -> bytes:
    """Return a model as canonical JSON: the same bytes for the same model.

    Raises
    ------
    SimulationError
        The model contradicts itself; the message names the line of the step.

    Examples
    --------
    >>> from headroom.simulation import Model, exponential
    >>> model = Model("queue")
    >>> program = model.program("visit")
    >>> program.use(model.station("server"), exponential(1))
    >>> model.open_class("jobs", program, interarrival=exponential(2))
    >>> canonical_json(model) == canonical_json(model.copy())
    True
    """
    check_model(model)
    data = model.to_data()
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def model_data(model: Model) -> dict[str, Any]:
    """Return a model as data, after checking it: what `canonical_json` writes."""
    data: dict[str, Any] = json.loads(canonical_json(model))
    return data


def check_model(model: Model) -> None:
    """Raise `SimulationError` if `model` cannot be run."""
    if not model.classes:
        raise SimulationError(
            f"model {model.name!r} has no class, so no job ever enters it",
            cure="add one with model.closed_class() or model.open_class()",
        )
    _refuse_ambiguous_groups("station", model.stations.values())
    _refuse_ambiguous_groups("pool", model.pools.values())
    _refuse_unlike(model)
    for program in model.programs.values():
        refuse_forgotten(program)
        if not program.steps:
            raise SimulationError(
                f"{program.location}: program {program.name!r} has no steps",
                cure="write its steps, or remove it",
            )
    parsed = parse_model(model)
    check_controllers(parsed)
    check_balance(parsed)
    check_replies(parsed)
    check_reachability(parsed)
    refuse_timeless(parsed)
    check_reservations(parsed)
    check_token_cycles(parsed)
    check_blocking_cycles(parsed)
    _refuse_unknown_attributes(model)
    _refuse_coarse_times(model)


def _refuse_ambiguous_groups(kind: str, parts: Iterable[Station | Pool]) -> None:
    """Raise `SimulationError` if a group has the name of a separate station or pool."""
    alone = {part.name: part for part in parts if not part.group}
    for owner in parts:
        if owner.group in alone:
            raise SimulationError(
                f"{owner.location}: {kind} {owner.name!r} is in the group {owner.group!r}, "
                f"but that is the name of a {kind} by itself",
                cure="give one of the two another name",
            )


def _refuse_unlike(model: Model) -> None:
    """Raise `SimulationError` if a group mixes stations with and without servers to count."""
    for row, members in model.station_rows().items():
        unlimited = [member for member in members if member.discipline == "infinite"]
        limited = [member for member in members if member.discipline != "infinite"]
        if unlimited and limited:
            raise SimulationError(
                f"{limited[0].location}: the group {row!r} has station {limited[0].name!r} with "
                f"{limited[0].servers} servers and {unlimited[0].name!r} with one for each job, so "
                "that it has no utilization",
                cure="put stations in one group only where they are alike",
            )


def _refuse_unknown_attributes(model: Model) -> None:
    """Raise `SimulationError` if a trace sets an attribute that jobs do not have."""
    for class_ in model.classes.values():
        for name in getattr(class_.process, "attribute_names", ()):
            if name not in model.attributes:
                raise SimulationError(
                    f"{class_.location}: the arrivals of class {class_.name!r} set the attribute "
                    f"{name!r}, which the model does not have",
                    cure=f"add model.attribute({name!r}), or leave the column out",
                )


def _refuse_coarse_times(model: Model) -> None:
    """Raise `SimulationError` if the clock is too coarse for a time of `model`."""
    for location, what, value in _fixed_times(model):
        if value < LATEST and abs(round(value / TICK) * TICK - value) > LARGEST_SHIFT * value:
            raise SimulationError(
                f"{location}: {what} lies between the steps of the clock, which are "
                f"{TICK:g} {model.time_unit} apart",
                cure="choose a smaller time_unit, or a whole number of steps",
            )
    for location, what, mean in _random_times(model):
        if 0 < mean < SHORTEST_MEAN:
            raise SimulationError(
                f"{location}: {what} has a mean of {mean:.3g} {model.time_unit}, and the clock "
                f"counts in steps of 1e-9 {model.time_unit}: its draws would be distorted",
                cure=f"choose a smaller time_unit, so that the mean is {SHORTEST_MEAN:g} or more",
            )


def _fixed_times(model: Model) -> Iterator[tuple[str, object, float]]:
    """Yield line, meaning and value of each time that is a plain number."""
    for program in model.programs.values():
        for step in program.steps:
            for key, amount in step.amounts.items():
                if key not in _TIMES or not isinstance(amount, Distribution):
                    continue
                if amount.kind == "constant":
                    yield step.location, amount, amount.mean
    for location, law in _laws_outside_programs(model):
        if law.kind == "constant":
            yield location, law, law.mean


def _random_times(model: Model) -> Iterator[tuple[str, object, float]]:
    """Yield line, meaning and mean of each random time whose mean is known."""
    for program in model.programs.values():
        for step in program.steps:
            for key, amount in step.amounts.items():
                known = known_of(amount, {}) if key in _TIMES else None
                if known is not None and not known.is_constant:
                    yield step.location, amount, known.mean
    for location, law in _laws_outside_programs(model):
        if law.c2 > 0:
            yield location, law, law.mean


def _laws_outside_programs(model: Model) -> Iterator[tuple[str, Distribution]]:
    for class_ in model.classes.values():
        if class_.law is not None:
            yield class_.location, class_.law
    for breakdown in model.breakdowns_of.values():
        yield breakdown.location, breakdown.time_to_failure
        yield breakdown.location, breakdown.repair
