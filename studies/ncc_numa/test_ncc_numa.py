"""The study of the cluster of Oh and Chung: its quick form."""

from studies.quick_form import ClaimRows, QuickForm, QuickRun

DIFFER = {
    "gain-ocean-2", "gain-ocean-4", "gain-fft-2", "gain-fft-4", "gain-order", "share-lu-2",
    "share-barnes-2", "share-barnes-4", "flat-barnes", "lines-64-ocean", "addresses",
}  # fmt: skip
"""Claims that the README explains; the other ones of the paper hold in the full study."""


class TestNccNuma(QuickForm, ClaimRows):
    """The quick form ends with its claims."""

    def test_the_read_times_are_those_of_table_1(self, quick: QuickRun) -> None:
        """They fix the controllers, so they hold in any form."""
        verdicts = quick.verdicts()
        assert {verdicts[name] for name in verdicts if name.startswith("read-")} == {"holds"}

    def test_lu_and_barnes_gain_and_what_differs_is_known(self, quick: QuickRun) -> None:
        """Programs with fixed seeds: no machine decides it."""
        verdicts = quick.verdicts()
        assert {verdicts[f"gain-{name}"] for name in ("lu-2", "lu-4", "barnes-2")} == {"holds"}
        assert {name for name, one in verdicts.items() if one == "differs"} <= DIFFER

    def test_cells_of_table_5_meet_their_published_ones(self, quick: QuickRun) -> None:
        """Each of the eight errors of a machine has a published partner."""
        for name in ("errors-numa", "errors-ncc"):
            claim = next(one for one in quick.results["claims"] if one["name"] == name)
            assert len(claim["pairs"]) == 8
            assert claim["value"] < 0.1
