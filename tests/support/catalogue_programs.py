"""A fixture for tests that start the catalogue; a `conftest.py` that needs it imports it."""

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.services import LOAD


@pytest.fixture(scope="session")
def catalogue_programs() -> None:
    """Skip if the catalogue's programs were not built; `make test` builds them."""
    try:
        companion(LOAD)
    except EnvironmentUnfitError as error:
        pytest.skip(f"{error.message}: {error.cure}")
