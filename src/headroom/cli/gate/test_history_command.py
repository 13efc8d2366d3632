"""`headroom history`: sessions in a journal, files of results, change points, and pages."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headroom.cli.app import app
from headroom.experiment.journal.journal import Journal
from tests.support.study_text import Head

STUDY = Head("naps", "Naps <i>", "nap").then("""\
system = { name = "command", argv = ["true"] }
replications = { count = 2 }
responses = ["wall_s"]
""")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("naps").mkdir()
    Path("naps/study.toml").write_text(STUDY, encoding="utf-8")
    assert CliRunner().invoke(app, ["run", "naps", "--quiet"]).exit_code == 0
    return tmp_path


def history(*words: str) -> Result:
    environment = {"COLUMNS": "80", "NO_COLOR": "1"}
    return CliRunner().invoke(app, ["history", *words, "--quiet"], env=environment)


def series(answer: Result) -> dict[str, Any]:
    document = json.loads(answer.stdout)
    assert document["kind"] == "history"
    (found,) = document["content"]["series"]
    only: dict[str, Any] = found
    return only


def sessions(*, count: int, change: int) -> None:
    """Add sessions to the journal: from number `change` on everything takes twice as long."""
    path = Path("naps/results/journal.sqlite")
    with Journal.open(path, create=True) as journal:
        rows = journal.rows("nap", next(journal.heads("nap")).point_key)
        facts = {name: value for name, value in journal.environments()[0].items() if name != "id"}
        for number in range(count):
            journal.add_environment({**facts, "fresh": ["nap"]})
            commit = {"repository": {"commit": f"{number:040x}"}}
            environment = journal.add_environment({**facts, **commit})
            for row in rows:
                assert row.run is not None
                wall_s = (1.0 + 0.01 * (number % 5)) * (2.0 if number >= change else 1.0)
                values = {**row.run.values, "wall_s": wall_s}
                journal.append(
                    replace(
                        row,
                        run=replace(row.run, values=values),
                        environment=environment,
                        started_at=f"2027-01-{number + 1:02}T00:00:00Z",
                    )
                )


def files(name: str, *, count: int, change: int) -> None:
    """Write one result for each day; from number `change` on everything takes twice as long."""
    content = json.loads(Path("naps/results/results.json").read_bytes())
    Path(name).mkdir()
    for number in range(count):
        estimate = content["experiments"][0]["points"][0]["estimates"]["wall_s"]
        estimate["value"] = (1.0 + 0.01 * (number % 5)) * (2.0 if number >= change else 1.0)
        content["experiments"][0]["measured"]["newest"] = f"2027-01-{number + 1:02}T00:00:00Z"
        Path(name, f"{count - number}.json").write_text(json.dumps(content), encoding="utf-8")


def test_sessions_of_a_journal_are_a_series_with_its_change_and_commit() -> None:
    sessions(count=20, change=12)
    answer = history("naps", "--json")
    found = series(answer)
    assert len(found["results"]) == 21
    (change,) = [one for one in found["changes"] if one["place"] > 5]
    assert change["place"] == 13
    assert found["results"][13]["commit"] == f"{12:040x}"
    assert change["low"] <= 2.0 <= change["high"]


def test_a_folder_of_results_is_ordered_by_date_and_drawn_on_a_page(folder: Path) -> None:
    files("kept", count=18, change=9)
    answer = history("kept", "--page", "page.html")
    assert answer.exit_code == 0
    said = " ".join(answer.stdout.split())
    assert "since 2027-01-10T00:00, commit" in said or "since 2027-01-10T00:00, result 10" in said
    assert "(worse)" in said
    assert max(map(len, answer.stdout.splitlines())) <= 80
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Naps &lt;i&gt;" in page
    assert page.count(">step at 10</text>") == 2  # wide, and for phones


def test_last_results_that_are_too_few_for_a_change_are_not_denied(folder: Path) -> None:
    files("kept", count=18, change=15)
    answer = history("kept", "--page", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    for said in (" ".join(answer.stdout.split()), page):
        assert "results 16 to 18 of 18 lie outside the rest (2.02 s, usually 1.02 s)" in said
        assert "A change within the last 3 results could not have been seen" in said
        assert "No step" not in said
        assert "No change" not in said
    found = series(history("kept", "--json"))
    assert (found["changes"], found["results_after"]) == ([], 4)
    assert [(one["first"], one["count"]) for one in found["outside"]] == [(15, 3)]


def test_few_results_have_no_change_and_say_how_many_are_needed() -> None:
    answer = history("naps")
    assert answer.exit_code == 0
    assert "1 result; a change can be found from 10 results on" in " ".join(answer.stdout.split())


def test_results_of_another_machine_are_left_out_and_counted() -> None:
    files("kept", count=12, change=12)
    path = Path("kept/5.json")
    content = json.loads(path.read_bytes())
    content["environments"][-1]["cpu"]["model"] = "another"
    path.write_text(json.dumps(content), encoding="utf-8")
    answer = history("kept")
    assert "1 result left out: of another machine." in " ".join(answer.stdout.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["empty"], "no results in empty"),
        (["naps", "naps"], "one study at a time"),
        (["naps", "--metric", "speed"], "no results of these metrics"),
        (["missing.json"], "cannot be read"),
        (["mixed"], "several studies"),
    ],
)
def test_what_has_no_history_says_why_with_a_hint(words: list[str], message: str) -> None:
    Path("empty").mkdir()
    Path("mixed").mkdir()
    shutil.copy("naps/results/results.json", "mixed/1.json")
    text = Path("mixed/1.json").read_text(encoding="utf-8")
    Path("mixed/2.json").write_text(text.replace('"naps"', '"other"'), encoding="utf-8")
    answer = history(*words)
    assert answer.exit_code != 0
    assert message in " ".join(answer.stderr.split())
    assert "hint:" in answer.stderr


def test_sessions_of_the_same_code_are_the_noise_of_saved_results() -> None:
    shutil.copy("naps/results/results.json", "old.json")
    noise, cautions = compared("old.json", "old.json")
    assert (noise["sessions"], noise["between"]) == (1, None)
    assert any("How far the machine drifts is unknown" in one for one in cautions)
    sessions(count=3, change=2)
    noise, cautions = compared("old.json", "naps")
    assert noise["sessions"] == 4
    assert noise["between"] > 1.0, "the last session takes twice as long"
    assert not any("unknown" in one for one in cautions)


def compared(*words: str) -> tuple[dict[str, Any], list[str]]:
    answer = CliRunner().invoke(app, ["compare", *words, "--json"])
    content = json.loads(answer.stdout)["content"]
    (noise,) = content["noise"]
    return noise, content["cautions"]
