"""The study that predicts two threads from one: its quick form."""

from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestThreadsPredicted(QuickForm, ClaimRows):
    """The quick form ends with its claims."""

    def test_one_thread_is_fitted_for_each_program(self, quick: QuickRun) -> None:
        """The fit is exact: one number for one time of each program."""
        native, predicted = (quick.experiment(name) for name in ("native", "predicted"))
        assert predicted["fit"]["state"] == "fitted"
        assert len(predicted["fit"]["sets"]) == 2
        assert [point["failed"] for point in native["points"]] == [0] * 4

    def test_both_programs_have_a_prediction_for_two_threads(self, quick: QuickRun) -> None:
        """Whether it is right depends on the machine; a busy one leaves it undecided."""
        claims = {claim["name"]: claim for claim in quick.results["claims"]}
        for name in ("errors", "speed-ups"):
            assert len(claims[name]["pairs"]) == 2
