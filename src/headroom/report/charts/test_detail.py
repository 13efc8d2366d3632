"""Charts of one point: only those with data to show."""

from headroom.report.charts.detail import detail_figures, detail_points
from tests.support.example_results import black_box_experiment, model_experiment


def test_a_part_without_a_known_number_of_servers_has_no_picture_of_its_utilization() -> None:
    """Cause: "device (1 server)", 100% busy, was the load generator's own number of places."""
    experiment = black_box_experiment()
    keys = {figure.key for figure in detail_figures(experiment)}
    assert "device-queues" in keys
    assert "device-stations" not in keys
    (point, *_) = detail_points(experiment, experiment.points)
    assert point["stations"][0]["label"] == "device"
    assert point["remarks"] == ["What limits is the target."]


def test_the_legend_of_stations_and_pools_stands_only_where_there_are_both() -> None:
    for experiment, has_legend in ((model_experiment(), True), (black_box_experiment(), False)):
        (queues,) = [
            detail_figure
            for detail_figure in detail_figures(experiment)
            if detail_figure.detail == "queue"
        ]
        color = queues.spec["layer"][0]["encoding"]["color"]
        assert ("legend" not in color) is has_legend
