"""The quick form of `amga_model`."""

from typing import Any

import pytest

from headroom.systems.catalogue.paper import PAPER, PAPER_WAN
from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestQuickForm(QuickForm, ClaimRows):
    """The quick variant."""

    def test_its_values_are_those_of_the_model(self, study: dict[str, Any]) -> None:
        """The study repeats what the layer states, with a source for each."""
        for experiment in study["experiment"]:
            paper = PAPER_WAN if experiment["name"] == "far" else PAPER
            for name, stated in experiment["fixed"].items():
                value = stated["value"] if isinstance(stated, dict) else stated
                assert value == pytest.approx(paper[name]), name

    def test_all_claims_hold_but_that_of_the_slower_database(self, quick: QuickRun) -> None:
        """The simulation has fixed seeds, so this does not change by chance."""
        others = {name: one for name, one in quick.verdicts().items() if one != "holds"}
        assert others == {"direct-drops": "differs"}
