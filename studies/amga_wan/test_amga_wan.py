"""The quick form of `amga_wan`, with servers and load of this build."""

import pytest

from studies.quick_form import ClaimRows, QuickForm

pytestmark = pytest.mark.usefixtures("catalogue_programs")


class TestQuickForm(QuickForm, ClaimRows):
    """The quick variant."""
