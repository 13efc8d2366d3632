"""The whole laboratory from the outside: the command line as a user types it.

Every test starts the real command in a separate process. Tests that only read results share one
run; a test that changes a study, or its results, has a copy of it.
"""

import csv
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import headroom as hr
from headroom.analysis.answer_evidence import Disturbed
from headroom.experiment.protocol.starters import find_starter, starter_names
from headroom.report.browser import find_chromium, open_browser
from headroom.report.check.agreement import disagreements
from headroom.report.check.rows import faults_of
from tests.support.first_screen import first_screen_problems
from tests.support.study_text import Head

pytestmark = pytest.mark.deep

FAST_STUDY = Head("tiny", "A queue", "queue", seed=3).then("""\
responses = ["throughput", "response_s_mean"]

[experiment.system]
name = "model"
file = "model.py"
completions = {completions}

[experiment.factors]
users = [1, 4, 16]

[experiment.replications]
count = {count}
""")

MODEL = """
from typing import Annotated

from headroom.report.check.agreement import disagreements
from headroom.report.check.rows import faults_of
from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


def build(
    *, users: Annotated[int, parameter(unit="1", low=1, high=99, source="assumed")] = 1
) -> Model:
    model = Model("queue", time_unit="ms")
    server = model.station("server")
    request = model.program("request")
    request.use(server, exponential(2))
    model.closed_class("users", request, population=users, think=exponential(20))
    return model
"""


def headroom(
    *words: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headroom", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100", **environment},
    )


def write_study(folder: Path, *, completions: int = 2_000, count: int = 3) -> Path:
    folder.mkdir()
    text = FAST_STUDY.format(completions=completions, count=count)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    return folder


def results(folder: Path) -> dict[str, Any]:
    """Return results.json without what names the session rather than the study."""
    content: dict[str, Any] = json.loads((folder / "results/results.json").read_text("utf-8"))
    return {
        key: value
        for key, value in content.items()
        if key not in {"generated", "environments", "folder", "command"}
    }


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the study once, with two jobs; return its folder and its output. Only to read."""
    study = write_study(tmp_path_factory.mktemp("ran") / "tiny")
    run = headroom("run", study, "--jobs", 2, "--all")
    assert run.returncode == 0, run.stderr
    return study, run.stdout


@pytest.fixture
def copied(ran: tuple[Path, str], tmp_path: Path) -> Path:
    """Return a copy of that study with its results, to change."""
    return shutil.copytree(ran[0], tmp_path / "tiny")


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the study once with series; return its folder. Only to read."""
    study = write_study(tmp_path_factory.mktemp("sampled") / "tiny")
    replace_in_study(study, 'file = "model.py"', 'file = "model.py"\nsample_every_s = 0.05')
    run = headroom("run", study)
    assert run.returncode == 0, run.stderr
    return study


def replace_in_study(study: Path, old: str, new: str) -> None:
    path = study / "study.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


_NODES = ({"processing_nodes": 4, "io_nodes": 3}, {"processing_nodes": 1, "io_nodes": 3}, 3.8, 4.4)
_SIZES = ({"node_bytes": 8192}, {"node_bytes": 64}, 0.02, 5)
_SYNCS = ({"postmark_sync": "fdatasync"}, {"postmark_sync": "never"}, 1e-4, 10)
_CASES = ({"case": 3, "clients": 16}, {"case": 1, "clients": 16}, 2.3, 2.36)
STARTERS: dict[str, tuple[Any, ...]] = {
    # The disk serves a request in 6 ms, one user asks every 216 ms.
    "model": ("limit disk", "load", "throughput", {"users": 80}, {"users": 1}, 34.2, 37.8),
    # Seven round trips with a new connection, three with a lasting one.
    "catalogue": ("effects", "clients", "throughput", *_CASES),
    # Four times the processors, all of them busy.
    "machine": ("enough", "balance", "throughput", *_NODES),
    "machine --like server": ("enough", "balance", "throughput", *_NODES),
    # Measured, so wide ranges; n log n is 4.6.
    "command": ("value", "sort", "user_s", {"lines": 200_000}, {"lines": 50_000}, 1.5, 30),
    # Two connections complete about half of what arrives.
    "pool": ("target", "sweep", "throughput", {"pool": 16}, {"pool": 2}, 1.05, 6),
    "records": ("comparison", "nodes", "record_s", *_SIZES),
    "storage": ("target", "files", "transactions_per_s", *_SYNCS),
}
"""Starters: answer, experiment, metric, two points, and the ratio that the metric has there."""
SIMULATED = {"model", "catalogue", "machine", "machine --like server"}


