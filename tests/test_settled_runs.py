"""Runs that settled at one of two rates are said, in the results and among the first cautions."""

import json
from pathlib import Path

from typer.testing import CliRunner

from headroom.cli.app import app

RATES = (1000.0, 1600.0, 1010.0, 1605.0, 990.0, 1598.0, 1003.0, 1601.0)
STUDY = """\
schema = 1
name = "two"
title = "Runs of two kinds"
question = "How fast is it?"
seed = 1

[[experiment]]
name = "runs"
responses = ["throughput"]
system = { name = "imported", file = "runs.json" }
factors = {}
replications = { count = 8 }
"""


def test_runs_of_two_kinds_are_a_caution_with_both_rates(tmp_path: Path) -> None:
    runs = [{"levels": {}, "values": {"throughput": rate}, "source": "a"} for rate in RATES]
    metrics = [{"name": "throughput", "unit": "1/s", "better": "high"}]
    content = json.dumps({"metrics": metrics, "runs": runs})
    (tmp_path / "runs.json").write_text(content, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    said = CliRunner().invoke(app, ["run", str(tmp_path), "--quiet"]).stdout
    words = " ".join(said.split())
    assert "settled at one of two rates, up to 60% apart: no run takes the mean" in words
    results = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    (point,) = results["experiments"][0]["points"]
    assert (point["settled"]["low_count"], point["settled"]["high_count"]) == (4, 4)
