"""`headroom size` from the command line: answers, exit codes, and messages with a hint."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headroom.cli.app import app
from tests.support.study_text import Head

QUICK = ("--completions", "2000", "--jobs", "1", "--quiet")
STUDY = Head("shop", "A shop", "load").then("""\
system = { name = "model", model = "interactive", completions = 2000 }
fixed = { service_s = 0.05 }
factors = { users = [10, 20] }

[[experiment]]
name = "clock"
system = { name = "command", argv = ["true"] }
""")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def size(*words: str) -> Result:
    return CliRunner().invoke(app, ["size", *words], env={"COLUMNS": "100", "NO_COLOR": "1"})


def document(answer: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer.stdout)
    assert found["kind"] == "sizing-result"
    content: dict[str, Any] = found["content"]
    return content


def test_the_answer_has_its_trail_and_a_page(folder: Path) -> None:
    """Oracle: 1 - 0.5 utilization per server at servers >= 2 keeps R below 1.2 service times."""
    answer = size(
        "central_server", "--target", "throughput>=15/s", "--over", "disks=1..6", *QUICK, "--json"
    )
    assert answer.exit_code == 0, answer.stderr
    content = document(answer)
    assert content["best"]["levels"] == {"disks": 2}
    assert {step["verdict"] for step in content["trail"]} == {"meets", "fails"}
    assert all(step["seeds"] for step in content["trail"] if step["how"] == "simulation")
    page = (folder / "results/size/report.html").read_text("utf-8")
    assert "<svg" in page
    assert "<script" not in page
    assert "disks = 2 is the smallest" in page


@pytest.mark.deep
def test_the_command_in_the_answer_repeats_it() -> None:
    words = ["mmc", "--target", "response_s_mean<=12ms", "--over", "servers=1..8"]
    words += ["--set", "utilization=0.7", "--completions", "2000", "--confidence", "0.9"]
    answer = document(size(*words, "--seed", "5", "--quiet", "--json"))
    command = shlex.split(answer["command"])
    assert command[:2] == ["headroom", "size"]
    again = document(size(*command[2:], "--quiet", "--json"))
    assert again == answer


def test_nothing_found_is_exit_code_3_and_names_what_comes_nearest() -> None:
    answer = size("central_server", "-t", "throughput>=500/s", "--over", "disks=1..3", *QUICK)
    assert answer.exit_code == 3
    assert "No configuration meets" in answer.stdout
    assert "Nearest comes disks = 3" in answer.stdout


@pytest.mark.parametrize(
    ("words", "why", "cure"),
    [
        (("mmx",), "no model 'mmx'", "mmc"),
        (("missing.py",), "not found", "write it"),
        (("mmc", "--set", "utilisation=0.5"), "no parameter", "utilization"),
        (("mmc", "--set", "utilization=2"), "above its highest value", "0.999 or less"),
        (("mmc", "--set", "servers=2"), "set and varied", "remove it"),
        (("mmc", "--cost", "disks=2"), "names no factor", "servers"),
        (("mmc", "-t", "throughput>=2/s"), "two targets for throughput", "stricter"),
        (("mmc", "-t", "thruput>=2/s"), "no metric 'thruput'", "throughput"),
        (("mmc", "--over", "disks=1..2"), "not a parameter of the model", "station.NAME.servers"),
        (("mmc", "--experiment", "load"), "needs a study", "leave it out"),
    ],
)
def test_a_wrong_question_is_refused_with_a_cure(
    words: tuple[str, ...], why: str, cure: str
) -> None:
    answer = size(*words, "--target", "throughput>=1/s", "--over", "servers=1..4", *QUICK)
    assert answer.exit_code == 2
    told = " ".join(answer.stderr.split())
    assert why in told
    assert cure in told
    assert answer.stdout == ""


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "several experiments"),
        (("--experiment", "lod"), "no experiment 'lod'"),
        (("--experiment", "clock"), "only a simulation can be sized"),
    ],
)
def test_the_experiment_of_a_study_is_named(folder: Path, words: tuple[str, ...], why: str) -> None:
    (folder / "study.toml").write_text(STUDY)
    target = ("--target", "throughput>=1/s", "--over", "users=1..4")
    answer = size(str(folder), *words, *target, *QUICK)
    assert answer.exit_code == 2
    assert why in " ".join(answer.stderr.split())


def test_a_study_is_sized_with_what_it_fixes(folder: Path) -> None:
    """Oracle: 20 users, 50 ms: one server gives at most 20 /s, three or more all that is asked."""
    (folder / "study.toml").write_text(STUDY)
    answer = size(
        str(folder), "--experiment", "load", "--set", "users=40", "--target", "throughput>=30/s",
        "--over", "station.server.servers=1..6", *QUICK, "--json",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.stderr
    content = document(answer)
    assert content["fixed"] == {
        "users": 40, "think_s": 1.0, "service_s": 0.05, "servers": 1, "service_c2": 1.0,
        "delay_s": 0.0,
    }  # fmt: skip
    assert content["best"]["levels"] == {"station.server.servers": 2}
    assert (folder / "results/size/journal.sqlite").exists()
