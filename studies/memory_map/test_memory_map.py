"""The study of the machine's memory: its quick form."""

from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestMemoryMap(QuickForm, ClaimRows):
    """The quick form ends with its claim."""

    def test_the_first_level_is_found(self, quick: QuickRun) -> None:
        """A load from the nearest cache takes 0.3 to 10 ns on any processor."""
        fit = quick.experiment("predicted")["fit"]
        if not fit["sets"]:
            # Cause: too many sizes were disturbed on a busy machine, so no curve was fitted.
            assert fit["state"] == "refused"
            assert fit["reason"]
            assert quick.verdicts()["steps-predict"] == "undecided"
            return
        values = {row["name"]: row["value"] for row in fit["sets"][0]["parameters"]}
        assert 0.3e-9 < values["first_s"] < 10e-9
