"""The study of the machine's memory: its quick form."""

from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestMemoryMap(QuickForm, ClaimRows):
    """The quick form ends with its claim."""

    def test_the_first_level_is_found(self, quick: QuickRun) -> None:
        """A load from the nearest cache takes 0.3 to 10 ns on any processor."""
        (one,) = quick.experiment("predicted")["fit"]["sets"]
        values = {row["name"]: row["value"] for row in one["parameters"]}
        assert 0.3e-9 < values["first_s"] < 10e-9
