"""A session of the system `storage` for tests: opened, and always closed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from headroom.experiment.protocol.system import Value
from headroom.systems.storage.system import StorageSystem
from headroom.systems.storage.targets.setup_table import StorageSetup

RESERVE_BYTES = 4096
"""Space that tests keep free; the users' reserve would fail them on small machines."""


@contextmanager
def session_of(setup: StorageSetup, *, study: Path = Path()) -> Iterator[StorageSystem]:
    """Yield the system with `setup`, in a session."""
    small = msgspec.structs.replace(setup, reserve=RESERVE_BYTES)
    system = StorageSystem.load(small, base=study)
    system.open_session(print)
    try:
        yield system
    finally:
        system.close_session()


def config_of(system: StorageSystem, **given: Value) -> dict[str, Value]:
    """Return the default of every parameter that has one, overridden by `given`."""
    defaults = {
        parameter.name: parameter.default
        for parameter in system.parameters()
        if parameter.default is not None
    }
    return {**defaults, **given}
