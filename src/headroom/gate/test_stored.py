"""Results that were kept: what may be compared, histories, sessions, and what an argument means."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from headroom.analysis.results import (
    ExperimentResult,
    Measured,
    ParameterUsed,
    PointResult,
    StudyResult,
)
from headroom.analysis.results_file import FORMAT, write_results
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.machine.repository import git
from headroom.experiment.protocol.run import Run
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.gate.meaning import command_of, meaning_of, meanings_of
from headroom.gate.question import Question, share_of
from headroom.gate.repeat import compare_saved, study_of, why_not_again
from headroom.gate.result import ComparisonResult
from headroom.gate.series import history_of_files, history_of_study
from headroom.gate.sessions import Session, sessions_of
from headroom.gate.stored import Stored, compare_results, read_stored
from tests.support.example_results import estimate, study
from tests.support.study_text import Head

replace = msgspec.structs.replace
FACTS: dict[str, Any] = {"cpu": {"model": "Z1"}, "repository": {"commit": "aa"}}


def point(value: float, **levels: Any) -> PointResult:
    named = {"wall_s": value, "size_bytes": 7.0, "a": 1.0, "b": 1.0, "c": 1.0}
    estimates = {name: estimate(name, "s", number) for name, number in named.items()}
    return PointResult(key=repr(levels), levels=levels, done=10, failed=0, estimates=estimates)


def experiment(*points: PointResult, name: str = "work", **more: Any) -> ExperimentResult:
    fields: dict[str, Any] = {"column": "measure", "system": "command", "responses": ["wall_s"]}
    fields |= {"title": "", "factors": [], "points": list(points), **more}
    return ExperimentResult(name=name, **fields)


def result(*experiments: ExperimentResult, **more: Any) -> StudyResult:
    fields = {"format": FORMAT, "environments": [FACTS], **more}
    return replace(study(*experiments), **fields)


def kept(found: StudyResult, label: str = "new", path: Path | None = None) -> Stored:
    return Stored(label=label, path=path, result=found)


def compared(old: StudyResult, new: StudyResult, **more: Any) -> ComparisonResult:
    measured = {name: more.pop(name) for name in ("again", "why_not") if name in more}
    return compare_results([kept(old, "old"), kept(new)], question=Question(**more), **measured)


ONE = result(experiment(point(1.0, n=1)))


def test_points_are_matched_by_their_levels_and_those_of_one_side_are_named() -> None:
    old = result(experiment(point(1.0, n=1), point(2.0, n=2)), experiment(name="rest"))
    new = result(experiment(point(4.4, n=3), point(2.4, n=2)))
    found = compared(old, new, fail_on_regression=0.03, why_not="it is a test")
    (row,) = found.rows
    assert (row.experiment, row.levels, row.metric) == ("work", {"n": 2}, "wall_s")
    assert (row.base_value, row.value) == (2.0, 2.4)
    assert row.ratio == pytest.approx(1.2)
    assert found.left_out == ['work n=1, only in "old"', 'work n=3, only in "new"']
    assert found.gate is not None
    assert (found.gate.missing, found.gate.not_repeated) == (["work n=1"], "it is a test")
    assert (found.gate.verdict, found.gate.again_level) == ("regression", 0.001)
    assert [arm.about["commit"] for arm in found.arms] == ["aa", "aa"]
    assert [(arm.name, arm.done) for arm in found.arms] == [("A", 20), ("B", 20)]
    assert found.title == "Web shop capacity: new against old"
    assert (found.stopped, found.forced, found.differences) == ("stored", False, [])
    noise = found.noise[0]
    assert (noise.levels, noise.sessions, noise.between) == ({"n": 2}, 1, None)
    assert noise.scatter == pytest.approx(0.05, rel=0.01)


@pytest.mark.parametrize(("count", "is_known"), [(1, False), (2, True)])
def test_two_runs_have_a_scatter(count: int, *, is_known: bool) -> None:
    base = point(1.0)
    estimates = {"wall_s": replace(base.estimates["wall_s"], count=count)}
    few = result(experiment(replace(base, estimates=estimates)))
    (noise,) = compared(few, result(experiment(point(2.0)))).noise
    assert (noise.scatter is not None) is is_known


def test_without_responses_three_metrics_are_compared_and_with_names_those() -> None:
    bare = result(experiment(point(1.0), responses=[]))
    assert [row.metric for row in compared(bare, bare).rows] == ["wall_s", "size_bytes", "a"]
    assert [row.metric for row in compared(ONE, ONE, metrics=["b", "x"]).rows] == ["b"]
    assert compared(ONE, ONE).rows[0].experiment == ""
    with pytest.raises(StudyError, match="no metric and point in common"):
        compared(ONE, ONE, metrics=["x"])


def used(value: int, origin: Any = "fixed", name: str = "depth") -> list[ParameterUsed]:
    return [ParameterUsed(name=name, value=value, unit="1", source="", origin=origin)]


@pytest.mark.parametrize(
    ("other", "what", "forbids"),
    [
        (replace(ONE, name="other"), "study", True),
        (replace(ONE, is_quick=True), "variant", True),
        (replace(ONE, environments=[FACTS | {"cpu": {"model": "Z2"}}]), "machine", True),
        (result(experiment(point(1.0, n=1), system="other")), "system of work", True),
        (result(experiment(point(1.0, n=1), parameters=used(2))), "parameter work.depth", True),
        (
            result(experiment(point(1.0, n=1), parameters=used(2, "fitted"))),
            "parameter work.depth",
            False,
        ),
        (replace(ONE, environments=[FACTS | {"host": {"kernel": "7"}}]), "kernel", False),
        (result(experiment(point(1.0, n=1), parameters=used(2, "factor"))), "", False),
        (result(experiment(point(1.0, n=1), parameters=used(2, name="new"))), "", False),
        (result(experiment(point(1.0, n=1)), experiment(name="new")), "", False),
    ],
)
def test_what_forbids_a_comparison_is_refused_or_recorded(
    other: StudyResult, what: str, *, forbids: bool
) -> None:
    base = result(experiment(point(1.0, n=1), parameters=used(1)))
    if forbids:
        with pytest.raises(StudyError, match=f"not comparable: {what} differs"):
            compared(base, other)
    found = compared(base, other, force=forbids)
    assert [(one.what, one.forbids) for one in found.differences] == [(what, forbids)] * bool(what)
    assert found.forced is forbids


def test_imported_results_have_no_identity_and_simulations_no_machine() -> None:
    other = {"name": "x", "environments": [FACTS | {"cpu": {"model": "Z2"}}]}
    one = result(experiment(point(1.0), system="imported"))
    (named,) = compared(one, replace(one, **other)).differences
    assert (named.what, named.forbids) == ("study", False)
    newer = replace(ONE, environments=[FACTS | {"host": {"kernel": "7"}}])
    (kernel,) = compared(ONE, newer).differences
    assert (kernel.base, kernel.other) == ("", "7")
    drift = compared(one, one).cautions
    assert [text.partition(" ")[0] for text in drift] == ["The", "How"]
    one = result(experiment(point(1.0), column="model"), is_complete=False)
    found = compared(one, replace(one, environments=other["environments"]))
    assert (found.differences, found.noise) == ([], [])
    assert found.cautions == ['"old" is not complete.', '"new" is not complete.']


def test_results_are_read_from_the_folder_file_or_page_that_a_user_names(tmp_path: Path) -> None:
    for folder, title in (("results", "full"), ("results/quick", "quick"), (".", "bare")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        write_results(replace(ONE, title=title), tmp_path / folder / "results.json")
    page = tmp_path / "results/report.html"
    page.touch()
    for path, quick, title in (
        (tmp_path, False, "full"), (tmp_path, True, "quick"), (page, False, "full"),
        (tmp_path / "results.json", False, "bare"), (tmp_path / "results/quick", False, "quick"),
    ):  # fmt: skip
        found = read_stored(path, label="x", quick=quick)
        assert found.result.title == title
        assert found.folder == tmp_path
    (tmp_path / "results.json").unlink()
    (tmp_path / "page.html").touch()
    assert read_stored(tmp_path / "page.html", label="x").result.title == "full"
    with pytest.raises(StudyError, match="has no results of its quick variant"):
        read_stored(tmp_path / "none" / "x", label="x", quick=True)


def test_suspicions_are_measured_again_only_where_that_is_possible(tmp_path: Path) -> None:
    def why(one: StudyResult, path: Path | None = tmp_path / "results/results.json") -> str:
        return why_not_again([kept(one, "old", path), kept(one, "new", path)])

    assert why(ONE) == "the results are not in the folder of a study"
    assert why(ONE, None) == "the results are not in the folder of a study"
    (tmp_path / "study.toml").touch()
    assert study_of(kept(ONE, path=tmp_path / "results.json")) == tmp_path
    assert why(ONE) == 'the commit of "old" is not known here'
    assert why(result(experiment(column="model"))) == "simulations give the same result again"
    assert why_not_again([kept(ONE)] * 3) == "only two results can be measured side by side"
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, *who, "commit", "--quiet", "--allow-empty", "--message", "x")
    commit = {"commit": git(tmp_path, "rev-parse", "HEAD")}
    changed = replace(ONE, environments=[{"repository": {**commit, "is_changed": True}}])
    assert why(changed) == '"old" was measured with uncommitted changes'
    elsewhere = replace(ONE, environments=[FACTS | {"repository": commit}])
    assert why(elsewhere).startswith('"old" was measured on another machine (processor Z1')
    assert why(replace(ONE, environments=[{"repository": commit}])) == ""
    found = compare_saved(
        [kept(ONE, "old"), kept(result(experiment(point(1.5, n=1))))],
        tmp_path, question=Question(fail_on_regression=0.03, measure_again=False),
    )  # fmt: skip
    assert found.gate is not None
    assert found.gate.not_repeated == "the caller did not want it"


def saved(folder: Path, values: list[float], **more: Any) -> Path:
    folder.mkdir()
    for number, value in enumerate(values):
        when = f"2026-01-{number + 1:02}"
        times = Measured(oldest="2020", newest=when, count=1, reused=0)
        one = result(experiment(point(value, n=1), measured=times, **more), generated="2030")
        write_results(one, folder / f"{len(values) - number}.json")
    return folder


def test_files_are_a_series_in_the_order_of_their_dates_with_its_change(tmp_path: Path) -> None:
    steps = [1.0, 1.01, 0.99, 1.02, 0.98, 1.03, 1.0, 0.97]
    folder = saved(tmp_path / "kept", [*steps, *(2.0 * one for one in steps)])
    (folder / "other.json").write_text("{}", encoding="utf-8")
    found = history_of_files([folder])
    (series,) = found.series
    assert [one.value for one in series.results] == [*steps, *(2.0 * one for one in steps)]
    assert (series.results[0].date, series.results[0].commit) == ("2026-01-01", "aa")
    assert [(one.place, one.before, one.after) for one in series.changes] == [(8, 1.0, 2.0)]
    assert (found.level, found.series_level, found.machines) == (0.01, 0.01, {})
    assert (series.experiment, series.levels, series.metric) == ("", {"n": 1}, "wall_s")
    several = history_of_files([folder], metrics=["wall_s", "a"])
    assert (len(several.series), several.series_level) == (2, 0.005)
    bare = history_of_files([saved(tmp_path / "bare", [1.0], responses=[])])
    assert [one.metric for one in bare.series] == ["wall_s", "size_bytes", "a"]
    assert (bare.series[0].results_after, bare.series[0].outside) == (None, [])


def test_results_of_other_machines_are_a_series_of_their_own_and_those_of_other_studies_none(
    tmp_path: Path,
) -> None:
    folder = saved(tmp_path / "kept", [1.0, 2.0, 3.0])
    write_results(
        replace(ONE, generated="2000", environments=[{"cpu": {"model": "Z"}}]), folder / "z.json"
    )
    found = history_of_files([folder])
    assert list(found.machines) == ["machine 2"]
    assert "processor Z" in found.machines["machine 2"]
    assert [(one.machine, len(one.results)) for one in found.series] == [("machine 2", 1), ("", 3)]
    write_results(replace(ONE, is_quick=True), folder / "quick.json")
    with pytest.raises(StudyError, match=r"several studies: web-shop, web-shop \(quick\)"):
        history_of_files([folder])
    (tmp_path / "empty").mkdir()
    with pytest.raises(StudyError, match="no results in"):
        history_of_files([tmp_path / "empty"])


TOML = Head("naps", "Naps", "nap").then("""\
system = { name = "command", argv = ["true"] }
replications = { count = 2 }
responses = ["wall_s"]
""")


def test_a_session_ends_at_a_mark_another_commit_or_other_code(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TOML, encoding="utf-8")
    plan = make_plan(load_study(tmp_path), quick=False)
    (place,) = plan.experiments[0].points
    path = tmp_path / "results" / "journal.sqlite"
    with Journal.open(path, create=True) as journal:

        def measured(*values: float, code: str = place.fingerprint, facts: Any = FACTS) -> None:
            session = journal.add_environment(facts)
            for number, value in enumerate(values):
                row = ReplicationRow(
                    experiment="nap", point_key=place.key, fingerprint=code, levels={}, seed=1,
                    replication=number, state="done" if value else "failed", wall_s=1.0,
                    started_at=f"2026-01-{session:02}T00:00:0{9 - number}Z", error="",
                    environment=session, run=Run(values={"wall_s": value}) if value else None,
                )  # fmt: skip
                journal.append(row)

        assert not list(sessions_of(journal, "nap", place.key))
        measured(1.0, 1.0, 0.0)
        measured(3.0, facts=FACTS | {"cpu": {"model": "Z2"}})
        measured(1.0)
        journal.add_environment(FACTS | {"fresh": ["nap"]})
        measured(4.0, 4.0)
        journal.add_environment(FACTS | {"fresh": ["other"]})
        measured(4.0)
        measured(9.0, 9.0, code="other")
        measured(2.0, facts=FACTS | {"repository": {"commit": "bb"}})
        found: list[Session] = list(sessions_of(journal, "nap", place.key))
        assert [(len(one.rows), one.commit) for one in found] == [
            (3, "aa"), (1, "aa"), (3, "aa"), (2, "aa"), (1, "bb"),
        ]  # fmt: skip
        assert found[0].started_at == "2026-01-01T00:00:08Z"
        series, other = history_of_study(plan, journal).series
        assert (other.machine, [one.value for one in other.results]) == ("machine 2", [3.0])
        assert [one.value for one in series.results] == [1.0, 4.0, 9.0, 2.0]
        assert series.results[0].count == 3
    one = result(experiment(replace(point(1.0), key=place.key), name="nap"))
    write_results(one, path.with_name("results.json"))
    old = kept(one, "old", path.with_name("results.json"))
    noise = compare_results([old, kept(one)], question=Question()).noise[0]
    assert (noise.sessions, noise.between) == (3, 3.0)
    model = TOML.replace('"command", argv = ["true"]', '"model", model = "mm1"')
    model = model.replace("wall_s", "throughput")
    (tmp_path / "study.toml").write_text(model, encoding="utf-8")
    with Journal.open(path, create=False) as journal, pytest.raises(StudyError, match="only simul"):
        history_of_study(make_plan(load_study(tmp_path), quick=False), journal)


def test_an_argument_is_a_command_or_a_result_and_never_a_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("study/results", "plain", "sort"):
        Path(name).mkdir(parents=True)
    for name in ("study/results/results.json", "sort/study.toml", "a.json", "a.txt", "page.html"):
        Path(name).touch()
    for text in ("study", "study/results", "a.json", "page.html", "sort/study.toml"):
        assert (meaning_of(text).kind, meaning_of(text).path) == ("result", Path(text))
    assert meaning_of("sort -n 'a b'").argv == ("sort", "-n", "a b")
    assert [one.kind for one in meanings_of(["true", "sort -n"])] == ["command"] * 2
    assert command_of("./made x", tmp_path).argv == ("./made", "x")
    for texts, said in (
        (["true"], "needs two"),
        (["true", "study"], "`true` is a command, but `study` is a result"),
        (["sort", "true"], "`sort` is a result here and a program"),
        (["plain", "true"], r"no such program: `plain` \(nor is"),
        (["nope -x", "true"], r"no such program: `nope`$"),
        (["missing.json", "true"], "no such program"),
        (["true", "true > x"], "needs a shell for `>`"),
        (["true", "'"], "No closing"),
        (["true", ""], "an empty command"),
        (["true", "\0"], "null byte|no such program"),
    ):
        with pytest.raises((StudyError, ValueError), match=f"(?m){said}"):
            meanings_of(texts)
    for text in ("0%", "100%", "x", "-3%", "1.0"):
        with pytest.raises(StudyError, match="is not a share"):
            share_of(text, "--until")
    assert share_of(" 50 % ", "--until") == 0.5
