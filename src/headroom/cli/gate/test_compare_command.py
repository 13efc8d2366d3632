"""`headroom compare` as its users call it: commands, revisions, results, gates, refusals."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import headroom as hr
from headroom.cli.app import app
from headroom.cli.gate.compare_command import exit_code_of
from headroom.errors import ExitCode
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.runner import run_plan
from headroom.gate import threshold
from headroom.gate.result import ComparisonResult, Gate, GateVerdict
from tests.support.study_text import Head

STUDY = Head("cost", "Cost", "count", seed=3).then("""\
factors = { n = [2, 3] }
replications = { count = 7 }
responses = ["steps"]

[experiment.system]
name = "command"
argv = ["sh", "{study}/count.sh", "{n}"]

[[experiment.system.metric]]
name = "steps"
unit = "1"
better = "low"
regex = '(\\d+)'
""")
SLOW, FAST = "echo $(($1 * 120 + $$ % 2))", "echo $(($1 * 100 + $$ % 2))"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compare(*words: str, columns: int = 100) -> Result:
    environment = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    return CliRunner().invoke(app, ["compare", *words, "--quiet"], env=environment)


def document(answer: Result) -> dict[str, Any]:
    found = json.loads(answer.stdout)
    assert found["kind"] == "comparison"
    content: dict[str, Any] = found["content"]
    return content


def git(*words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    argv = ["git", *who, *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def commit(text: str, *, count: int = 7) -> None:
    Path("cost").mkdir(exist_ok=True)
    study = STUDY.replace("count = 7", f"count = {count}")
    Path("cost/study.toml").write_text(study, encoding="utf-8")
    Path("cost/count.sh").write_text(text + "\n", encoding="utf-8")
    if not Path(".git").exists():
        git("init", "--quiet")
        Path(".gitignore").write_text("results/\n", encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", "next")


def run_study(copy_to: str) -> None:
    assert CliRunner().invoke(app, ["run", "cost", "--fresh", "--quiet"]).exit_code == 0
    shutil.copy("cost/results/results.json", copy_to)


@pytest.mark.deep
def test_a_slower_command_is_found_and_stops_a_gate_after_a_second_look() -> None:
    words = ("true", "sleep 0.05", "--metric", "wall_s", "--runs", "8")
    answer = compare(*words, "--fail-on-regression", "3%", "--json")
    found = document(answer)
    assert answer.exit_code == 3
    assert [row["verdict"] for row in found["rows"]] == ["worse"]
    (suspicion,) = found["gate"]["suspicions"]
    assert (suspicion["verdict"], suspicion["again"]["pairs"]) == ("regression", 24)
    assert found["noise"][0]["scatter"] > 0.0
    assert found["arms"][0]["done"] == 8
    assert found["seed"] is not None


def test_a_faster_command_passes_the_gate_and_the_answer_says_so_in_80_columns() -> None:
    words = ("sleep 0.3", "true", "--metric", "wall_s", "--runs", "8", "--name", "old {x}")
    answer = compare(*words, "--fail-on-regression", "3%", columns=80)
    assert answer.exit_code == 0
    assert "No regression of 3% or more was found." in answer.stdout
    assert '"true" vs "old {x}"' in " ".join(answer.stdout.split())
    assert "faster" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80


def test_what_a_gate_will_see_is_said_with_the_names_of_the_tables() -> None:
    words = ("true", "true x", "--metric", "peak_memory_bytes", "--runs", "9")
    answer = CliRunner().invoke(app, ["compare", *words, "--fail-on-regression", "90%"])
    assert "the gate will see slowdowns from: peak memory " in answer.stderr


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("passed", 0), ("regression", 3), ("blind", 4), ("missing", 1), ("unconfirmed", 1)],
)
def test_each_outcome_of_a_gate_has_its_exit_code(verdict: GateVerdict, code: int) -> None:
    gate = Gate(
        threshold=0.03, level=0.01, first_level=0.05, again_level=0.02, rows=1, verdict=verdict
    )
    result = ComparisonResult(
        kind="commands", title="", arms=[], rows=[], same_within=0.02, stopped="planned", gate=gate
    )
    assert exit_code_of(result) == code


def test_three_commands_are_compared_with_the_first_under_names_of_their_own() -> None:
    found = document(compare("sleep 0.06", "true", "true", "--runs", "8", "--json"))
    assert [arm["label"] for arm in found["arms"]] == ["sleep 0.06", "true (2)", "true (3)"]
    assert {(row["arm"], row["verdict"]) for row in found["rows"] if row["metric"] == "wall_s"} == {
        ("B", "better"),
        ("C", "better"),
    }


def test_a_folder_keeps_the_page_and_the_document_of_the_last_comparison(folder: Path) -> None:
    for runs in ("3", "4"):
        compare("true", "true", "--runs", runs, "--keep", "kept")
    page = (folder / "kept" / "comparison.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert json.loads((folder / "kept" / "comparison.json").read_bytes())["blocks"] == 4


def test_prepare_runs_before_each_run_and_a_failing_command_is_an_error(folder: Path) -> None:
    words = ("cat made", "cat made", "--runs", "2", "--prepare", "touch made")
    assert compare(*words).exit_code == 0
    assert (folder / "made").exists()
    failed = compare("true", "false", "--runs", "2")
    assert failed.exit_code == 1
    assert "exit code 1" in failed.stderr
    assert compare("true", "false", "--runs", "2", "--ignore-failure").exit_code == 0


def test_too_few_blocks_for_a_gate_are_missing_results_not_a_pass() -> None:
    few = compare("true", "true", "--runs", "5", "--fail-on-regression", "3%")
    assert few.exit_code == 2
    assert "--runs 6 or more" in few.stderr
    late = compare("sleep 1", "true", "--max-time", "0", "--fail-on-regression", "3%")
    assert late.exit_code == 1
    assert "cannot pass" in late.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["true"], "needs two"),
        (["true", "cost"], "`true` is a command, but `cost` is a result"),
        (["nope", "true"], "no such program: `nope`"),
        (["true | cat", "true"], "needs a shell"),
        (["sort '", "true"], "close the quotes"),
        (["true", "true", "--until", "x"], "not a share"),
        (["true", "true", "--until", "1%", "--fail-on-regression", "1%"], "exclude each other"),
        (["true", "true", "--metric", "speed"], "no such metric: `speed`"),
        (["true", "true", *["--prepare", "true"] * 3], "3 --prepare for 2"),
        (["--rev", "HEAD", "true"], "two commits"),
        (["true", "true", "--build", "make"], "there is no --rev"),
        (["--rev", "HEAD", "--rev", "nope", "true"], "`nope` is not a revision"),
        (["--rev", "HEAD", "--rev", "HEAD", "sub"], "no sub/study.toml"),
        (["cost", "cost"], "cost has no results"),
        (["sort", "sort"], "a result here and a program"),
        (["--rev", "HEAD", "--rev", "HEAD", "--build", "false", "true"], "--build false` failed"),
    ],
)
def test_what_cannot_be_compared_says_why_with_a_hint(words: list[str], message: str) -> None:
    commit(FAST)
    for copy in ("sort", "sub"):
        shutil.copytree("cost", copy)
    answer = compare(*words)
    assert answer.exit_code in {2, 5}
    assert message in " ".join(answer.stderr.split())
    assert "hint:" in answer.stderr


@pytest.mark.deep
def test_revisions_of_a_study_are_measured_side_by_side_and_leave_nothing() -> None:
    commit(FAST)
    commit(SLOW)
    answer = compare("--rev", "HEAD~1", "--rev", "HEAD", "cost", "--runs", "8", "--json")
    rows = document(answer)["rows"]
    assert [row["levels"] for row in rows] == [{"n": 2}, {"n": 3}]
    assert all(1.18 < row["ratio"] < 1.22 and row["verdict"] == "worse" for row in rows)
    gate = compare(
        "--rev", "HEAD~1", "--rev", "HEAD", "cost", "--runs", "6", "--fail-on-regression", "3%"
    )
    same = compare("--rev", "HEAD", "--rev", "HEAD", "cost", "--runs", "8", "--json")
    assert gate.exit_code == 3
    assert {row["verdict"] for row in document(same)["rows"]} <= {"same", "undecided"}
    assert len(git("worktree", "list").splitlines()) == 1


def test_a_command_runs_in_the_checkout_that_was_built() -> None:
    commit(FAST)
    commit(SLOW)
    words = ("--rev", "HEAD~1", "--rev", "HEAD", "--build", "cp cost/count.sh built", "--runs", "2")
    answer = compare(*words, "sh built 2", "--json")
    assert [arm["label"] for arm in document(answer)["arms"]] == ["HEAD~1", "HEAD"]


@pytest.mark.deep
def test_results_are_compared_and_suspicions_measured_again_at_both_commits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit(FAST)
    run_study("old.json")
    commit(SLOW)
    run_study("new.json")
    answer = compare("old.json", "cost", "--fail-on-regression", "3%", "--runs", "6", "--json")
    found = document(answer)
    assert answer.exit_code == 3
    assert [one["again"]["pairs"] for one in found["gate"]["suspicions"]] == [18, 18]
    assert "commit" in [one["what"] for one in found["differences"]]
    monkeypatch.setattr(threshold, "BLOCKS", 6)
    before, after = hr.load("old.json"), hr.load("cost")
    gate = hr.compare(before, after, fail_on_regression=0.03, progress=False).gate
    assert gate is not None
    assert [one.again and one.again.pairs for one in gate.suspicions] == [18, 18]
    assert gate.verdict == "regression"
    alone = hr.compare(before, after, fail_on_regression=0.03, measure_again=False).gate
    assert alone is not None
    assert "did not want it" in alone.not_repeated
    lost = compare("old.json", "new.json", "--fail-on-regression", "3%")
    assert lost.exit_code == 3
    assert "Not measured again: the results are not in the folder" in " ".join(lost.stdout.split())


@pytest.mark.deep
def test_ctrl_c_while_saved_results_are_measured_again_exits_with_130(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit(FAST)
    run_study("old.json")
    commit(SLOW)
    run_study("new.json")

    def pressed(*words: Any, interrupt: Interrupt, **more: Any) -> Any:
        interrupt.request()
        return run_plan(*words, interrupt=interrupt, **more)

    monkeypatch.setattr("headroom.gate.measuring.run_plan", pressed)
    words = ("old.json", "cost", "--fail-on-regression", "3%", "--runs", "6")
    answer = compare(*words)
    assert answer.exit_code == ExitCode.INTERRUPTED
    assert "interrupted: these are the results so far" in " ".join(answer.stdout.split())
    assert document(compare(*words, "--json"))["gate"] is None


def test_results_of_one_run_each_are_undecided_even_if_they_are_equal() -> None:
    commit(FAST, count=1)
    run_study("old.json")
    run_study("new.json")
    for words in (("old.json", "new.json"), ("old.json", "old.json")):
        answer = compare(*words)
        assert answer.exit_code == ExitCode.DONE
        assert "Undecided: one run each" in answer.stdout
        assert "the same within" not in answer.stdout
    gate = compare("old.json", "new.json", "--fail-on-regression", "3%")
    assert gate.exit_code == ExitCode.POINTS_FAILED


def test_results_that_are_not_comparable_are_refused_unless_forced() -> None:
    """What forbids a comparison is tested beside the gate; here is what the command makes of it."""
    commit(FAST)
    run_study("old.json")
    text = Path("old.json").read_text(encoding="utf-8")
    Path("named.json").write_text(text.replace('"name":"cost"', '"name":"other"'), encoding="utf-8")
    refused = compare("old.json", "named.json")
    assert refused.exit_code == 2
    assert "not comparable: study differs" in refused.stderr
    forced = document(compare("old.json", "named.json", "--force", "--json"))
    assert forced["forced"]


def test_a_point_that_the_new_result_lacks_is_an_error_under_a_gate() -> None:
    commit(FAST)
    run_study("old.json")
    content = json.loads(Path("old.json").read_bytes())
    del content["experiments"][0]["points"][0]
    Path("fewer.json").write_text(json.dumps(content), encoding="utf-8")
    assert compare("old.json", "fewer.json").exit_code == 0
    answer = compare("old.json", "fewer.json", "--fail-on-regression", "3%")
    assert answer.exit_code == 1
    assert "No results: count n=2" in " ".join(answer.stdout.split())
    assert compare("fewer.json", "old.json", "--fail-on-regression", "3%").exit_code == 0
