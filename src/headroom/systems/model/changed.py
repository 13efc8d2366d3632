"""A copy of a model with other numbers of servers and tokens, or with faster stations.

Invariant: names of stations, pools, classes and random streams stay, so that a model and its
changed copy share their draws (common random numbers); the given model is never touched.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from headroom.errors import StudyError
from headroom.experiment.changes import Change
from headroom.experiment.suggestions import suggestion
from headroom.simulation import Model, Pool, Station

Resource = TypeVar("Resource", Station, Pool)


def changed_model(model: Model, changes: Sequence[Change]) -> Model:
    """Return a copy of `model` with `changes`, applied one after another.

    Raises
    ------
    StudyError
        A name is unknown or a number is not whole.

    Examples
    --------
    >>> from headroom.experiment.changes import parse_change
    >>> from headroom.systems.model import library
    >>> changed = changed_model(library.mm1(), [parse_change("station.server.servers=x2")])
    >>> changed.stations["server"].servers
    2
    """
    for change in changes:
        model = _with(model, change)
    return model


def _with(model: Model, change: Change) -> Model:
    if change.aspect == "tokens":
        for pool in _members(change, model.pool_rows()):
            model = model.with_tokens(pool.name, change.capacity_from(pool.tokens))
        return model
    for station in _members(change, model.station_rows()):
        if change.aspect == "servers":
            model = model.with_servers(station.name, change.capacity_from(station.servers))
        else:
            model = model.with_speed(station.name, change.value)
    return model


def _members(change: Change, rows: Mapping[str, tuple[Resource, ...]]) -> tuple[Resource, ...]:
    """Return the stations or pools that a change is about: one, or those of a group."""
    found = rows.get(change.name)
    if found is None:
        raise StudyError(
            f"{change.text}: the model has no {change.kind} {change.name!r}",
            cure=suggestion(change.name, rows),
        )
    if len(found) > 1 and not change.is_factor:
        raise StudyError(
            f"{change.text}: {change.name!r} is a group of {len(found)} {change.kind}s",
            cure=f"give a factor for each of them, as in {change.kind}.{change.name}."
            f"{change.aspect}=x2",
        )
    return found
