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


@pytest.mark.parametrize("last", [2, 3])
def test_a_step_is_told_three_results_after_it_and_two_are_not_denied(
    folder: Path, last: int
) -> None:
    files("kept", count=18, change=18 - last)
    answer = history("kept", "--page", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    for said in (" ".join(answer.stdout.split()), page):
        assert ("since 2027-01-16" in said) == (last == 3)
        assert ("results 17 to 18 of 18 lie outside the rest" in said) == (last == 2)
        assert "No step" not in said
        assert ("No change" in said) == (last == 3)  # None after the step, which is too near.
    found = series(history("kept", "--json"))
    assert [one["place"] for one in found["changes"]] == [15] * (last == 3)
    assert found["results_after"] == (3 if last == 2 else None)


def test_the_kernel_that_changed_exactly_at_a_step_is_named() -> None:
    files("kept", count=18, change=9)
    for number in range(9, 18):
        path = Path(f"kept/{18 - number}.json")
        content = json.loads(path.read_bytes())
        content["environments"][-1]["host"]["kernel"] = "9.9"
        path.write_text(json.dumps(content), encoding="utf-8")
    said = " ".join(history("kept").stdout.split())
    assert "result 10 of 18 (worse); exactly there: kernel" in said
    assert "→ 9.9." in said or "-> 9.9." in said


def test_a_pulse_and_a_wider_scatter_are_told_as_such(folder: Path) -> None:
    files("kept", count=28, change=28)
    files("wide", count=28, change=28)
    for number in range(28):
        value = {"kept": 1.0 + 0.01 * (number % 5), "wide": 1.0 + 0.001 * (number % 5 - 2)}
        value["kept"] *= 2.0 if 12 <= number < 18 else 1.0
        value["wide"] += (-1) ** number * 0.1 * (number >= 14)
        for name, new in value.items():
            path = Path(f"{name}/{28 - number}.json")
            content = json.loads(path.read_bytes())
            content["experiments"][0]["points"][0]["estimates"]["wall_s"]["value"] = new
            path.write_text(json.dumps(content), encoding="utf-8")
    said = " ".join(history("kept", "--page", "page.html").stdout.split())
    assert "from 2027-01-13T00:00 to 2027-01-18T00:00, a pulse of 6 results, 13 to 18 of 28" in said
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "a pulse of 6 results" in page
    assert (page.count(">pulse from 13</text>"), page.count(">level again at 19</text>")) == (2, 2)
    said = " ".join(history("wide").stdout.split())
    assert "around its level since 2027-01-15T00:00, result 15 of 28." in said


def test_few_results_have_no_change_and_say_how_many_are_needed() -> None:
    answer = history("naps")
    assert answer.exit_code == 0
    assert "1 result; a change can be found from 11 results on" in " ".join(answer.stdout.split())


def test_results_of_another_machine_are_a_line_of_their_own() -> None:
    files("kept", count=12, change=12)
    path = Path("kept/5.json")
    content = json.loads(path.read_bytes())
    content["environments"][-1]["cpu"]["model"] = "another"
    path.write_text(json.dumps(content), encoding="utf-8")
    said = " ".join(history("kept").stdout.split())
    assert "Results of machine 2 are lines of their own: processor another, here" in said
    found = json.loads(history("kept", "--json").stdout)["content"]["series"]
    assert sorted((one["machine"], len(one["results"])) for one in found) == [
        ("", 11),
        ("machine 2", 1),
    ]


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