@pytest.fixture(scope="module")
def starters(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], tuple[Path, subprocess.CompletedProcess[str]]]:
    """Return the study that `init` writes for a starter, and its one quick run."""

    @cache
    def started(starter: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
        study = tmp_path_factory.mktemp(starter.split(maxsplit=1)[0]) / "mine"
        assert headroom("init", study, "--system", *starter.split()).returncode == 0
        return study, headroom("run", study, "--quick")

    return started


@pytest.mark.parametrize("starter", STARTERS)
def test_a_starter_study_runs_as_it_is_written(
    starters: Callable[[str], tuple[Path, subprocess.CompletedProcess[str]]], starter: str
) -> None:
    study, run = starters(starter)
    assert run.returncode == 0, run.stderr
    assert "results/quick/report.html" in run.stdout
    if starter in SIMULATED:  # what a busy machine measures may differ
        assert re.search(r"Claims  \d hold$", run.stdout, re.MULTILINE), run.stdout
    page = (study / "results/quick/report.html").read_text("utf-8")
    assert "How" in page
    if find_chromium() is not None or os.environ.get("CI") == "true":
        with open_browser() as browser:
            assert first_screen_problems(browser, study / "results/quick/report.html") == {}
    assert headroom("status", study, "--quick").returncode == 0
    shown = headroom("show", study, "--quick")
    assert shown.returncode == 0
    assert shown.stdout == run.stdout
    lines = run.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("starter", STARTERS)
def test_a_starter_study_answers_its_question(
    starters: Callable[[str], tuple[Path, subprocess.CompletedProcess[str]]], starter: str
) -> None:
    """Cause: a run that ends well may end in "No answer", with a warm-up longer than the run."""
    wanted, experiment, metric, levels, base, low, high = STARTERS[starter]
    result = hr.load(starters(starter)[0] / "results/quick/results.json")
    answer = result.data.answer
    assert answer is not None
    found = [answer.statement, *answer.follows]
    first = found[1 if isinstance(found[0], Disturbed) else 0]
    words = f"{first.__struct_config__.tag} {getattr(getattr(first, 'part', None), 'name', '')}"
    undecided = () if starter in SIMULATED else ("undecided", "equal", "trade_off")
    assert words.startswith((wanted, *undecided)), first
    if starter in SIMULATED:  # a short run on a busy machine may have no steady state
        assert all(point.data.estimates for sweep in result for point in sweep)
    assert [one.is_inferred for one in result.answers] == [False] * len(result.answers)
    page = (starters(starter)[0] / "results/quick/report.html").read_text(encoding="utf-8")
    assert faults_of(result.data) == []
    assert disagreements(result.data, page) == []
    at = result[experiment].at
    assert low <= at(**levels)[metric].value / at(**base)[metric].value <= high


def test_every_starter_and_variant_is_among_those() -> None:
    """SPAX is the machine of the starter itself: its model, at each point, is the same."""
    variants = {
        f"{name} --like {like}"
        for name in starter_names()
        for like in find_starter(name).variants()
    }
    assert {*starter_names(), *variants} == {*STARTERS, "machine --like spax"}


def test_every_claim_of_the_starter_model_holds(
    starters: Callable[[str], tuple[Path, subprocess.CompletedProcess[str]]], tmp_path: Path
) -> None:
    assert headroom("init", tmp_path / "mine").returncode == 0
    study, _ = starters("model")
    for file in (tmp_path / "mine").iterdir():
        assert file.read_bytes() == (study / file.name).read_bytes(), "model is what init writes"
    run = headroom("run", study, "--quick", "--check")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Claims  3 hold" in run.stdout


def test_a_claim_that_differs_is_exit_code_three_under_check_only(copied: Path) -> None:
    claim = """
[[claim]]
name = "wrong"
text = "One user completes 1 request a second"
kind = "value"
experiment = "queue"
metric = "throughput"
where = { users = 1 }
value = 1.0
tolerance = 0.1
"""
    with (copied / "study.toml").open("a", encoding="utf-8") as file:
        file.write(claim)
    plain = headroom("run", copied)
    assert plain.returncode == 0, plain.stderr
    assert "differs" in plain.stdout
    assert headroom("run", copied, "--check").returncode == 3


def test_stdout_holds_one_json_document_that_the_published_schema_accepts(copied: Path) -> None:
    run = headroom("run", copied, "--json")
    document = json.loads(run.stdout)
    assert document["kind"] == "study-result"
    schema = json.loads(headroom("schema", "results").stdout)
    jsonschema.validate(document["content"], schema)
    assert document["content"]["done"] == 9


def test_a_study_that_is_run_again_reuses_every_row_and_says_so(
    ran: tuple[Path, str], copied: Path
) -> None:
    before = results(copied)
    again = headroom("run", copied, "--all")
    assert again.returncode == 0
    assert "9 replications of earlier runs reused" in again.stderr
    assert again.stdout.replace(str(copied), str(ran[0])) == ran[1]
    assert results(copied) == before
    with closing(sqlite3.connect(copied / "results/journal.sqlite")) as journal:
        of_points = "SELECT count(*) FROM replication WHERE experiment = 'queue'"
        assert journal.execute(of_points).fetchone() == (9,)


def test_results_do_not_depend_on_the_number_of_jobs(ran: tuple[Path, str], tmp_path: Path) -> None:
    one = write_study(tmp_path / "tiny")
    headroom("run", one, "--jobs", 1)
    assert results(one) == results(ran[0])


def test_a_driver_killed_in_mid_study_loses_nothing_and_ends_with_the_same_table(
    tmp_path: Path,
) -> None:
    whole = write_study(tmp_path / "whole", completions=100_000, count=8)
    cut_off = write_study(tmp_path / "cut", completions=100_000, count=8)
    undisturbed = headroom("run", whole, "--all")
    journal = cut_off / "results/journal.sqlite"
    kills = 0
    for rows_wanted in (2, 9, 17):
        kills += kill_once_it_has_rows(cut_off, journal, rows_wanted)
    assert kills >= 1, "the study finished before it could be killed"
    resumed = headroom("run", cut_off, "--all")
    assert resumed.returncode == 0, resumed.stderr
    assert tables(resumed) == tables(undisturbed)
    assert results(cut_off) == results(whole)


def tables(run: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the output of the command, without the line that names the page."""
    return [line for line in run.stdout.splitlines() if not line.startswith("Report:")]


def kill_once_it_has_rows(study: Path, journal: Path, rows_wanted: int) -> int:
    """Start the study, kill its driver once the journal holds `rows_wanted` rows; count kills."""
    driver = subprocess.Popen(
        [sys.executable, "-m", "headroom", "run", str(study), "--jobs", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while driver.poll() is None and row_count(journal) < rows_wanted:
        time.sleep(0.005)
    if driver.poll() is not None:
        return 0
    before = row_count(journal)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert row_count(journal) >= before
    return 1


def row_count(journal: Path) -> int:
    try:
        with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)) as connection:
            (count,) = connection.execute("SELECT count(*) FROM replication").fetchone()
    except sqlite3.Error:
        return 0
    return int(count)


def test_ctrl_c_finishes_saves_and_exits_130(tmp_path: Path) -> None:
    study = write_study(tmp_path / "tiny", completions=200_000, count=8)
    driver = subprocess.Popen(
        [sys.executable, "-m", "headroom", "run", str(study), "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while driver.poll() is None and row_count(study / "results/journal.sqlite") < 2:
        time.sleep(0.005)
    driver.send_signal(signal.SIGINT)
    _, errors = driver.communicate()
    assert driver.returncode == 130, errors
    assert "run the same command to resume" in errors
    document = json.loads(headroom("status", study, "--json").stdout)["content"][0]
    assert document["points"] == 3
    resumed = headroom("run", study)
    assert resumed.returncode == 0
    assert results(study)["done"] == 24


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("responses", "respones", "responses"),
        ("users = [1, 4, 16]", "user = [1, 4, 16]", "users"),
        ("users = [1, 4, 16]", "users = [1, 400]", "99"),
        ('name = "model"', 'name = "modle"', "model"),
        ("completions =", "completion =", "completions"),
        ("seed = 3", "seed = ", "study.toml:5"),
    ],
)
def test_a_wrong_study_names_file_line_and_correction(
    tmp_path: Path, old: str, new: str, hint: str
) -> None:
    study = write_study(tmp_path / "tiny")
    path = study / "study.toml"
    path.write_text(path.read_text("utf-8").replace(old, new, 1), encoding="utf-8")
    run = headroom("run", study)
    assert run.returncode == 2
    assert re.search(r"study\.toml:\d+", run.stderr), run.stderr
    assert hint in run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""


def test_a_damaged_journal_is_refused_and_left_alone(copied: Path) -> None:
    journal = copied / "results/journal.sqlite"
    damaged = b"not a database" * 512
    journal.write_bytes(damaged)
    for command in ("run", "show", "status", "report", "export"):
        answer = headroom(command, copied)
        assert answer.returncode == 5, (command, answer.stderr)
        assert "journal.sqlite" in answer.stderr
        assert "hint" in answer.stderr
        assert "Traceback" not in answer.stderr
    assert journal.read_bytes() == damaged


def test_a_missing_program_fails_its_points_and_no_others(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "study.toml").write_text(
        Head("programs", "Programs", "start").then("""\
[experiment.system]
name = "command"
argv = ["{program}"]
[experiment.factors]
program = ["true", "surely-no-such-program"]
[experiment.replications]
count = 6
"""),
        encoding="utf-8",
    )
    run = headroom("run", study)
    assert run.returncode == 1, run.stderr
    assert "3 of 12 runs failed" in run.stdout
    assert "surely-no-such-program" in headroom("show", study, "--all").stdout
    assert results(study)["done"] == 6


@pytest.mark.parametrize("what", ["points", "replications", "observations", "series"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_exports_are_tidy_rows(sampled: Path, what: str, form: str) -> None:
    export = headroom("export", sampled, "--what", what, "--format", form)
    assert export.returncode == 0, export.stderr
    lines = export.stdout.splitlines()
    assert len(lines) > 9
    assert "factor.users" in lines[0]


def test_what_was_tried_is_exported_beside_the_results(ran: tuple[Path, str]) -> None:
    export = headroom("export", ran[0], "--what", "what-ifs", "--format", "csv")
    assert export.returncode == 0, export.stderr
    rows = list(csv.DictReader(export.stdout.splitlines()))
    assert {row["change"] for row in rows} == {
        "station.server.servers=x2",
        "station.server.speed=x2",
    }
    for row in rows:
        assert float(row["low"]) <= float(row["ratio"]) <= float(row["high"])
        assert float(row["after"]) / float(row["before"]) == pytest.approx(float(row["ratio"]))


def test_the_first_replication_of_each_point_tells_how_it_went(sampled: Path) -> None:
    """Oracle: utilization and throughput of a run are the means over its intervals."""
    export = headroom("export", sampled, "--what", "series", "--format", "jsonl")
    rows = [json.loads(line) for line in export.stdout.splitlines()]
    assert {row["replication"] for row in rows} == {0}
    points = results(sampled)["experiments"][0]["points"]
    for point in points:
        series = point["series"]
        mine = [row for row in rows if row["point"] == point["key"]]
        busy = [row["value"] for row in mine if row["metric"] == "station.server.utilization"]
        whole = point["estimates"]["station.server.utilization"]["value"]
        assert sum(busy) / len(busy) == pytest.approx(whole, rel=0.15)
        (line,) = (one for one in series["lines"] if one["metric"] == "utilization")
        assert len(line["values"]) == series["count"] <= len(busy)


def test_a_study_that_was_never_run_says_what_to_do(tmp_path: Path) -> None:
    study = write_study(tmp_path / "tiny")
    for command in ("show", "report", "export"):
        answer = headroom(command, study)
        assert answer.returncode == 2
        assert f"headroom run {study}" in answer.stderr


def test_colours_are_used_only_where_they_are_wanted(ran: tuple[Path, str]) -> None:
    study, printed = ran
    assert "\x1b[" not in printed
    assert "\x1b[" in headroom("show", study, "--color", "always").stdout
    assert "\x1b[" not in headroom("show", study, "--color", "auto", NO_COLOR="1").stdout


def test_init_never_overwrites(tmp_path: Path) -> None:
    study = write_study(tmp_path / "tiny")
    before = (study / "study.toml").read_bytes()
    answer = headroom("init", study)
    assert answer.returncode == 2
    assert (study / "study.toml").read_bytes() == before


def test_an_unknown_option_is_a_usage_error(tmp_path: Path) -> None:
    answer = headroom("run", tmp_path, "--quik")
    assert answer.returncode == 2
    assert "--quick" in answer.stderr


def test_a_point_is_named_by_its_levels(ran: tuple[Path, str]) -> None:
    study, _ = ran
    shown = headroom("show", study, "--point", "users=16")
    assert shown.returncode == 0, shown.stderr
    assert "users = 16" in shown.stdout
    assert headroom("show", study, "--point", "users=17").returncode == 2


def test_status_counts_a_point_as_finished_only_with_all_its_replications(copied: Path) -> None:
    replace_in_study(copied, "count = 3", "count = 5")
    (row,) = json.loads(headroom("status", copied, "--json").stdout)["content"]
    assert (row["finished"], row["open"]) == (0, 3)
    assert (row["replications"], row["planned_replications"]) == (9, 15)


def test_a_point_without_any_figure_is_no_success(tmp_path: Path) -> None:
    study = write_study(tmp_path / "tiny")
    warm_up = '[experiment.warm_up]\nmethod = "fixed"\nseconds = 1e6\n'
    with (study / "study.toml").open("a", encoding="utf-8") as file:
        file.write(warm_up)
    assert headroom("run", study).returncode == 1
    (row,) = json.loads(headroom("status", study, "--json").stdout)["content"]
    assert row["without_figures"] == 3


def test_a_title_with_markup_is_printed_as_it_is(tmp_path: Path) -> None:
    study = write_study(tmp_path / "tiny")
    path = study / "study.toml"
    title = "A [/b] queue :x:"
    path.write_text(path.read_text("utf-8").replace("A queue", title), encoding="utf-8")
    assert title in headroom("list", tmp_path).stdout


def test_an_output_that_cannot_be_written_is_a_message(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    study, _ = ran
    for words in (
        ("export", study, "--output", tmp_path / "missing/rows.csv"),
        ("report", study, "--output", tmp_path / "missing/page.html"),
        ("report", study, "--output", tmp_path),
    ):
        answer = headroom(*words)
        assert answer.returncode in {2, 5}
        assert "hint" in answer.stderr
        assert "Traceback" not in answer.stderr


def test_the_cure_for_a_damaged_journal_brings_its_rows_back(tmp_path: Path) -> None:
    study = write_study(tmp_path / "tiny", count=30)
    headroom("run", study)
    before = results(study)
    journal = study / "results/journal.sqlite"
    content = bytearray(journal.read_bytes())
    content[8192:12288] = bytes(4096)
    journal.write_bytes(bytes(content))
    refused = headroom("run", study)
    assert refused.returncode == 5
    assert "--salvage" in refused.stderr
    answer = headroom("run", study, "--salvage")
    assert answer.returncode == 0, answer.stderr
    assert "recovered" in answer.stderr
    assert results(study) == before
    assert any(bytes(content) == path.read_bytes() for path in journal.parent.glob("journal*"))
