"""Systems by name: found through entry points, never imported by the engine itself.

A plug-in registers its class in its own project file under the entry point group
``headroom.systems``; the name of the entry point is what study files say.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.suggestions import suggestion
from headroom.experiment.system import System

GROUP = "headroom.systems"


def system_names() -> tuple[str, ...]:
    """Return the names of all registered systems, sorted."""
    return tuple(sorted(registered()))


def find_system(name: str) -> type[System]:
    """Return the class of a registered system.

    Raises
    ------
    StudyError
        No system has this name.
    EnvironmentUnfitError
        It is registered, but its package cannot be imported.
    """
    entry = registered().get(name)
    if entry is None:
        raise StudyError(f"there is no system {name!r}", cure=suggestion(name, registered()))
    return _loaded(entry)


def class_path(system: type[System]) -> str:
    """Return where a system's class can be imported from, as ``"module:name"``."""
    return f"{system.__module__}:{system.__qualname__}"


def class_at(path: str) -> type[System]:
    """Return the class that `class_path` named; used by worker processes."""
    return _loaded(EntryPoint(name=path, value=path, group=GROUP))


def _loaded(entry: EntryPoint) -> type[System]:
    try:
        loaded: type[System] = entry.load()
    except (ImportError, AttributeError) as error:
        raise EnvironmentUnfitError(
            f"the system {entry.name!r} is registered as {entry.value}, "
            f"but cannot be imported: {error}",
            cure="install the package that provides it again, with its dependencies",
        ) from error
    return loaded


@cache
def registered() -> Mapping[str, EntryPoint]:
    """Return the entry point of each registered system."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}
