"""Claims state their basis: what was fitted, what a law also gives, what the simulator adds."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from tests.support.study_text import Head

MODEL = """
from typing import Annotated
from headroom.simulation import Model, exponential
from headroom.systems.model import parameter

RATE = parameter(unit="1/s", low=0.1, high=9, source="assumed", description="Arrivals")

def build(*, rate: Annotated[float, RATE] = 1.0):
    model = Model("shop", time_unit="s")
    server = model.station("server")
    job = model.program("job")
    job.use(server, exponential(0.2))
    model.open_class("jobs", job, interarrival=exponential(1.0 / rate))
    return model

{law}
"""
LAW = "build.law = lambda rate: {'throughput': min(rate, 5.0), 'response_s_mean': 0.2}"
STUDY = (
    Head("shop", "A shop", "load")
    .then("""\
system = { name = "model", file = "model.py", completions = 20000 }
replications = { count = 5 }
factors.rate = [1.0, 3.0, 4.0]
responses = ["throughput", "response_s_mean"]

[[claim]]
name = "fitted"
text = "Three a second get through"
kind = "value"
experiment = "load"
metric = "throughput"
where = { rate = 3.0 }
value = 3.0
tolerance = 0.05
published = "3 /s"
fitted = true

[[claim]]
name = "arithmetic"
text = "Throughput rises"
kind = "monotone"
experiment = "load"
metric = "throughput"
factor = "rate"
direction = "rises"
published = "rises"

[[claim]]
name = "queues"
text = "Response time more than doubles"
kind = "ratio"
experiment = "load"
metric = "response_s_mean"
where = { rate = 4.0 }
to = { rate = 1.0 }
at_least = 2.0
published = "doubles"

[[claim]]
name = "unknown to the law"
text = "The server is busy"
kind = "value"
experiment = "load"
metric = "station.server.utilization"
where = { rate = 4.0 }
at_least = 0.7
published = "busy"

[[claim]]
name = "own"
text = "One a second gets through"
kind = "value"
experiment = "load"
metric = "throughput"
where = { rate = 1.0 }
value = 1.0
tolerance = 0.05
""")
    .replace("unknown to the law", "unknown")
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "model.py").write_text(MODEL.format(law=LAW))
    return tmp_path


def test_a_claim_says_whether_a_law_passes_it_too(folder: Path) -> None:
    """M/M/1 at 4 of 5 a second takes 1 s, at 1 of 5 a quarter of that; a law knows no queue."""
    answer = CliRunner().invoke(app, ["run", ".", "--quiet", "--json"])
    assert answer.exit_code == 0, answer.stderr
    content = json.loads(answer.stdout)["content"]
    assert {claim["name"]: (claim["basis"], claim["law"]) for claim in content["claims"]} == {
        "fitted": ("fitted", "holds"),
        "arithmetic": ("arithmetic", "holds"),
        "queues": ("simulator", "differs"),
        "unknown": ("simulator", ""),
        "own": ("own", "holds"),
    }
    assert {claim["verdict"] for claim in content["claims"]} == {"holds"}
    assert content["experiments"][0]["points"][1]["law"] == {
        "throughput": 3.0, "response_s_mean": 0.2,
    }  # fmt: skip
    shown = CliRunner().invoke(app, ["show", ".", "--all"], env={"COLUMNS": "100"}).stdout
    assert "2 claims need the simulator (2 hold)." in " ".join(shown.split())
    page = (folder / "results/report.html").read_text()
    assert "Simulation and the law" in page
    assert "follows by arithmetic" in page


def test_without_a_law_nothing_is_said(folder: Path) -> None:
    (folder / "model.py").write_text(MODEL.format(law=""))
    answer = CliRunner().invoke(app, ["run", ".", "--quiet", "--json"])
    claims = json.loads(answer.stdout)["content"]["claims"]
    assert {(claim["basis"], claim["law"]) for claim in claims} == {("", "")}
    assert "Rests on" not in (folder / "results/report.html").read_text()


def test_a_law_that_fails_costs_no_result(folder: Path) -> None:
    (folder / "model.py").write_text(MODEL.format(law="build.law = lambda rate: 1 / 0"))
    answer = CliRunner().invoke(app, ["run", ".", "--quiet", "--json"])
    assert answer.exit_code == 0, answer.stderr
    content = json.loads(answer.stdout)["content"]
    (note,) = [one for one in content["experiments"][0]["points"][0]["notes"] if "law" in one]
    assert note.startswith("the law says nothing: ")
    assert "ZeroDivisionError" in note
    assert {claim["verdict"] for claim in content["claims"]} == {"holds"}
