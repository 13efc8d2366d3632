"""Figures of the report as Altair charts: valid specifications, the metric and axis asked for."""

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import headroom as hr
from headroom.api.tables import frame_of
from headroom.errors import EnvironmentUnfitError, StudyError


def queue(rate: float = 50.0, servers: int = 1, disk: str = "ssd") -> hr.Model:
    model = hr.Model(f"queue on {disk}", time_unit="s")
    job = model.program("job")
    job.use(model.station("server", servers=servers), hr.exponential(0.01))
    model.open_class("jobs", job, interarrival=hr.exponential(1 / rate))
    return model


@pytest.fixture(scope="module")
def grid() -> hr.Sweep:
    return hr.simulate(
        queue,
        rate=[20.0, 50.0, 80.0, 130.0],
        servers=[1, 2],
        disk=["ssd", "hdd"],
        completions=200,
        replications=2,
        processes=1,
    )


def test_a_chart_has_the_rows_of_one_choice_and_a_series_for_each_level(grid: hr.Sweep) -> None:
    spec = json.loads(grid.chart("throughput", over="rate").to_json())
    rows = next(iter(spec["datasets"].values())) if "datasets" in spec else spec["data"]["values"]
    assert {row["series"] for row in rows} == {"servers 1", "servers 2"}
    assert len({row["hold"] for row in rows}) == 1
    assert sorted({row["level"] for row in rows}) == [20, 50, 80, 130]
    assert spec["title"] == "Throughput by rate"
    assert '"params"' not in json.dumps(spec)  # Altair would give each layer its own zoom


def test_a_metric_that_is_no_response_can_be_drawn(grid: hr.Sweep) -> None:
    spec = grid.chart("station.server.utilization").to_dict()
    assert "utilization" in spec["title"].lower()


def test_levels_without_numbers_make_a_chart_too() -> None:
    found = hr.simulate(queue, disk=["ssd", "hdd"], completions=100, replications=2, processes=1)
    assert found.chart().to_dict()["title"] == "Throughput by disk"


def test_what_cannot_be_drawn_is_refused_with_a_hint(grid: hr.Sweep) -> None:
    with pytest.raises(StudyError, match="no figure of thruput") as caught:
        grid.chart("thruput")
    assert "throughput" in caught.value.cure
    with pytest.raises(StudyError, match="over rte"):
        grid.chart(over="rte")
    alone = hr.simulate(queue, completions=100, replications=2, processes=1)
    with pytest.raises(StudyError, match="single point"):
        alone.chart()


def test_without_pandas_and_altair_the_hint_says_what_to_install(
    grid: hr.Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("altair", "pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(EnvironmentUnfitError, match="needs Altair") as chart:
        grid.chart()
    with pytest.raises(EnvironmentUnfitError, match="needs pandas or pyarrow") as frame:
        grid.to_frame()
    assert "[notebook]" in chart.value.cure
    assert "to_rows" in frame.value.cure
    assert grid.to_rows()


def test_arrow_gets_columns_of_one_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor may have words and numbers as levels; a column of Arrow holds one type."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    arrow = SimpleNamespace(table=lambda columns: columns)
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    rows: list[dict[str, Any]] = [
        {"size": 1, "kind": "all", "ok": True},
        {"size": 0.5, "kind": 3, "ok": None},
    ]
    assert frame_of(rows) == {"size": [1.0, 0.5], "kind": ["all", "3"], "ok": [True, None]}
