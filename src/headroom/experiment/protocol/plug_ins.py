"""Discover and load plug-ins by entry point; errors give a hint.

Systems, fit methods and models are found this way. A package that registers one need not be known
to this one.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.streams import prints_to_stderr
from headroom.experiment.protocol.suggestions import suggestion


@cache
def plug_ins(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name.

    Examples
    --------
    >>> "model" in plug_ins("headroom.systems")
    True
    """
    return {entry.name: entry for entry in _registered().select(group=group)}


def is_own(entry: EntryPoint) -> bool:
    """Return whether Headroom itself registers an entry."""
    return _package(entry) == "headroom"


def other_packages() -> list[str]:
    """Return the other packages that offer anything to this one, sorted."""
    groups = (group for group in _registered().groups if group.startswith("headroom."))
    entries = {entry for group in groups for entry in _registered().select(group=group)}
    return sorted({_package(entry) for entry in entries if not is_own(entry)})


def _package(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0]


@cache
def _registered() -> Any:  # noqa: ANN401 - its type differs by version of Python
    """Return the offers of all installed packages: finding them takes a while."""
    return entry_points()


def find(name: str, offered: Mapping[str, EntryPoint], *, kind: str) -> Any:  # noqa: ANN401
    """Load the plug-in offered under `name`.

    Parameters
    ----------
    name
        Name in a study or a command.
    offered
        Entry points by name, as of `plug_ins`.
    kind
        Kind of plug-in, for messages: ``"system"``.

    Raises
    ------
    StudyError
        Nothing has this name.
    EnvironmentUnfitError
        It is registered, but its package cannot be imported.
    """
    entry = offered.get(name)
    if entry is None:
        raise StudyError(f"there is no {kind} {name!r}", cure=suggestion(name, offered))
    return load(entry, kind=kind)


def load(entry: EntryPoint, *, kind: str) -> Any:  # noqa: ANN401
    """Load an entry point.

    Raises
    ------
    EnvironmentUnfitError
        It cannot be imported.
    """
    try:
        with prints_to_stderr():
            return entry.load()
    except Exception as error:  # its module may do anything
        reason = f"{type(error).__name__}: {error}"
        raise EnvironmentUnfitError(
            f"the {kind} {entry.name!r} is registered as {entry.value}, "
            f"but cannot be imported: {reason}",
            cure="install the package that provides it again, with its dependencies",
        ) from error
