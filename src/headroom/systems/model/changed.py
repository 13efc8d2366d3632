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
        pool = _named(change, model.pools)
        return model.with_tokens(change.name, change.capacity_from(pool.tokens))
    station = _named(change, model.stations)
    if change.aspect == "servers":
        return model.with_servers(change.name, change.capacity_from(station.servers))
    return model.with_speed(change.name, change.value)


def _named(change: Change, known: Mapping[str, Resource]) -> Resource:
    found = known.get(change.name)
    if found is None:
        raise StudyError(
            f"{change.text}: the model has no {change.kind} {change.name!r}",
            cure=suggestion(change.name, known),
        )
    return found
