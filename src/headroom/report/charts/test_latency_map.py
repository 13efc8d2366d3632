"""The figure of response times over time: its texts, and no figure without data."""

import json

import msgspec

from headroom.analysis.results import ExperimentResult, LatencyMap
from headroom.report.charts.latency_map import latency_map_figure, latency_words
from headroom.report.charts.over_time import with_series
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


def test_scales_suit_the_times() -> None:
    latency = latency_experiment().points[-1].latency
    words = latency_words(latency)
    assert words is not None
    assert words["titles"]["@length"] == "response time (ms), log scale"
    assert words["factor"] == 1000.0
    assert words["titles"]["@time"].endswith("(s)")
    assert words["edges"] == [{"at": 4.0}]


def test_an_experiment_without_maps_has_no_figure() -> None:
    experiment = measured_experiment()
    assert latency_map_figure(experiment) is None
    assert latency_words(None) is None
    assert "-latency-map" not in render_page(study(experiment))


def test_the_page_holds_the_map_once() -> None:
    page = render_page(study(latency_experiment()))
    assert page.count('"stretches":[[') == len(latency_experiment().points) - 1
    assert json.dumps("Response times over time")[1:-1] in page


def test_a_page_of_many_points_keeps_few_maps() -> None:
    experiment = latency_experiment()
    points = [
        msgspec.structs.replace(experiment.points[-1], key=f"{number:016x}") for number in range(40)
    ]
    kept = with_series(points, at_most=5, first=points[3].key)
    assert sum(1 for point in kept if point.latency) <= 6
    assert kept[3].latency
