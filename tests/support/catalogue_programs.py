"""What tests share that start the catalogue; a `conftest.py` that needs the fixture imports it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol.system import Value
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.services import LOAD
from headroom.systems.catalogue.system import CatalogueSetup, CatalogueSystem


@pytest.fixture(scope="session")
def catalogue_programs() -> None:
    """Skip if the catalogue's programs were not built; `make test` builds them."""
    try:
        companion(LOAD)
    except EnvironmentUnfitError as error:
        pytest.skip(f"{error.message}: {error.cure}")


@contextmanager
def opened(setup: CatalogueSetup) -> Iterator[CatalogueSystem]:
    """Open a session of the system."""
    system = CatalogueSystem.load(setup, base=Path())
    system.open_session(print)
    yield system
    system.close_session()


def point(system: CatalogueSystem, **levels: Value) -> dict[str, Value]:
    """Return a point: the defaults, and `levels`."""
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    return {**defaults, **levels}
