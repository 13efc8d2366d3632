"""Studies, journals and results of an earlier version still open, with the numbers they had.

`data/kept` was run by version 0.1.0 of November 2026: an experiment of each layer that needs no
server. Only the page was left out. Where a format changes, add another; never replace this one.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import ExitCode

KEPT = Path(__file__).resolve().parent / "data" / "kept"
OLD: dict[str, Any] = json.loads((KEPT / "results" / "results.json").read_text(encoding="utf-8"))


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a copy, which may be written to."""
    return Path(shutil.copytree(KEPT, tmp_path / "kept"))


COMPILED = {"table", "machine", "memory"}
"""Experiments whose results count for the very code that ran: other code runs them again."""


def printed(*words: object, code: int = ExitCode.DONE) -> str:
    answer = CliRunner().invoke(app, list(map(str, words)))
    assert answer.exit_code == code, answer.stderr
    return answer.stdout


def lasting(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in results["experiments"] if one["name"] not in COMPILED]


def runs_of(results: dict[str, Any]) -> dict[str, int]:
    return {one["name"]: sum(at["done"] for at in one["points"]) for one in lasting(results)}


def centres_of(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the centres of all metrics of all points, which no change of intervals touches."""
    return {
        f"{one['name']} {point['levels']}": {
            name: found["value"] for name, found in point["estimates"].items()
        }
        for one in lasting(results)
        for point in one["points"]
    }


def stored(study: Path) -> list[tuple[object, ...]]:
    """Return the replications that a journal has, with the code that ran them."""
    with closing(sqlite3.connect(study / "results" / "journal.sqlite")) as journal:
        return journal.execute("SELECT id, experiment, fingerprint FROM replication").fetchall()


def test_a_journal_is_analysed_to_the_numbers_it_had(study: Path) -> None:
    new = json.loads(printed("show", study, "--json"))["content"]
    assert runs_of(new) == runs_of(OLD)
    assert [claim["verdict"] for claim in new["claims"]] == ["holds"]
    old_centres, new_centres = centres_of(OLD), centres_of(new)
    assert new_centres.keys() == old_centres.keys()
    for point, centres in old_centres.items():
        assert new_centres[point].keys() == centres.keys(), point
        assert new_centres[point] == pytest.approx(centres, rel=1e-9, nan_ok=True), point


def test_its_simulations_are_not_run_again(study: Path) -> None:
    """Measurements of another machine are; so only what is simulated is asked for."""
    simulated = ("queue", "protocols", "disk", "catalogue")
    only = [word for name in simulated for word in ("--only", name)]
    before = stored(study)
    printed("run", study, "--quiet", "--no-what-if", *only)
    assert stored(study) == before


def test_results_are_read_for_a_comparison_and_rows(study: Path) -> None:
    results = study / "results" / "results.json"
    same = json.loads(printed("compare", results, results, "--json"))["content"]
    assert {row["verdict"] for row in same["rows"]} == {"same"}
    assert {row["experiment"] for row in same["rows"]} >= {"queue", *COMPILED}
    rows = printed("export", study, "--what", "points")
    assert {line.split(",")[0] for line in rows.splitlines()[1:]} >= {"queue", "program"}
