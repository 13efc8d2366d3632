"""The health of the disk is reported once for each target, with the counters that grew."""

import msgspec

from headroom.analysis.results import DiskFigure, ExperimentResult
from headroom.report.notes.measuring import disk_health_sentences
from tests.support.example_results import measured_experiment


def figure(first: float, last: float, highest: float | None = None) -> DiskFigure:
    return DiskFigure(first=first, last=last, highest=last if highest is None else highest)


def with_health(*found: tuple[str, dict[str, DiskFigure]]) -> ExperimentResult:
    """Return an experiment with one point for each target and its health."""
    experiment = measured_experiment()
    points = [
        msgspec.structs.replace(
            experiment.points[0], levels={"target": target} if target else {}, disk_health=health
        )
        for target, health in found
    ]
    return msgspec.structs.replace(experiment, points=points)


def test_heat_wear_and_that_nothing_grew() -> None:
    health = {
        "temperature_c": figure(41.0, 55.0, 58.0),
        "temperature_limit_c": figure(82.0, 82.0),
        "percentage_used": figure(3.0, 3.0),
        "media_errors": figure(7.0, 7.0),
    }
    (said,) = disk_health_sentences(with_health(("", health)))
    assert said == (
        "The disk: 41 to 58 °C (limit 82 °C), 3% of its life used, no count of errors grew."
    )


def test_each_target_has_its_own_sentence_over_all_its_points() -> None:
    """Errors of the second point count from the first one on."""
    said = disk_health_sentences(
        with_health(
            ("old", {"reallocated_sectors": figure(8.0, 8.0)}),
            ("new", {"temperature_c": figure(30.0, 30.0)}),
            ("old", {"reallocated_sectors": figure(9.0, 11.0)}),
        )
    )
    assert said == [
        "Disk of target old: 3 more reallocated sectors after than before.",
        "Disk of target new: 30 °C.",
    ]


def test_a_disk_that_tells_nothing_is_not_mentioned() -> None:
    assert disk_health_sentences(with_health(("", {}))) == []
