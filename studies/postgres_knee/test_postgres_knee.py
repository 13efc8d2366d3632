"""The study of PostgreSQL past its knee: its quick form, with a real server."""

from studies.quick_form import ClaimRows, QuickForm, QuickRun

KINDS = {"alternated", "alternated-burst", "measured", "target-burst"}
"""Evidence of bursts, once or in turn, for a server that is full and for one that is nearly so."""


class TestPostgresKnee(QuickForm, ClaimRows):
    """The quick form ends with all claims, and nothing of the server is left."""

    def test_bursts_give_a_prediction_of_every_case(self, quick: QuickRun) -> None:
        """A prediction has an interval, and says that a burst is behind it."""
        points = quick.experiment("from_bursts")["points"]
        assert len(points) == 2
        for point in points:
            estimate = point["estimates"]["throughput"]
            assert estimate["low"] < estimate["value"] < estimate["high"]
            assert point["prediction"]["kind"] in KINDS
