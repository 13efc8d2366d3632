"""Limits in the figures of their metric: drawn to scale, or reported if there is no room."""

from typing import Any

import msgspec
import pytest

from headroom.analysis.results import ExperimentResult, LimitCrossing
from headroom.report.charts.figure import Figure
from headroom.report.charts.sweep import sweep_figures
from tests.support.example_results import model_experiment

LIMIT = LimitCrossing(
    metric="response_s_p99", unit="s", at_most=0.2, at_least=None, factor="users",
    where={"servers": 2}, state="breaks", level=97.0, level_low=95.0, level_high=99.0,
)  # fmt: skip


def figures(*limits: LimitCrossing) -> dict[str, Figure]:
    experiment: ExperimentResult = msgspec.structs.replace(model_experiment(), limits=list(limits))
    return {figure.key: figure for figure in sweep_figures(experiment, marks=1000)}


def drawn(figure: Figure, column: str) -> list[dict[str, Any]]:
    """Return the rows with `column` that the layers of a figure carry."""
    layers = figure.spec["layer"]
    rows = [row for layer in layers for row in layer.get("data", {}).get("values", ())]
    return [row for row in rows if column in row]


def test_a_limit_is_a_line_at_its_value_in_the_unit_of_the_axis() -> None:
    busy = msgspec.structs.replace(
        LIMIT, metric="station.database.utilization", unit="1", at_most=0.8
    )
    found = figures(busy)["load-station-database-utilization-users"]
    assert found.spec["layer"][-2]["encoding"]["y"]["title"] == "database utilization (%)"
    assert all(row["limit"] == pytest.approx(80.0) for row in drawn(found, "text"))
    assert {row["text"] for row in drawn(found, "text")} == {"limit: at most 80%"}
    assert "Across: the limit, at most 80%; thick: where it breaks" in found.caption


def test_the_line_shows_where_each_curve_breaks_the_limit_with_its_interval() -> None:
    four = msgspec.structs.replace(LIMIT, where={"servers": 4}, level=180.0)
    holds = msgspec.structs.replace(LIMIT, where={"servers": 8}, state="holds", level=None)
    rows = drawn(figures(LIMIT, four, holds)["load-response_s_p99-users"], "break")
    assert {(row["series"], row["break"]) for row in rows} == {("2", 97.0), ("4", 180.0)}
    assert {row["shown"] for row in rows if row["series"] == "2"} == {"97 (95 to 99)"}


def test_the_limit_of_one_metric_is_not_drawn_into_the_figure_of_another() -> None:
    found = figures(LIMIT)["load-throughput-users"]
    assert not drawn(found, "limit")
    assert "limit" not in found.caption


def test_a_limit_far_above_all_values_is_told_and_does_not_squeeze_the_curve() -> None:
    far = msgspec.structs.replace(LIMIT, at_most=5000.0, state="holds", level=None)
    found = figures(far)["load-response_s_p99-users"]
    assert not drawn(found, "limit")
    assert "so not drawn: the limit at most 5,000 s" in found.caption


def test_no_limit_leaves_the_figure_as_it_was() -> None:
    assert "imit" not in figures()["load-response_s_p99-users"].caption
