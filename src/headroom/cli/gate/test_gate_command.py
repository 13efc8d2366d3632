"""`headroom gate`: its base, its comment and its text; `tests/test_gate_job.py` runs whole jobs."""

import io
import json
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.cli.gate import comment
from headroom.cli.gate.job import base_of
from headroom.errors import StudyError
from headroom.experiment.machine.repository import git
from headroom.gate.result import Arm, ComparisonResult, Gate, Noise, Row, Sight
from headroom.report.compared.markdown import gate_markdown

WHO = ("-c", "user.name=n", "-c", "user.email=e@example.org")


@pytest.fixture
def commits(tmp_path: Path) -> list[str]:
    """Make a main branch of three commits, and a change that left it after the second."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    found = [_commit(tmp_path, "first"), _commit(tmp_path, "second")]
    git(tmp_path, "checkout", "--quiet", "-b", "change")
    head = _commit(tmp_path, "change")
    git(tmp_path, "checkout", "--quiet", "main")
    return [*found, _commit(tmp_path, "third"), head]


def _commit(folder: Path, message: str) -> str:
    git(folder, *WHO, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD") or ""


def event(folder: Path, content: object) -> dict[str, str]:
    (folder / "event.json").write_text(json.dumps(content), encoding="utf-8")
    return {"GITHUB_EVENT_PATH": str(folder / "event.json")}


def test_the_base_is_where_the_change_left_its_target(tmp_path: Path, commits: list[str]) -> None:
    before, left, target, head = commits
    pull = event(tmp_path, {"pull_request": {"base": {"sha": target}}})
    assert base_of(tmp_path, head, pull) == left
    assert base_of(tmp_path, head, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": left}) == left
    git(tmp_path, "update-ref", "refs/remotes/origin/main", target)
    assert base_of(tmp_path, head, {"GITHUB_BASE_REF": "main"}) == left
    push = event(tmp_path, {"before": before})
    assert base_of(tmp_path, target, push) == before


def test_without_a_base_the_message_says_what_to_do(tmp_path: Path, commits: list[str]) -> None:
    with pytest.raises(StudyError, match="nothing here names the base") as said:
        base_of(tmp_path, commits[-1], event(tmp_path, {"before": "0" * 40}))
    assert "--base" in said.value.cure
    with pytest.raises(StudyError, match="lacks the base of this change, 1234567") as said:
        base_of(tmp_path, commits[-1], {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "1234567"})
    assert "fetch-depth" in said.value.cure


def test_a_comment_is_found_on_a_later_page_and_cut_before_it_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, Any]] = []
    old = {"id": 500, "body": comment.marker_of("Gate") + "\nold"}
    pages = [[{"id": number, "body": None} for number in range(100)], [old]]

    def urlopen(request: urllib.request.Request, timeout: float) -> io.BytesIO:
        assert timeout > 0.0
        data = json.loads(request.data) if isinstance(request.data, bytes) else None
        asked.append((request.get_method(), request.full_url, data))
        return io.BytesIO(json.dumps(pages.pop(0) if pages else {}).encode())

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    said = comment.posted("line\n" * 20_000, "Gate", "token", pull_request(tmp_path))
    assert said == "comment updated"
    method, address, content = asked[-1]
    assert (method, address) == (
        "PATCH", "https://api.github.com/repos/a/b/issues/comments/500",
    )  # fmt: skip
    assert len(content["body"]) < 65_536
    assert content["body"].endswith("The rest is in the summary of the job.\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            urllib.error.HTTPError("", 502, "", Message(), None),
            "no comment: GitHub answered HTTP 502",
        ),
        (urllib.error.URLError("no route"), "no comment: <urlopen error no route>"),
    ],
)
def test_a_github_that_does_not_answer_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def urlopen(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    assert comment.posted("text", "Gate", "token", pull_request(tmp_path)) == said


def test_a_job_of_no_pull_request_has_no_comment(tmp_path: Path) -> None:
    assert "belongs to no pull request" in comment.posted("", "Gate", "t", event(tmp_path, {}))
    odd = {**pull_request(tmp_path), "GITHUB_API_URL": "file:///etc"}
    assert "no address of the web" in comment.posted("", "Gate", "t", odd)


def pull_request(folder: Path) -> dict[str, str]:
    found = event(folder, {"pull_request": {"number": 7}})
    return {**found, "GITHUB_REPOSITORY": "a/b"}


def test_many_rows_are_folded_the_slower_ones_first_and_names_are_no_markup() -> None:
    rows = [
        Row(arm="B", base="A", experiment=f"row {number}|`<b>`@all", metric="wall_s", unit="s",
            better="low", value=1.0 + number / 100.0, base_value=1.0, ratio=1.0 + number / 100.0,
            low=0.99, high=1.5, pairs=8, count=8)
        for number in range(30)
    ]  # fmt: skip
    blind = Sight(
        arm="B", experiment=rows[0].experiment, metric="wall_s", detectable=0.2, is_blind=True
    )
    gate = Gate(
        threshold=0.03, level=0.01, first_level=0.05, again_level=0.001, rows=30, verdict="blind",
        sights=[blind], blind=[blind],
    )  # fmt: skip
    noise = Noise(
        experiment=rows[0].experiment, metric="wall_s", ratio=1.0, low=0.9, high=1.1, scatter=0.1,
        detectable=0.1,
    )  # fmt: skip
    arms = [Arm(name="A", label="base"), Arm(name="B", label="head")]
    result = ComparisonResult(
        kind="revisions", title="", arms=arms, rows=rows, same_within=0.02, stopped="planned",
        gate=gate, noise=[noise],
    )  # fmt: skip
    text = gate_markdown(result, title="Suite", notes=["Both."])
    lines = [line for line in text.splitlines() if line.startswith("| `row")]
    assert len(lines) == 30
    assert lines[0].startswith("| `row 29¦<b>@all` wall time | 1.00 s | 1.29 s | 29% higher")
    assert "<summary>10 more rows</summary>" in text
    assert "**Not judged**: `row 0¦<b>@all wall time`: their noise hides 3%." in text
    outside = text.replace("¦<b>@all", "")
    assert "@" not in outside
    assert "<b>" not in outside


def test_a_gate_without_a_command_or_with_an_unknown_tool_is_refused(
    tmp_path: Path, commits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["gate"]).exit_code != 0
    answer = CliRunner().invoke(app, ["gate", "--base", commits[0], "--suite", "x", "true"])
    assert "no such tool: `x`" in answer.stderr
