"""Rows, frames and CSV files of sweeps: a row for each point, whatever became of it."""

import copy
import csv
import gc
import math
import pickle
from pathlib import Path

import pytest

import headroom as hr


def shop(rate: float = 50.0) -> hr.Model:
    model = hr.Model("shop", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("till"), hr.exponential(0.01))
    model.open_class("visits", visit, interarrival=hr.exponential(1 / rate))
    return model


@pytest.fixture(scope="module")
def sweep() -> hr.Sweep:
    """Return a sweep over a light load and one of twice what the till can do."""
    return hr.simulate(shop, rate=[40.0, 200.0], completions=2000, replications=3, processes=1)


def test_a_wide_row_has_the_levels_and_each_metric_with_its_interval(sweep: hr.Sweep) -> None:
    light, heavy = sweep.to_rows("wide")
    found = sweep.at(rate=40.0)["throughput"]
    assert (light["rate"], light["n"], light["missing"]) == (40.0, 3, "")
    assert light["throughput"] == found
    assert (light["throughput_low"], light["throughput_high"]) == (found.low, found.high)
    assert light["response_s_mean_low"] < 1 / 60 < light["response_s_mean_high"]  # M/M/1
    assert list(light) == list(heavy)
    frame = sweep.to_frame("wide")
    assert len(frame) == 2
    assert frame["response_s_mean"].isna().tolist() == [False, True]


def test_a_response_without_an_estimate_is_a_row_that_says_why(sweep: hr.Sweep) -> None:
    why = "the point is saturated: the metric grows with the length of the run"
    rows = [row for row in sweep.to_rows() if row["metric"] == "response_s_mean"]
    assert [row["rate"] for row in rows] == [40.0, 200.0]
    assert [row["missing"] for row in rows] == ["", why]
    assert (rows[1]["n"], math.isnan(rows[1]["value"]), math.isnan(rows[1]["low"])) == (
        0,
        True,
        True,
    )
    assert sweep.to_rows("wide")[1]["missing"] == why


def test_points_of_which_no_run_counts_do_not_vanish() -> None:
    """Cause: 294 of 1,000 points of a notebook were in no row."""
    found = hr.simulate("mm1", utilization=0.5, completions=20, replications=2, processes=1)
    for row in [*found.to_rows(), *found.to_rows("wide")]:
        assert row["missing"].startswith("no run counts: fewer than 50 completions")
    assert {row["metric"] for row in found.to_rows()} == set(found.experiment.responses)
    assert math.isnan(found.to_rows("wide")[0]["throughput_low"])


def test_missing_bounds_are_nan_in_frames_and_files(tmp_path: Path) -> None:
    found = hr.simulate("mm1", utilization=0.5, completions=2000, replications=1, processes=1)
    metric = "station.server.queue_len_max"  # the extreme of one run has no interval
    (row,) = (row for row in found.to_rows() if row["metric"] == metric)
    assert math.isnan(row["low"])
    frame = found.to_frame()
    assert frame["low"].dtype == frame["high"].dtype == float
    with found.to_csv(tmp_path / "points.csv").open(newline="") as file:
        (line,) = (line for line in csv.DictReader(file) if line["metric"] == metric)
    assert (line["low"], line["high"], float(line["value"])) == ("NaN", "NaN", row["value"])
    wide = found.to_csv(tmp_path / "wide.csv", "wide").read_text().splitlines()
    assert len(wide) == 2


def test_a_sweep_has_its_replications_as_long_as_it_is_there() -> None:
    found = hr.simulate(shop, rate=[40.0], completions=500, replications=3, processes=1)
    rows = [row for row in found.replications() if row["metric"] == "throughput"]
    assert [row["replication"] for row in rows] == [0, 1, 2]
    assert len(found.to_frame("replications")) == len(found.replications())
    plan = found.plan
    assert plan is not None
    assert plan.folder.exists()
    for twin in (pickle.loads(pickle.dumps(found)), copy.copy(found)):  # noqa: S301 - made here
        assert twin["throughput"] == found["throughput"]
        with pytest.raises(hr.HeadroomError, match="without its journal"):
            twin.replications()
    del found
    gc.collect()
    assert not plan.folder.exists()


def test_a_sweep_of_a_study_has_the_replications_of_its_experiment(tmp_path: Path) -> None:
    both = [hr.Experiment(name, shop, replications=2, completions=300) for name in ("a", "b")]
    result = hr.run(hr.Study("both", both, folder=tmp_path), processes=1)
    for found in (result, hr.load(tmp_path)):
        assert len(found) == 2
    own = result["b"].replications()
    assert {row["experiment"] for row in own} == {"b"}
    assert len(result.replications()) == len(own) + len(result["a"].replications())


def test_a_kind_of_rows_that_is_not_there_is_refused(sweep: hr.Sweep) -> None:
    with pytest.raises(hr.HeadroomError, match="no rows of kind 'wied'") as caught:
        sweep.to_rows("wied")  # type: ignore[arg-type]
    assert "wide" in caught.value.cure
