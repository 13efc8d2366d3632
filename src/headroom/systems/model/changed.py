"""A copy of a model with different numbers of servers and tokens, or with faster stations.

Invariant: names of stations, pools, classes and random streams stay, so that a model and its
changed copy share their draws (common random numbers); the given model is never touched.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.suggestions import suggestion
from headroom.simulation import Expression, Model, Pool, Station
from headroom.simulation.checks.controllers import changes_of
from headroom.simulation.checks.parsed import parse_model

Resource = TypeVar("Resource", Station, Pool)


def changed_model(model: Model, changes: Sequence[Change]) -> Model:
    """Return a copy of `model` with `changes`, applied one after another.

    Raises
    ------
    StudyError
        A name is unknown, a number is not whole, or the only server of a station is a native part
        of the model, of which there is one.

    Examples
    --------
    >>> from headroom.experiment.protocol.changes import parse_change
    >>> from headroom.systems.model import library
    >>> changed = changed_model(library.mm1(), [parse_change("station.server.servers=x2")])
    >>> changed.stations["server"].servers
    2
    """
    for change in changes:
        _refuse_controlled(model, change)
        model = _with(model, change)
    return model


def _refuse_controlled(model: Model, change: Change) -> None:
    """Refuse another number if a program sets it anyway, or multiplies the speed."""
    if not any(
        step.op == "change" for program in model.programs.values() for step in program.steps
    ):
        return
    for controlled in changes_of(parse_model(model)):
        part = (model.pools if controlled.kind == "tokens" else model.stations)[controlled.name]
        if not controlled.is_scheduled and (controlled.kind, part.row) == (
            change.aspect,
            change.name,
        ):
            raise StudyError(
                f"{change.text}: a program of the model sets the {controlled.kind} of "
                f"{controlled.name!r}, so its first value has no effect",
                cure="change a parameter of the model that the program depends on",
            )


def _with(model: Model, change: Change) -> Model:
    if change.aspect == "tokens":
        for pool in _members(change, model.pool_rows()):
            model = model.with_tokens(pool.name, change.capacity_from(pool.tokens))
        return model
    for station in _members(change, model.station_rows()):
        if change.aspect == "servers":
            _check_more_servers(model, station, change)
            model = model.with_servers(station.name, change.capacity_from(station.servers))
        elif change.aspect == "repair":
            if station.name not in model.breakdowns_of:
                raise StudyError(
                    f"{change.text}: station {station.name!r} never breaks",
                    cure="let it break with model.breakdowns(), or change another station",
                )
            model = model.with_repair(station.name, change.value)
        else:
            model = model.with_speed(station.name, change.value)
    return model


def _check_more_servers(model: Model, station: Station, change: Change) -> None:
    """Refuse more servers of a station whose times a mechanism gives: the head of a disk, a die.

    They would share the state of the existing one, like two servers of one device, which do not
    exist. A model that has several from the start declares it.
    """
    names = dict.fromkeys(_timed_by(model, station)) if station.servers == 1 else {}
    if not names or change.capacity_from(station.servers) == 1:
        return
    raise StudyError(
        f"{change.text}: the times of station {station.name!r} come from mechanism "
        f"{next(iter(names))!r}, which is one server with its own state",
        cure=f"make it faster, as in station.{change.name}.speed=x2, or change a parameter of the "
        "model that says how many there are",
    )


def _timed_by(model: Model, station: Station) -> Iterator[str]:
    """Yield the mechanisms whose functions give the service times at a station."""
    for program in model.programs.values():
        for step in program.steps:
            service = step.amounts.get("service")
            if step.data.get("station") != station.name or not isinstance(service, Expression):
                continue
            for call in service.calls():
                functions = model.mechanisms[call.mechanism].functions
                if any(
                    function.is_time for function in functions if function.name == call.function
                ):
                    yield call.mechanism


def _members(change: Change, rows: Mapping[str, tuple[Resource, ...]]) -> tuple[Resource, ...]:
    """Return the stations or pools that a change is about: one, or those of a group."""
    members = rows.get(change.name)
    if members is None:
        raise StudyError(
            f"{change.text}: the model has no {change.kind} {change.name!r}",
            cure=suggestion(change.name, rows),
        )
    if len(members) > 1 and not change.is_factor:
        raise StudyError(
            f"{change.text}: {change.name!r} is a group of {len(members)} {change.kind}s",
            cure=f"give a factor for each of them, as in {change.kind}.{change.name}."
            f"{change.aspect}=x2",
        )
    return members
