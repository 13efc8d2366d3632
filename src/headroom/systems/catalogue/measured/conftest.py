"""Fixtures of the measured catalogue."""

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.services import LOAD


@pytest.fixture(scope="session")
def programs() -> None:
    """Skip if the service was not built; `make test` builds it."""
    try:
        companion(LOAD)
    except EnvironmentUnfitError as error:
        pytest.skip(f"{error.message}: {error.cure}")
