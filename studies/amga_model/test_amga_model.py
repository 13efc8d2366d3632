"""The quick form of `amga_model`."""

from headroom.systems.catalogue.paper import PAPER, PAPER_WAN
from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestClaims(ClaimRows):
    """Each claim has a row."""


class TestQuickForm(QuickForm):
    """The quick variant."""

    def test_its_values_are_those_of_the_model(self, study: dict) -> None:
        for experiment in study["experiment"]:
            paper = PAPER_WAN if experiment["name"] == "far" else PAPER
            for name, stated in experiment["fixed"].items():
                value = stated["value"] if isinstance(stated, dict) else stated
                assert value == paper[name], name

    def test_all_claims_hold_but_that_of_the_slower_database(self, quick: QuickRun) -> None:
        others = {name: one for name, one in quick.verdicts().items() if one != "holds"}
        assert others == {"direct-drops": "differs"}
