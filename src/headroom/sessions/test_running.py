"""A study from its plan to its page: stages, added levels, what-ifs, interruptions, one voice."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from headroom.analysis.results import PointResult, StudyResult
from headroom.errors import StudyError
from headroom.experiment.machine import program_identity
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.runner import Outcome
from headroom.sessions import running, study_session
from headroom.sessions.running import Finished, How, Running, run_to_page
from headroom.sessions.study_session import (
    _is_level,
    analysed,
    existing_journal,
    identity_of,
    open_plan,
    page_text,
    point_key,
    remarks_of,
    what_counts,
)
from headroom.sessions.trying import InterruptedTrialError, Tried, Trying, try_changes

HEAD = 'schema = 1\nname = "shop"\ntitle = "A <shop>"\nseed = 7\n'
SYSTEM = 'system = {{ name = "model", model = "{}", completions = 400 }}\nreplications.count = 2\n'
FITTED = f"""{HEAD}
[[experiment]]
name = "sweep"
{SYSTEM.format("mmc")}fixed = {{ service_s = 0.013, servers = 3 }}
factors.utilization = [0.2, 0.5, 0.7]
[[experiment]]
name = "predict"
{SYSTEM.format("mmc")}fixed = {{ servers = 3 }}
factors.utilization = [0.85]
what_if.parts = "none"
[experiment.fit]
from = "sweep"
method = "least-squares"
[experiment.fit.options]
parameters = {{ service_s = [0.001, 0.1] }}
metrics = ["throughput", "response_s_mean"]
"""
LIMITED = f"""{HEAD}
[[experiment]]
name = "load"
{SYSTEM.format("interactive")}fixed = {{ service_s = 0.05 }}
factors.users = [5, 60]
[[experiment.limit]]
metric = "response_s_mean"
at_most = 0.5
refine = 2
"""
NAPS = f'{HEAD}[[experiment]]\nname = "nap"\nsystem = {{ name = "command", argv = ["true"] }}\n'
NAPS += "replications.count = 2\n"


class Heard:
    """A voice whose messages are kept."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.insisted: list[str] = []
        self.note, self.insist = self.notes.append, self.insisted.append

    def progress(self) -> Progress:
        """Return a silent progress."""
        return Progress(Console(file=io.StringIO()))


def run(folder: Path, text: str, only: str = "", **how: Any) -> tuple[Finished, Heard]:
    (folder / "study.toml").write_text(text, encoding="utf-8")
    plan, heard = open_plan(folder, quick=False), Heard()
    chosen = plan.only([only]) if only else plan
    asked = How(asked=Running(processes=1, **how), voice=heard, resume="go on")
    return run_to_page(plan, chosen, asked, identity=identity_of(plan)), heard


def test_what_is_fitted_runs_after_its_source_and_a_second_run_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, heard = run(tmp_path, FITTED, "predict")
    assert (alone.outcome.done, len(heard.notes)) == (0, 1)
    assert heard.notes[0].startswith("experiment 'predict' is not run: ")
    first, heard = run(tmp_path, FITTED)
    assert (first.outcome.done, first.is_whole) == (8, True)
    assert first.page.read_text(encoding="utf-8").count("A &lt;shop&gt;") > 0
    fit = first.result.experiments[1].fit
    assert fit is not None
    assert fit.state == "fitted"
    assert ["million" in note for note in heard.notes] == [True, True]
    monkeypatch.setattr(study_session, "replace_file", lambda *_: None)
    again, heard = run(tmp_path, FITTED, fresh=True)
    assert (again.outcome.done, again.outcome.reused) == (0, 8)
    assert heard.notes == [
        "simulations are not repeated: the same model and seed give identical results",
        "6 replications of earlier runs reused",
        "2 replications of earlier runs reused",
    ]
    stored = json.loads((tmp_path / "results/results.json").read_bytes())
    assert stored["command"] == f"headroom run {tmp_path.name}"


def test_measurements_are_repeated_if_they_shall_be_fresh(tmp_path: Path) -> None:
    first, heard = run(tmp_path, NAPS)
    assert (first.outcome.done, heard.notes) == (2, [])
    again, heard = run(tmp_path, NAPS, fresh=True)
    assert (again.outcome.done, again.outcome.reused) == (2, 0)
    assert heard.notes[0] == "measured again: nap"
    assert len(heard.notes) == 2


@pytest.mark.deep
def test_limits_add_levels_and_bottlenecks_are_doubled_once_all_is_there(tmp_path: Path) -> None:
    found, heard = run(tmp_path, LIMITED)
    levels = [point.levels["users"] for point in found.result.experiments[0].points]
    (one, two) = [note for note in heard.notes if " adds " in note]
    added = {note.rpartition("users=")[2] for note in (one, two)}
    assert {str(level) for level in levels} == {"5", "60", *added}
    assert one.startswith("refine: experiment 'load' adds users=")
    assert (found.outcome.done, found.result.done) == (8, 8)
    assert [len(point.what_ifs) for point in found.result.experiments[0].points][-1] == 2
    speeds = [note.partition(":")[0] for note in heard.notes if "million" in note]
    assert [word for word in speeds if not word[0].isdigit()] == ["refine", "refine", "what if"]
    plain, heard = run(
        tmp_path, LIMITED.replace("seed = 7", "seed = 8"), what_if=False, stop_on_failure=True
    )
    assert (plain.outcome.done, plain.result.experiments[0].what_if_replications) == (8, 0)
    assert not any(note.startswith("what if") for note in heard.notes)


