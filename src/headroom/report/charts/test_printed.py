"""Published numbers appear next to Headroom's results in the figures."""

import msgspec
import pytest

from headroom.analysis.results import ClaimResult, PrintedPoint
from headroom.report.charts.sweep import sweep_figures
from tests.support.example_results import claims, model_experiment


def printed(value: float, **other: str) -> ClaimResult:
    point = model_experiment().points[0]
    about = {"experiment": "load", "metric": "throughput", "source": "paper, table 1", **other}
    return msgspec.structs.replace(
        claims()[0], printed=PrintedPoint(dict(point.levels), value), **about
    )


def test_a_published_number_is_a_cross_at_its_level_with_its_source() -> None:
    experiment = model_experiment()
    figures = sweep_figures(experiment, marks=100, claims=[printed(42.0)])
    figure = next(one for one in figures if "throughput" in one.key)
    assert figure.rows is not None
    marked = [row for row in figure.rows if "printed" in row]
    assert len(marked) == 1
    ours = experiment.points[0].estimates["throughput"].value
    assert marked[0]["printed"] / marked[0]["value"] == pytest.approx(42.0 / ours)
    assert "Crosses: what was published (paper, table 1)." in figure.caption
    assert str(figure.spec).count("isValid(datum.printed)") == 1


def test_a_number_of_another_experiment_or_metric_is_not_drawn() -> None:
    for other in ({"experiment": "elsewhere"}, {"metric": "response_s_p99_9"}):
        for figure in sweep_figures(model_experiment(), marks=100, claims=[printed(42.0, **other)]):
            assert "Crosses" not in figure.caption
            assert not any("printed" in row for row in figure.rows or [])
