"""`headroom observe` end to end: a server that runs, its own count of its processor time."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app

# Spins 4 ms for each line, counts in a file, and prints its own processor time when asked.
SERVER = """
import os, socket, sys, time
from resource import RUSAGE_SELF, getrusage
count, file = 0, os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.pwrite(file, b"%12d" % 0, 0)
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    connection, _ = server.accept()
    lines = connection.makefile("rb")
    for line in lines:
        if line == b"used\\n":
            used = getrusage(RUSAGE_SELF)
            connection.sendall(b"%d %r\\n" % (count, used.ru_utime + used.ru_stime))
            continue
        end_s = time.thread_time() + 0.004
        while time.thread_time() < end_s:
            pass
        count += 1
        os.pwrite(file, b"%12d" % count, 0)
        connection.sendall(line)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path / "count")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.kill()


def test_an_observed_server_costs_what_it_counts_itself_and_its_folder_is_a_study(
    server: tuple["subprocess.Popen[str]", int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: getrusage of the server over its requests. All of its time is in the windows."""
    process, port = server
    monkeypatch.chdir(tmp_path)
    stopped = threading.Event()
    link = socket.create_connection(("127.0.0.1", port))
    answers = link.makefile("rb")

    def asked(line: bytes) -> bytes:
        link.sendall(line)
        return answers.readline()

    def load() -> None:
        for number in range(10_000):
            if stopped.wait((0.1, 0.05, 0.025, 0.016)[number // 12 % 4]):
                return
            asked(b"x\n")

    before = [float(one) for one in asked(b"used\n").split()]
    client = threading.Thread(target=load)
    client.start()
    rate = f"requests=command:cat {tmp_path / 'count'}"
    words = ["observe", "--pid", str(process.pid), "--rate", rate, "--for", "6s", "--quiet"]
    found = CliRunner().invoke(app, [*words, "--to", "seen", "--json"])
    stopped.set()
    client.join()
    after = [float(one) for one in asked(b"used\n").split()]
    answers.close()
    link.close()
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)["content"]
    truth_s = (after[1] - before[1]) / (after[0] - before[0])
    windows = json.loads((tmp_path / "seen/recorded/observed.json").read_text())["runs"]
    busy = sum(one["values"]["busy_processors"] for one in windows)
    done = sum(one["values"]["throughput"] for one in windows)
    # Windows have nearly one length; a request may begin in one and end in the next.
    assert busy / done == pytest.approx(truth_s, rel=0.1)
    assert answer["costs"][0]["value_s"] == pytest.approx(truth_s, rel=0.3)
    assert answer["observed"]["own_cpu"] > 0.0
    shown = CliRunner().invoke(app, ["run", "seen", "--quiet"])
    assert "How much more can process" in shown.stdout, shown.output
    for words in (["show", "seen"], ["report", "seen"], ["compare", "seen", "seen"]):
        assert CliRunner().invoke(app, words).exit_code == 0


def test_ctrl_c_ends_an_observation_with_what_it_has(
    server: tuple["subprocess.Popen[str]", int], tmp_path: Path
) -> None:
    process, _ = server
    words = ["observe", "--pid", str(process.pid), "--for", "1h", "--window", "0.2s"]
    code = "from headroom.cli.app import run; run()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=tmp_path,
    ) as observing:  # fmt: skip
        threading.Timer(4.0, observing.send_signal, [2]).start()
        out, errors = observing.communicate(timeout=60)
    assert observing.returncode == 0, errors
    assert "does nearly nothing" in out
    folder = tmp_path / f"observed-process-{process.pid}"
    for place in ("study.toml", "recorded/observed.json", "README.md"):
        assert (folder / place).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rate", "redis://127.0.0.1:1"], "127.0.0.1:1 does not answer: Connection refused"),
        (["--to", "."], "exists and is not an empty folder"),
    ],
)
def test_a_mistake_is_said_before_anything_is_observed(words: list[str], message: str) -> None:
    found = CliRunner().invoke(app, ["observe", "--pid", "1", *words])
    assert found.exit_code != 0
    assert message in found.output
    assert "hint:" in found.output
