"""The gate in a CI job, by the action's own script: answers, summary, one comment, exit codes.

The repository is made here, with a program whose work is known, and GitHub is a server of this
test. Programs count their work as a number, so that the answers are certain; `benches.gates`
measures how often gates of processor time are right.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "gate-job"
HEADROOM = Path(sys.executable).with_name("headroom")
REPOSITORY, NUMBER = "someone/thing", 7
GIT = ("git", "-c", "user.name=n", "-c", "user.email=e@example.org")


@dataclass(slots=True)
class GitHub:
    """The part of GitHub that a comment needs: comments by number, and what may be written."""

    url: str = ""
    may_write: bool = True
    comments: dict[int, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, body: str) -> tuple[int, Any]:
        """Do what a request asks; return the code and the document of the answer."""
        self.calls.append(method)
        place = path.partition("?")[0].removeprefix(f"/repos/{REPOSITORY}/issues/")
        if method == "GET":
            page = int(path.rpartition("page=")[2])
            listed = [{"id": number, "body": text} for number, text in self.comments.items()]
            return 200, listed[100 * (page - 1) : 100 * page]
        if not self.may_write:
            return 403, {"message": "Resource not accessible by integration"}
        assert place == f"{NUMBER}/comments" or place.startswith("comments/")
        number = len(self.comments) + 1 if method == "POST" else int(place.rpartition("/")[2])
        self.comments[number] = body
        return 200, {"id": number}


@pytest.fixture
def github() -> Iterator[GitHub]:
    known = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            assert self.headers["Authorization"] == "Bearer secret"
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(content)["body"] if content else ""
            code, found = known.answer(self.command, self.path, body)
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        do_GET = do_POST = do_PATCH = _do  # noqa: N815 - as http.server names them

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield known
    server.shutdown()
    server.server_close()


def git(folder: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, program: str) -> str:
    folder.mkdir(exist_ok=True)
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
    (folder / "work.sh").write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    (folder / "work.sh").chmod(0o755)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "next")
    return git(folder, "rev-parse", "HEAD")


def counting(steps: int) -> str:
    """Return a program that counts its steps, which scatter by less than a tenth of a per cent."""
    return f"test -f built && echo $(({steps} + $$ % 50))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of a pull request: its exit code, and what it left."""

    code: int
    output: str
    summary: str
    answer: str


