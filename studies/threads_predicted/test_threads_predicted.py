"""The study that predicts two threads from one: its quick form."""

from studies.quick_form import ClaimRows, QuickForm, QuickRun


class TestThreadsPredicted(QuickForm, ClaimRows):
    """The quick form ends with its claims."""

    def test_one_thread_is_fitted_for_each_program(self, quick: QuickRun) -> None:
        """One number for one time of each program: the fit is exact, up to whole picoseconds."""
        native, predicted = (quick.experiment(name) for name in ("native", "predicted"))
        assert [point["failed"] for point in native["points"]] == [0] * 6
        if predicted["fit"]["state"] != "fitted":
            # A busy machine may show no caches, or none that fits the runs.
            assert predicted["fit"]["reason"]
            assert quick.verdicts()["errors"] == "undecided"
            return
        residuals = [one["residuals"] for one in predicted["fit"]["sets"]]
        assert [len(one) for one in residuals] == [1, 1]
        for (one,) in residuals:
            assert abs(one["fitted"] / one["observed"] - 1.0) < 0.03

    def test_both_programs_have_a_prediction_for_two_threads(self, quick: QuickRun) -> None:
        """Whether it is right depends on the machine; a busy one leaves it undecided."""
        if quick.experiment("predicted")["fit"]["state"] == "fitted":
            claims = {claim["name"]: claim for claim in quick.results["claims"]}
            for name in ("errors", "speed-ups"):
                assert len(claims[name]["pairs"]) == 2

    def test_misses_are_compared_where_they_are_counted(self, quick: QuickRun) -> None:
        """Many virtual machines have no counters."""
        estimates = [point["estimates"] for point in quick.experiment("native")["points"]]
        (misses,) = (one for one in quick.results["claims"] if one["name"] == "misses")
        is_counted = any("l1d_misses" in one for one in estimates)
        is_fitted = quick.experiment("predicted")["fit"]["state"] == "fitted"
        assert len(misses["pairs"]) == (2 if is_counted and is_fitted else 0)
