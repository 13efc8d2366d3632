"""The scatter of two responses: what is filled, and what stands beside a point."""

import msgspec

from headroom.analysis.results import Factor
from headroom.report.charts.tradeoff import tradeoff_figures
from headroom.report.test_example_results import model_experiment


def test_points_of_one_series_are_filled_by_a_channel_and_say_what_is_beside_them() -> None:
    """A mark without a fill channel is hollow, whatever its opacity."""
    numeric = [
        Factor(name=name, unit="1", is_numeric=True, levels=[1, 2]) for name in ("depth", "size")
    ]
    experiment = msgspec.structs.replace(model_experiment(), column="measure", factors=numeric)
    figure, *_ = tradeoff_figures(experiment, marks=100)
    (marks,) = [one for one in figure.spec["layer"] if one["mark"]["type"] == "point"]
    assert marks["encoding"]["fill"]["field"] == "series"
    assert "Beside each point: depth and size." in figure.caption
