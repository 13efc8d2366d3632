"""The quick form of `amga_cases`, with servers and load of this build."""

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.systems.catalogue.command import companion
from headroom.systems.catalogue.measured.services import LOAD
from studies.quick_form import ClaimRows, QuickForm


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    """Skip if the service was not built; `make test` builds it."""
    try:
        companion(LOAD)
    except EnvironmentUnfitError as error:
        pytest.skip(f"{error.message}: {error.cure}")


class TestClaims(ClaimRows):
    """Each claim has a row."""


class TestQuickForm(QuickForm):
    """The quick variant."""
