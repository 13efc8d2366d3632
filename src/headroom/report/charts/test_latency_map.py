"""The figure of response times over time: its texts, and no figure without data."""

import msgspec
import pytest

from headroom.analysis.results import ExperimentResult, LatencyMap
from headroom.report.charts.over_time import latency_panel, with_series
from headroom.report.figures.inputs import Curve
from headroom.report.page import render_page
from tests.support.example_results import measured_experiment, study


def latency_experiment() -> ExperimentResult:
    """Return measured points, of which the last went along two replications, with one stall."""
    experiment = measured_experiment()
    usual, stall = [0, 90_000, 1, 10_000], [0, 89_999, 1, 10_000, 30, 1]
    stretches = [*[usual] * 12, stall, [], usual, usual]
    latency = LatencyMap(step_s=0.5, per_run=8, shortest_s=1e-4, ratio=1.25, stretches=stretches)
    points = [
        msgspec.structs.replace(point, latency=latency if place else None)
        for place, point in enumerate(experiment.points)
    ]
    return msgspec.structs.replace(experiment, points=points)


def test_scales_suit_the_times_and_each_share_has_a_cell() -> None:
    experiment = latency_experiment()
    panel = latency_panel(experiment, experiment.points)
    assert panel is not None
    map_ = panel.pictures[experiment.points[-1].key, ""]
    assert isinstance(map_, Curve)
    assert map_.y.title == "response time (ms), log scale"
    assert map_.x.title.endswith("(s)")
    assert [one.at for one in map_.breaks] == [4.0]
    latency = experiment.points[-1].latency
    assert latency is not None
    assert len(map_.tiles) == sum(len(stretch) // 2 for stretch in latency.stretches)
    rare = min(map_.tiles, key=lambda tile: tile.strength)
    assert rare.y[0] == pytest.approx(0.1 * 1.25**30)
    assert map_.tiles_words(rare.strength) == "about 0.001% of the responses"


def test_an_experiment_without_maps_has_no_figure() -> None:
    experiment = measured_experiment()
    assert latency_panel(experiment, experiment.points).pictures == {}
    assert "-latency-map" not in render_page(study(experiment))


def test_a_page_of_many_points_keeps_few_maps() -> None:
    experiment = latency_experiment()
    points = [
        msgspec.structs.replace(experiment.points[-1], key=f"{number:016x}") for number in range(40)
    ]
    kept = with_series(points, at_most=5, first=points[3].key)
    assert sum(1 for point in kept if point.latency) <= 6
    assert kept[3].latency