NOTHING = Outcome(done=0, reused=0, failed=0, interrupted=False, remaining=0)


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[str]]]:
    """Return a function that sets the ends of runs; its list has the experiments of each."""

    def told(*given: Outcome) -> list[list[str]]:
        asked: list[list[str]] = []
        ends: Iterator[Outcome] = iter(given)

        def instead(plan: Any, *_: Any, **__: Any) -> Outcome:
            asked.append([one.spec.name for one in plan.experiments])
            return next(ends)

        monkeypatch.setattr(running, "run_plan", instead)
        return asked

    return told


def test_what_was_interrupted_starts_nothing_more_and_leaves_a_page(
    outcomes: Callable[..., list[list[str]]], tmp_path: Path
) -> None:
    asked = outcomes(replace(NOTHING, interrupted=True, remaining=3, notes=("hot",), event_count=9))
    found, heard = run(tmp_path, FITTED)
    assert asked == [["sweep"]]
    assert heard.notes[:2] == ["hot", "stopped; 3 replications are left; go on"]
    assert len(heard.notes) == 3
    assert (found.outcome.interrupted, found.page.exists()) == (True, True)


@pytest.mark.parametrize("stops", [True, False])
def test_a_failure_ends_a_run_only_if_it_shall(
    outcomes: Callable[..., list[list[str]]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, *, stops: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(running, "planned_what_ifs", lambda plan, _: plan)
    asked = outcomes(replace(NOTHING, failed=1), NOTHING)
    found, heard = run(tmp_path, LIMITED + NAPS.removeprefix(HEAD), stop_on_failure=stops)
    assert asked == [["load", "nap"]] * (1 if stops else 2)
    assert (found.outcome.failed, heard.notes) == (1, [])


def test_pace_is_events_over_time() -> None:
    assert running.pace_in_words(3_000_000, 2.0) == "3 million events in 2 s, 1.5 million a second"
    assert running.levels_text({"users": 40, "disk": "ssd"}) == "users=40, disk=ssd"


def test_a_page_that_cannot_be_drawn_holds_the_text_of_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise ValueError("<defect>")

    result = run(tmp_path, NAPS)[0].result
    monkeypatch.delenv("HEADROOM_DEBUG")
    monkeypatch.setattr("headroom.report.page.render_page", broken)
    said: list[str] = []
    page = page_text(result, said.append)
    assert said[0].startswith("the page holds plain text only: ")
    assert "ValueError: &lt;defect&gt;" in page
    assert "All results are in results.json" in page
    assert "Report: " in page
    monkeypatch.setattr(study_session, "render_study", broken)
    assert "<pre></pre>" in page_text(result, said.append)


IDLE = """
from headroom.simulation import Model, exponential


def build(*, always: int = 1, sometimes: int = 1) -> Model:
    model = Model("x")
    used = model.station("used")
    if always:
        model.station("idle")
    if sometimes > 1:
        model.station("rare")
    jobs = model.program("jobs")
    jobs.use(used, exponential(float(sometimes)))
    model.closed_class("users", jobs, population=2)
    return model
"""


@pytest.mark.parametrize(
    ("levels", "idle"), [("[1, 2]", ["idle"]), ("[2, 3]", ["idle", "rare"]), ("[2, 1]", ["idle"])]
)
def test_a_remark_is_about_all_points_of_an_experiment(
    tmp_path: Path, levels: str, idle: list[str]
) -> None:
    (tmp_path / "idle.py").write_text(IDLE, encoding="utf-8")
    system = 'system = { name = "model", file = "idle.py", completions = 9 }\n'
    text = f'{HEAD}[[experiment]]\nname = "a"\n{system}factors.sometimes = {levels}\n'
    text += f'[[experiment]]\nname = "b"\n{system}' + NAPS.removeprefix(HEAD)
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    found = remarks_of(open_plan(tmp_path, quick=False))
    assert [remark.rpartition("station ")[2] for remark in found] == [repr(one) for one in idle]


def tried(folder: Path, text: str, **asked: Any) -> Tried:
    (folder / "study.toml").write_text(text, encoding="utf-8")
    plan = open_plan(folder, quick=False)
    trying = Trying(processes=1, **asked)
    return try_changes(plan, folder / "journal.sqlite", trying, voice=Heard())


def test_changes_are_tried_at_the_named_point_or_the_last_that_is_limited(tmp_path: Path) -> None:
    """Oracle: at 60 users the server is full, so throughput is 1 / S and doubles with its speed."""
    more = LIMITED.replace("count = 2", "count = 4")
    found = tried(tmp_path, more, changes=["station.server.speed=x2"], replications=3)
    (change,) = found.point.what_ifs
    (effect,) = [one for one in change.effects if one.metric == "throughput"]
    assert (found.point.levels, effect.pairs) == ({"users": 60}, 3)
    assert effect.ratio == pytest.approx(2.0, rel=0.2)
    named = tried(tmp_path, LIMITED, changes=["station.server.servers=3"], point="users=5")
    assert (named.point.levels, len(named.point.what_ifs)) == ({"users": 5}, 1)
    assert named.point.what_ifs[0].effects[0].pairs == 2
    doubled = tried(tmp_path, LIMITED)
    assert {one.change for one in doubled.point.what_ifs} == {
        "station.server.servers=x2",
        "station.server.speed=x2",
    }
    assert len(doubled.experiment.points) == 1


def test_what_is_measured_cannot_be_tried_and_ctrl_c_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = NAPS + 'factors.word = ["a", "b"]\n'.replace("word", "n")
    two = two.replace('["true"]', '["true", "{n}"]')
    with pytest.raises(StudyError, match="simulates nothing"):
        tried(tmp_path, two)
    with pytest.raises(StudyError, match="measures a system"):
        tried(tmp_path, two, point="n=a")
    ended = lambda *_, **__: replace(NOTHING, interrupted=True)  # noqa: E731 - one line
    monkeypatch.setattr("headroom.sessions.trying.run_plan", ended)
    with pytest.raises(InterruptedTrialError):
        tried(tmp_path, LIMITED, point="users=5")


def notes(folder: Path, text: str) -> list[str]:
    (folder / "study.toml").write_text(text, encoding="utf-8")
    plan = open_plan(folder, quick=False)
    with existing_journal(plan, print) as journal:
        return what_counts(plan, journal)


def test_rows_are_surveyed_again_only_after_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_identity, "_SETTLED_NS", 0)
    other = NAPS.replace('["true"]', '["true", "x"]')
    run(tmp_path, NAPS)
    (first,) = notes(tmp_path, other)
    assert first.startswith("2 replications left out")
    with monkeypatch.context() as patch:
        patch.setattr(study_session, "survey", None)  # a survey would fail
        assert notes(tmp_path, other) == [first]
    run(tmp_path, other)
    assert notes(tmp_path, other) == []
    (last,) = notes(tmp_path, NAPS.replace('["true"]', '["true", "y"]'))
    assert last.startswith("2 replications left out")


def test_a_result_is_kept_until_its_study_or_journal_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_identity, "_SETTLED_NS", 0)
    monkeypatch.setattr(study_session, "defects_met", lambda: 0)  # other tests have met some
    known = run(tmp_path, NAPS)[0].result

    def again() -> StudyResult:
        plan = open_plan(tmp_path, quick=False)
        with existing_journal(plan, print) as journal:
            return analysed(plan, journal, identity=identity_of(plan), jobs=1)

    with monkeypatch.context() as patch:
        patch.setattr("headroom.analysis.analyse.analyse", None)  # an analysis would fail
        assert again() == known
    (tmp_path / "study.toml").write_text(NAPS.replace("A <shop>", "Other"), encoding="utf-8")
    assert again().title == "Other"


