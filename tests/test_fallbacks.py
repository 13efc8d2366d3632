"""A defect in an explanation of a result costs that explanation, never the report.

Cause: a ring of 500 stations ended in an `AssertionError` of a solver after all its runs.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from tests.support.study_text import Head

STUDY = Head("fallbacks", "A study whose explanations fail", "load").then("""\
system = { name = "model", model = "interactive", completions = 2_000 }
fixed = { think_s = 1.0, service_s = 0.05 }
factors = { users = [2, 5, 15, 30, 60] }
responses = ["throughput", "response_s_mean"]
replications = { count = 3 }

[[experiment.limit]]
metric = "response_s_mean"
at_most = 0.5

[[claim]]
name = "capacity"
text = "The server serves 20 users a second."
kind = "value"
experiment = "load"
metric = "throughput"
where = { users = 60 }
value = 20.0
tolerance = 0.05
""")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fallbacks")
    (folder / "study.toml").write_text(STUDY)
    assert CliRunner().invoke(app, ["run", str(folder), "--quiet"]).exit_code == 0
    return folder


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that breaks another, named by its place, as for a user: no debugging."""

    def break_it(place: str) -> None:
        def broken(*_: Any, **__: Any) -> None:
            raise AssertionError("a defect")

        monkeypatch.delenv("HEADROOM_DEBUG")
        monkeypatch.setattr(place, broken)

    return break_it


ANALYSIS = "headroom.analysis."
REPORT = "headroom.report."


@pytest.mark.deep
@pytest.mark.parametrize(
    "place",
    [
        ANALYSIS + "solver_answers.solver_answer",
        ANALYSIS + "over_factors.knee_over",
        ANALYSIS + "over_factors.crossing_of",
        ANALYSIS + "experiment_result.drawn_model",
        ANALYSIS + "claims.claims.sample_at",
        ANALYSIS + "follow_up.what_if._effect",
        REPORT + "summary.theory_sentences",
        REPORT + "fold.figures.sweep_panels",
        REPORT + "fold.figures.detail_panels",
        REPORT + "fold.figures.model_figure",
        REPORT + "fold.tables.points_table",
    ],
)
def test_a_report_outlives_a_defect_and_names_it(
    study: Path, defect: Callable[[str], None], place: str
) -> None:
    defect(place)
    for kept in (study / "results").glob("*.cache"):
        kept.unlink()  # Results of an intact program stay true, but this is about another.
    found = CliRunner().invoke(app, ["run", str(study)])
    assert found.exit_code == 0, found.output
    results = (study / "results" / "results.json").read_text()
    points = json.loads(results)["experiments"][0]["points"]
    assert all("throughput" in point["estimates"] for point in points)
    page = (study / "results" / "report.html").read_text()
    assert "A study whose explanations fail" in page
    if place != ANALYSIS + "experiment_result.drawn_model":  # whose absence needs no words
        assert "AssertionError: a defect (test_fallbacks.py" in page + results


def test_a_defect_is_raised_while_debugging(
    study: Path, monkeypatch: pytest.MonkeyPatch, defect: Callable[[str], None]
) -> None:
    defect(ANALYSIS + "over_factors.knee_over")
    for kept in (study / "results").glob("*.cache"):
        kept.unlink()
    monkeypatch.setenv("HEADROOM_DEBUG", "1")
    found = CliRunner().invoke(app, ["show", str(study)])
    assert isinstance(found.exception, AssertionError)


def test_what_a_defect_left_out_is_there_as_soon_as_the_defect_is_gone(study: Path) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise AssertionError("a defect")

    for kept in (study / "results").glob("*.cache"):
        kept.unlink()
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("HEADROOM_DEBUG", raising=False)
        patched.setattr(ANALYSIS + "solver_answers.solver_answer", broken)
        assert "a defect" in CliRunner().invoke(app, ["show", str(study), "--json"]).output
    assert "a defect" not in CliRunner().invoke(app, ["show", str(study), "--json"]).output
