"""Systems by name: found through entry points, never imported by the engine itself.

A plug-in registers its class in its own project file under the entry point group
``headroom.systems``; study files use the name of the entry point.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint

from headroom.experiment.protocol import plug_ins
from headroom.experiment.protocol.system import System

GROUP = "headroom.systems"
KIND = "system"


def system_names() -> tuple[str, ...]:
    """Return the names of all registered systems, sorted."""
    return tuple(sorted(registered()))


def find_system(name: str) -> type[System]:
    """Return the class of a registered system, or of one named by its `class_path`.

    Raises
    ------
    StudyError
        No system has this name.
    EnvironmentUnfitError
        It is registered, but its package cannot be imported.
    """
    if ":" in name:
        return class_at(name)
    system_class: type[System] = plug_ins.find(name, registered(), kind=KIND)
    return system_class


def class_path(system: type[System]) -> str:
    """Return where a system's class can be imported from, as ``"module:name"``."""
    return f"{system.__module__}:{system.__qualname__}"


def class_at(path: str) -> type[System]:
    """Return the class that `class_path` named; used by worker processes."""
    system_class: type[System] = plug_ins.load(
        EntryPoint(name=path, value=path, group=GROUP), kind=KIND
    )
    return system_class


def registered() -> Mapping[str, EntryPoint]:
    """Return the entry point of each registered system."""
    return plug_ins.plug_ins(GROUP)
