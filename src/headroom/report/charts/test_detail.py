"""Panels of one point: only those with data to show."""

import math

import msgspec
import pytest

from headroom.analysis.results import Distribution, ExperimentResult
from headroom.report.charts.detail import detail_panels
from headroom.report.charts.panel import Panel
from headroom.report.figures.inputs import Bars, Curve
from tests.support.example_results import (
    black_box_experiment,
    measured_experiment,
    model_experiment,
)


def panels(experiment: ExperimentResult) -> dict[str, Panel]:
    return {panel.key: panel for panel in detail_panels(experiment, experiment.points)}


def with_distribution(**values: object) -> ExperimentResult:
    """Return an experiment of one point with one distribution."""
    experiment = measured_experiment()
    point = experiment.points[0]
    base = Distribution(metric="took_s", unit="s", count=10, low=[], high=[], counts=[])
    found = msgspec.structs.replace(base, **values)
    return msgspec.structs.replace(
        experiment, points=[msgspec.structs.replace(point, distributions=[found])]
    )


def test_a_part_without_a_known_number_of_servers_has_no_picture_of_its_utilization() -> None:
    """Cause: "device (1 server)", 100% busy, was the load generator's own number of places."""
    found = panels(black_box_experiment())
    assert "device-stations" not in found
    bars = next(iter(found["device-queues"].pictures.values()))
    assert isinstance(bars, Bars)
    assert bars.bars[0].label == "device"


def test_the_colours_of_stations_and_pools_are_explained_only_where_there_are_both() -> None:
    assert "Blue: stations" in panels(model_experiment())["load-queues"].caption
    assert "Blue: stations" not in panels(black_box_experiment())["device-queues"].caption


def test_a_histogram_shares_out_its_bins_and_a_wide_one_goes_by_powers() -> None:
    """Oracle: two bins of one share each; the area between equal bars is what the bins hold."""
    narrow = panels(with_distribution(low=[1.0, 2.0], high=[2.0, 3.0], counts=[5, 5]))
    (curve,) = narrow["codecs-histogram"].pictures.values()
    assert isinstance(curve, Curve)
    assert not curve.x.is_log
    heights = {round(dot.y, 6) for dot in curve.lines[0].dots}
    assert heights == {round(100.0 / 48, 6)}
    wide = panels(with_distribution(low=[0.001, 0.1], high=[0.002, 10.0], counts=[50, 50]))
    (log,) = wide["codecs-histogram"].pictures.values()
    assert isinstance(log, Curve)
    assert log.x.is_log


def test_a_histogram_of_counts_has_a_bar_on_each_number() -> None:
    found = with_distribution(
        metric="station.disk.jobs",
        unit="1",
        low=[0.0, 1.0, 3.0],
        high=[1.0, 2.0, 4.0],
        counts=[6, 3, 1],
    )
    (curve,) = panels(found)["codecs-histogram"].pictures.values()
    assert isinstance(curve, Curve)
    at = [(dot.x, dot.y) for dot in curve.lines[0].dots]
    assert (-0.5, 60.0) in at
    assert (1.5, 30.0) in at
    assert (2.5, 0.0) in at
    assert (3.5, 10.0) in at


def test_a_cumulative_curve_rises_to_its_last_share() -> None:
    found = with_distribution(low=[1.0, 2.0, 3.0], high=[2.0, 3.0, math.inf], counts=[5, 4, 1])
    (curve,) = panels(found)["codecs-cumulative"].pictures.values()
    assert isinstance(curve, Curve)
    shares = [dot.y for dot in curve.lines[0].dots]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == pytest.approx(100.0)


def test_raw_samples_show_their_order_median_and_middle_half() -> None:
    found = panels(with_distribution(samples=[1.0, 3.0, 2.0, 4.0, 5.0]))
    assert "codecs-histogram" not in found
    (curve,) = found["codecs-samples"].pictures.values()
    assert isinstance(curve, Curve)
    assert [dot.y for dot in curve.lines[0].dots] == [1.0, 3.0, 2.0, 4.0, 5.0]
    assert [line.y for line in curve.references] == [2.0, 3.0, 4.0]
