"""Rows, frames and CSV files of sweeps: a row for each point, whatever became of it."""

import csv
import gc
import math
import pickle
from pathlib import Path

import pytest

import headroom as hr

WHY = "the point is saturated: the metric grows with the length of the run"


def shop(rate: float = 50.0) -> hr.Model:
    model = hr.Model("shop", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("till"), hr.exponential(0.01))
    model.open_class("visits", visit, interarrival=hr.exponential(1 / rate))
    return model


def test_each_point_is_a_row_and_one_without_a_result_says_why(tmp_path: Path) -> None:
    sweep = hr.simulate(shop, rate=[40.0, 200.0], completions=2000, replications=1, processes=1)
    found = sweep.at(rate=40.0)["throughput"]
    light, heavy = sweep.to_rows("wide")
    assert (light["rate"], light["n"], light["missing"], heavy["missing"]) == (40.0, 1, "", WHY)
    ends = (light["throughput"], light["throughput_low"], light["throughput_high"])
    assert ends == (found, found.low, found.high)
    assert light["response_s_mean_low"] < 1 / 60 < light["response_s_mean_high"]  # M/M/1
    assert sweep.to_frame("wide")["response_s_mean"].isna().tolist() == [False, True]
    long = [row for row in sweep.to_rows() if row["metric"] == "response_s_mean"]
    assert [(row["rate"], row["missing"]) for row in long] == [(40.0, ""), (200.0, WHY)]
    assert (long[1]["n"], math.isnan(long[1]["value"])) == (0, True)
    assert sweep.to_frame()["low"].dtype == float
    with sweep.to_csv(tmp_path / "points.csv").open(newline="") as file:
        lines = {(line["rate"], line["metric"]): line for line in csv.DictReader(file)}
    assert lines["40.0", "station.till.queue_len_max"]["low"] == "nan"
    assert float(lines["40.0", "throughput"]["low"]) == found.low


def test_points_of_which_no_run_counts_do_not_vanish() -> None:
    """Cause: 294 of 1,000 points of a notebook were in no row."""
    found = hr.simulate("mm1", utilization=0.5, completions=20, replications=2, processes=1)
    for row in [*found.to_rows(), *found.to_rows("wide")]:
        assert row["missing"].startswith("no run counts: fewer than 50 completions")
    assert {row["metric"] for row in found.to_rows()} == set(found.experiment.responses)
    assert math.isnan(found.to_rows("wide")[0]["throughput_low"])


def test_a_sweep_has_the_replications_of_its_experiment_as_long_as_it_is_there(
    tmp_path: Path,
) -> None:
    found = hr.simulate(shop, rate=[40.0], completions=500, replications=3, processes=1)
    rows = [row for row in found.replications() if row["metric"] == "throughput"]
    assert [row["replication"] for row in rows] == [0, 1, 2]
    twin, plan = pickle.loads(pickle.dumps(found)), found.plan  # noqa: S301 - made here
    assert twin["throughput"] == found["throughput"]
    with pytest.raises(hr.HeadroomError, match="without its journal"):
        twin.replications()
    del found
    gc.collect()
    assert plan is not None
    assert not plan.folder.exists()
    both = [hr.Experiment(name, shop, replications=2, completions=300) for name in ("a", "b")]
    result = hr.run(hr.Study("both", both, folder=tmp_path), processes=1)
    assert {row["experiment"] for row in result["b"].replications()} == {"b"}