def point(**levels: object) -> PointResult:
    """Return a point with these levels and nothing else."""
    return PointResult(key="k", levels=levels, done=0, failed=0, planned=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["rate=250", "rate = 250.0", "rate=2.5e2", "is_fast=true",
                                  "is_fast=True", "codec=xz", "size=10,000"])  # fmt: skip
def test_a_level_is_known_however_it_is_written(word: str) -> None:
    """Cause: the float level 250 was compared as '250.0', and true as 'True'."""
    levels = {"rate": 250.0, "is_fast": True, "codec": "xz", "size": 10_000}
    assert _is_level(word, point(**levels))


@pytest.mark.parametrize(
    "word", ["rate=251", "rate", "speed=250", "is_fast=1", "codec=XZ", "rate="]
)
def test_other_levels_are_told_apart(word: str) -> None:
    assert not _is_level(word, point(rate=250.0, is_fast=True, codec="xz"))


def test_a_point_is_named_by_its_key_or_by_its_levels(tmp_path: Path) -> None:
    whole = run(tmp_path, LIMITED, what_if=False)[0].result
    (last,) = [one for one in whole.experiments[0].points if one.levels == {"users": 60}]
    assert point_key(whole, "users = 60") == point_key(whole, last.key) == last.key
    for words in ("users=7", "users=60, disk=1"):
        with pytest.raises(StudyError, match="no point is"):
            point_key(whole, words)
    two = msgspec.structs.replace(whole, experiments=[*whole.experiments] * 2)
    with pytest.raises(StudyError, match="2 points are"):
        point_key(two, "users=60")
