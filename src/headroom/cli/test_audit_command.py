"""`headroom audit` and `headroom import` as their users call them."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headroom.cli.app import app
from headroom.errors import ExitCode

DATA = Path(__file__).parents[3] / "tests" / "data" / "audit"
SOUND, SPOILT = DATA / "sound", DATA / "spoilt"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_sound_file_is_possible_in_one_line_and_exits_with_0() -> None:
    answer = call("audit", SOUND / "fio.json")
    assert answer.exit_code == ExitCode.DONE
    assert answer.stdout.startswith("Possible: no contradiction found in 10 checks\n")
    assert "Doubtful" not in answer.stdout


def test_a_contradiction_leads_and_exits_with_3() -> None:
    answer = call("audit", SPOILT / "swapped_column.csv")
    assert answer.exit_code == ExitCode.CLAIMS_DIFFER
    first, *rest = answer.stdout.splitlines()
    assert first.startswith("Not possible as stated: Alpha: 381.3/s x 162.3 ms = 61.9 in flight")
    assert any("law: N = X (R + Z)" in line for line in rest)
    assert any("hint: " in line for line in rest)


def test_a_doubt_is_no_contradiction() -> None:
    answer = call("audit", SPOILT / "one_ceiling.csv")
    assert answer.exit_code == ExitCode.DONE
    assert "but 7 doubts\n" in answer.stdout
    assert "3 systems reach 119.7/s to 119.9/s" in answer.stdout


def test_a_number_that_is_given_makes_a_law_checkable() -> None:
    silent = call("audit", SOUND / "vegeta.json", "--json")
    missing = {one["check"] for one in json.loads(silent.stdout)["content"]["cannot_be_checked"]}
    assert {"Little's law", "offered load"} <= missing
    answer = call("audit", SOUND / "vegeta.json", "--json", "--rate", "900", "--clients", "100")
    content = json.loads(answer.stdout)["content"]
    assert {one["check"] for one in content["findings"]} == {"offered load"}
    assert content["verdict"] == "misleading"


def test_an_unreadable_file_exits_with_2_and_prints_no_result() -> None:
    Path("notes.txt").write_text("faster than ever\n")
    answer = call("audit", SOUND / "fio.json", "notes.txt")
    assert answer.exit_code == ExitCode.USAGE
    assert not answer.stdout
    assert "notes.txt: no known format fits" in answer.stderr
    assert "hint: give the whole output of one of ab, " in answer.stderr


def test_documents_without_results_are_passed_over() -> None:
    Path("a.md").write_text("# Faster than ever\n")
    Path("b.md").write_text("| clients | req/s | avg (ms) |\n|--|--|--|\n| 8 | 1000 | 80 |\n")
    answer = call("audit", "a.md", "b.md")
    assert answer.exit_code == ExitCode.CLAIMS_DIFFER
    assert "note: no result in a.md" in answer.stderr
    alone = call("audit", "a.md")
    assert alone.exit_code == ExitCode.DONE
    assert alone.stdout.startswith("Cannot be judged: ")


def test_names_are_printed_as_they_are() -> None:
    text = 'system,clients,throughput,response_s_mean\n"[bold]é 名""x",2,100,0.5\n'
    Path("table.csv").write_text(text, encoding="utf-8")
    answer = call("audit", "table.csv")
    assert '[bold]é 名"x: 100/s x 500 ms' in answer.stdout


def test_runs_of_hyperfine_become_replications_also_in_unequal_numbers() -> None:
    rows = [
        {"command": name, "mean": 1.0, "times": [1.0 + 0.01 * k for k in range(count)]}
        for name, count in (("short", 12), ("long", 7))
    ]
    Path("h.json").write_text(json.dumps({"results": rows}))
    answer = call("import", "h.json", "--to", "mine")
    assert answer.exit_code == ExitCode.DONE, answer.stderr
    assert answer.stdout.startswith("Imported results: mine")
    assert "audit: Not possible as stated" in answer.stderr
    again = call("run", "mine")
    assert "19 measurements reused" in again.stdout
    status = json.loads(call("status", "mine", "--json").stdout)["content"]
    assert (status[0]["finished"], status[0]["planned_replications"]) == (2, 19)


def test_files_that_differ_in_a_factor_become_points_to_compare() -> None:
    for name, clients in (("a-clients=8.txt", 8), ("b-clients=16.txt", 16)):
        text = (SOUND / "wrk.txt").read_text(encoding="utf-8")
        Path(name).write_text(text.replace("8 connections", f"{clients} connections"))
    files = ("a-clients=8.txt", "b-clients=16.txt")
    answer = call("import", *files, "--factor", "server=nginx,caddy", "--to", "web")
    assert answer.exit_code == ExitCode.DONE, answer.stderr
    study = Path("web/study.toml").read_text(encoding="utf-8")
    assert (
        'zipped = [{ connections = [8, 16], clients = [8, 16], server = ["nginx", "caddy"] }]'
        in study
    )
    assert "nginx" in call("show", "web").stdout


def test_import_overwrites_nothing_and_names_what_is_wrong() -> None:
    shutil.copy(SOUND / "wrk.txt", "w.txt")
    assert call("import", "w.txt", "--to", "web").exit_code == ExitCode.DONE
    again = call("import", "w.txt", "--to", "web")
    assert again.exit_code == ExitCode.USAGE
    assert "web exists and is not an empty folder" in again.stderr
    for words, message in (
        (("--factor", "server"), "`--factor server` is not NAME=VALUE"),
        (("--factor", "server=a,b"), "has 2 levels for 1 files"),
        (("--rename", "conections=users"), "did you mean 'connections'"),
    ):
        answer = call("import", "w.txt", "--to", "other", *words)
        assert answer.exit_code == ExitCode.USAGE
        assert message in answer.stderr
        assert not Path("other").exists()


def test_parameters_version_and_settings_come_with_an_import_and_decide_what_is_comparable() -> (
    None
):
    text = (SOUND / "fio.json").read_text(encoding="utf-8")
    Path("again.json").write_text(text)
    Path("large.json").write_text(text.replace('"bs" : "4k"', '"bs" : "8k"'))
    for name, file in (("a", SOUND / "fio.json"), ("b", "again.json"), ("c", "large.json")):
        assert call("import", file, "--to", name).exit_code == ExitCode.DONE
    study = Path("a/study.toml").read_text(encoding="utf-8")
    assert 'bs = "4k"' in study
    assert "iodepth = 8" in study
    run = json.loads(Path("a/recorded/fio.json").read_text(encoding="utf-8"))["runs"][0]
    assert run["source"].startswith("fio.json (fio 3.33, sha256 ")
    assert (run["settings"]["runtime"], run["settings"]["job"]) == ("10", "randread")
    same = call("compare", "a", "b")
    assert same.exit_code == ExitCode.DONE, same.stderr
    assert "14.7 k/s" in same.stdout
    other = call("compare", "a", "c")
    assert other.exit_code == ExitCode.USAGE
    assert "parameter fio.bs differs: 4k against 8k" in other.stderr


def test_an_import_has_the_date_of_its_file_so_a_history_has_their_order() -> None:
    """Cause: all were dated now, so a history of imports had the order of typing."""
    document = json.loads((SOUND / "fio.json").read_text(encoding="utf-8"))
    for folder, moment in (("late/fio", 1790000000), ("early/fio", 1780000000)):
        document["timestamp"] = moment
        Path("run.json").write_text(json.dumps(document))
        assert call("import", "run.json", "--to", folder).exit_code == ExitCode.DONE
    paths = [f"{one}/fio/results/results.json" for one in ("late", "early")]
    answer = call("history", *paths, "--json")
    content = json.loads(answer.stdout)["content"]
    dates = [one["date"][:10] for one in content["series"][0]["results"]]
    assert dates == ["2026-05-28", "2026-09-21"]


def test_what_failed_is_not_imported_and_named() -> None:
    rows = [
        {"command": "fast", "mean": 0.1, "times": [0.1] * 3, "exit_codes": [101] * 3},
        {"command": "slow", "mean": 1.0, "times": [1.0, 1.0, 5.0], "exit_codes": [0, 0, 1]},
    ]
    Path("h.json").write_text(json.dumps({"results": rows}))
    answer = call("import", "h.json", "--to", "mine")
    assert "fast is left out: all 3 of its runs failed" in answer.stderr
    runs = json.loads(Path("mine/recorded/hyperfine.json").read_text(encoding="utf-8"))["runs"]
    assert [run["values"]["wall_s"] for run in runs] == [1.0, 1.0]
    Path("all.json").write_text(json.dumps({"results": rows[:1]}))
    refused = call("import", "all.json", "--to", "none")
    assert refused.exit_code == ExitCode.USAGE
    assert "all 3 of its runs failed" in refused.stderr
    assert not Path("none").exists()


def test_text_is_read_from_a_pipe_and_answered_in_markdown() -> None:
    text = "Mine:\n\n| clients | req/s | avg (ms) |\n|--|--|--|\n| 8 | 1000 | 80 |\n"
    answer = CliRunner().invoke(app, ["audit", "-", "--markdown"], input=text)
    assert answer.exit_code == ExitCode.CLAIMS_DIFFER
    first, *rest = answer.stdout.splitlines()
    assert first.startswith("**Not possible as stated: row 1: 1,000/s x 80 ms")
    assert any(line.startswith("| Breaks a law | row 1 |") for line in rest)
    assert "clients = clients, req/s = throughput, avg (ms) = mean in ms" in answer.stderr
    wrong = call("audit", SOUND / "fio.json", "--column", "a=b")
    assert wrong.exit_code == ExitCode.USAGE
    assert "is not NAME=MEANING" in wrong.stderr