def job(folder: Path, base: str, more: dict[str, str], github: GitHub | None = None) -> Job:
    """Run the action's script as a job of GitHub does."""
    out = folder.parent
    (out / "event.json").write_text(
        json.dumps({"pull_request": {"number": NUMBER, "base": {"sha": base}}}), encoding="utf-8"
    )
    (out / "summary.md").write_text("", encoding="utf-8")
    (out / "output").write_text("", encoding="utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT")},
        "HEADROOM": str(HEADROOM),
        "GITHUB_EVENT_PATH": str(out / "event.json"),
        "GITHUB_STEP_SUMMARY": str(out / "summary.md"),
        "GITHUB_OUTPUT": str(out / "output"),
        "GITHUB_REPOSITORY": REPOSITORY,
        "GATE_BUILD": "touch built",
        "GATE_RUN": "./work.sh",
        "GATE_SUITE": "number",
        **({"GITHUB_API_URL": github.url, "GATE_COMMENT": "true"} if github else {}),
        **more,
    }
    done = subprocess.run(
        [SCRIPT], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return Job(
        code=done.returncode,
        output=done.stdout + done.stderr,
        summary=(out / "summary.md").read_text(encoding="utf-8"),
        answer=(out / "output").read_text(encoding="utf-8").strip(),
    )


def test_a_regression_fails_the_job_and_its_one_comment_is_updated_when_it_is_gone(
    tmp_path: Path, github: GitHub
) -> None:
    folder = tmp_path / "repository"
    base = commit(folder, counting(100_000))
    commit(folder, counting(110_000))
    github.comments[1] = "a comment of a person"
    first = job(folder, base, {"GITHUB_TOKEN": "secret"}, github)
    assert (first.code, first.answer) == (3, "answer=failed"), first.output
    assert first.summary.startswith("### Gate: Failed\n\n**1 regression")
    assert "`./work.sh` number | 100,0" in first.summary
    assert "Comment created." in first.summary
    assert "Gate: Failed" in github.comments[2]
    commit(folder, counting(100_000))
    second = job(folder, base, {"GITHUB_TOKEN": "secret"}, github)
    assert (second.code, second.answer) == (0, "answer=passed"), second.output
    assert "Gate: Passed" in github.comments[2]
    assert github.comments[1] == "a comment of a person"
    assert github.calls == ["GET", "POST", "GET", "PATCH"]
    assert git(folder, "worktree", "list").count("\n") == 0


def test_a_token_that_may_only_read_leaves_the_summary_and_the_exit_code(
    tmp_path: Path, github: GitHub
) -> None:
    folder = tmp_path / "repository"
    base = commit(folder, counting(100_000))
    commit(folder, counting(120_000))
    github.may_write = False
    found = job(folder, base, {"GITHUB_TOKEN": "secret"}, github)
    assert found.code == 3
    assert "may not write comments (HTTP 403)" in found.summary
    assert "### Gate: Failed" in found.summary
    without = job(folder, base, {}, github)
    assert without.code == 3
    assert "the job has no GITHUB\\_TOKEN" in without.summary


@pytest.mark.deep
def test_what_is_measured_does_not_see_the_token(tmp_path: Path, github: GitHub) -> None:
    folder = tmp_path / "repository"
    program = 'test -z "$GITHUB_TOKEN" && ' + counting(100_000)
    base = commit(folder, program)
    found = job(folder, base, {"GITHUB_TOKEN": "secret"}, github)
    assert found.code == 0, found.output


@pytest.mark.deep
@pytest.mark.parametrize(("policy", "code"), [("fail", 4), ("pass", 0)])
def test_a_share_that_noise_hides_is_blind_and_the_job_may_let_it_pass(
    tmp_path: Path, policy: str, code: int
) -> None:
    folder, state = tmp_path / "repository", tmp_path / "state"
    base = commit(folder, "echo 1000")
    commit(
        folder, f"mv {state} {state}.old 2>/dev/null && echo 1400 || {{ touch {state}; echo 700; }}"
    )
    found = job(folder, base, {"GATE_BLIND": policy, "GATE_OPTIONS": "--runs 12"})
    assert (found.code, found.answer) == (code, "answer=blind"), found.output
    assert "**Not judged**: `./work.sh number`: their noise hides 3%." in found.summary
    assert ("::warning::" in found.output) == (policy == "pass")


def test_a_base_that_does_not_build_gives_no_answer_and_names_the_cause(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    base = commit(folder, counting(100))
    found = job(folder, base, {"GATE_BUILD": "false"})
    assert (found.code, found.answer) == (5, "answer=none")
    assert "`--build false` failed at base" in found.output


@pytest.mark.deep
def test_a_shallow_clone_fetches_its_base(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    base = commit(origin, counting(100_000))
    commit(origin, counting(120_000))
    folder = tmp_path / "repository"
    git(tmp_path, "clone", "--quiet", "--depth=1", origin.as_uri(), str(folder))
    assert job(folder, base, {}).code == 3


@pytest.mark.deep
def test_several_lines_are_several_commands_and_quotes_stay(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    base = commit(folder, 'test "$2" = "it\'s two" && echo $(($1 + $$ % 50))')
    lines = './work.sh 100000 "it\'s two"\n\n./work.sh 200000 "it\'s two"\n'
    found = job(folder, base, {"GATE_RUN": lines})
    assert found.code == 0, found.output
    assert "`./work.sh 200000 it's two` number" in found.summary


def test_the_action_hands_each_input_to_the_script_and_uses_no_action_of_others() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    script = SCRIPT.read_text(encoding="utf-8")
    head, steps = action.split("\nruns:\n")
    inputs = re.findall(r"^  ([a-z-]+):$", head.split("\noutputs:")[0], flags=re.MULTILINE)
    assert "fail-on-regression" in inputs
    assert not [name for name in inputs if f"inputs.{name} }}}}" not in steps]
    assert not [name for name in re.findall(r"(GATE_\w+):", steps) if name not in script]
    assert steps.rstrip().endswith("/scripts/gate-job\"'")
    assert "uses:" not in steps
