"""A session runs the missing replications, stores each row, and continues after failures."""

import random
import sqlite3
from collections import Counter
from typing import Any

import pytest

from headroom.errors import EnvironmentUnfitError
from headroom.experiment.conftest import MakePlan
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.machine import environment, machine_identity
from headroom.experiment.machine.machine_identity import Machine
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.resume import OF_NO_POINT
from headroom.experiment.runner.seen_inputs import OTHER_THING
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.paths import journal_path
from headroom.experiment.study.plan import Plan
from headroom.experiment.study.seeds import derive_seed
from tests.support.study_sessions import SumRule, run_study

MODEL = "[[experiment]]\nname = 'load'\nsystem.name = 'fake-model'\n"
MEASURE = "[[experiment]]\nname = 'disk'\nsystem.name = 'fake-measure'\n"
LOCATED = "[[experiment]]\nname = 'place'\nsystem.name = 'fake-located'\n"
BOTH = pytest.mark.parametrize("experiment", [MODEL, MEASURE], ids=["model", "measure"])


def journal_of(plan: Plan) -> Journal:
    return Journal.open(journal_path(plan.folder, plan.is_quick), create=False)


def counted_rows(plan: Plan) -> list[ReplicationRow]:
    """Return the rows that an analysis of the plan reads."""
    with journal_of(plan) as journal:
        selection = Selection(plan, journal)
        return [
            row
            for experiment in plan.experiments
            for point in experiment.points
            for row in selection.rows(experiment, point)
        ]


def all_rows(plan: Plan) -> list[ReplicationRow]:
    with journal_of(plan) as journal:
        return [
            row for experiment in plan.experiments for row in journal.heads(experiment.spec.name)
        ]


@BOTH
def test_every_replication_of_every_point_is_run_once(plan_of: MakePlan, experiment: str) -> None:
    plan = plan_of(experiment + "factors.users = [1, 2, 3]\nreplications.count = 4")
    outcome = run_study(plan)
    assert (outcome.done, outcome.failed, outcome.reused, outcome.remaining) == (12, 0, 0, 0)
    assert not outcome.interrupted
    rows = counted_rows(plan)
    assert Counter(row.levels["users"] for row in rows) == {1: 4, 2: 4, 3: 4}
    for row in rows:
        assert row.seed == derive_seed(7, row.point_key, row.replication)
        assert row.run is not None
        assert row.run.values["response_s_mean"] == 1.0 + row.seed % 97


def test_one_worker_and_several_give_the_same_table(plan_of: MakePlan) -> None:
    text = MODEL + "factors.users = [1, 2, 3]\nreplications.count = 4\n"
    tables = []
    for jobs in (1, 3):
        plan = plan_of(text + f"title = 'with {jobs} workers'")
        run_study(plan, jobs=jobs)
        tables.append(table_of(plan))
        journal_path(plan.folder, quick=False).unlink()
    assert tables[0] == tables[1]


def table_of(plan: Plan) -> list[tuple[Any, ...]]:
    with journal_of(plan) as journal:
        cursor = journal._connection.execute(
            "SELECT experiment, point_key, fingerprint, levels, replication, seed, state, error, "
            "run FROM replication ORDER BY experiment, point_key, replication, id"
        )
        return list(cursor)


@BOTH
def test_a_second_session_reuses_what_is_done(plan_of: MakePlan, experiment: str) -> None:
    text = experiment + "factors.users = [1, 2]\nreplications.count = 2\nsystem.log = 'log'"
    plan = plan_of(text)
    run_study(plan)
    outcome = run_study(plan)
    assert (outcome.done, outcome.reused) == (0, 4)
    assert outcome.notes == ("4 replications of earlier runs reused",)
    assert len((plan.folder / "log").read_text().splitlines()) == 4
    with journal_of(plan) as journal:
        assert len(journal.environments()) == 1


def test_more_levels_and_replications_keep_the_older_rows(plan_of: MakePlan) -> None:
    run_study(plan_of(MODEL + "factors.users = [1, 2]\nreplications.count = 2"))
    outcome = run_study(plan_of(MODEL + "factors.users = [2, 1, 3]\nreplications.count = 3"))
    assert (outcome.reused, outcome.done) == (4, 5)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("system.version = '2'", "of other settings, or an earlier version of the study"),
        ("fixed.rate = 2", "of other settings, or an earlier version of the study"),
    ],
)
def test_rows_of_an_earlier_version_are_kept_and_not_reused(
    plan_of: MakePlan, change: str, reason: str
) -> None:
    text = MODEL + "factors.users = [1, 2]\nreplications.count = 2\n"
    run_study(plan_of(text))
    plan = plan_of(text + change)
    outcome = run_study(plan)
    assert (outcome.done, outcome.reused, outcome.kept) == (4, 0, {reason: 4})
    assert f"4 replications kept, not reused: {reason}" in outcome.notes
    assert len(all_rows(plan)) == 8
    assert {row.fingerprint for row in counted_rows(plan)} == {
        point.fingerprint for point in plan.experiments[0].points
    }
    assert run_study(plan).notes == ("4 replications of earlier runs reused",)
    assert run_study(plan_of(text)).reused == 4


@BOTH
def test_an_unreadable_replication_is_run_again_and_then_counts(
    plan_of: MakePlan, experiment: str
) -> None:
    """Fault: random bytes within one stored run."""
    plan = plan_of(experiment + "factors.users = [1, 2]\nreplications.count = 3")
    run_study(plan)
    before = table_of(plan)
    connection = sqlite3.connect(journal_path(plan.folder, quick=False))
    with connection:
        connection.execute(
            "UPDATE replication SET run = CAST(substr(run, 1, 30) || randomblob(300) AS BLOB) "
            "WHERE id = 4"
        )
    connection.close()
    outcome = run_study(plan)
    assert (outcome.done, outcome.reused) == (1, 5)
    assert "1 replication unreadable, it will be run again" in outcome.notes
    assert len(counted_rows(plan)) == 6
    assert len(all_rows(plan)) == 7
    assert {row[:-1] for row in table_of(plan)} == {row[:-1] for row in before}
    assert run_study(plan).notes == ("6 replications of earlier runs reused",)


@pytest.mark.parametrize(
    ("old", "new", "reused"),
    [("name = 'load'", "name = 'lead'", 0), ("[1, 2]", "[1, 3]", 2)],
    ids=["experiment", "level"],
)
def test_rows_of_no_point_of_the_plan_are_told(
    plan_of: MakePlan, old: str, new: str, reused: int
) -> None:
    text = MODEL + "factors.users = [1, 2]\nreplications.count = 2\n"
    run_study(plan_of(text))
    outcome = run_study(plan_of(text.replace(old, new)))
    assert outcome.reused == reused
    assert outcome.kept == {OF_NO_POINT: 4 - reused}


def test_rows_of_experiments_that_were_not_asked_for_are_no_strangers(plan_of: MakePlan) -> None:
    plan = plan_of(MODEL + MEASURE)
    run_study(plan)
    assert run_study(plan.only(["load"])).kept == {}


def test_rows_of_another_seed_are_kept_and_not_reused(plan_of: MakePlan) -> None:
    run_study(plan_of(MODEL))
    outcome = run_study(plan_of(MODEL, seed=8))
    assert (outcome.done, outcome.kept) == (10, {"of another study seed": 10})


def move_to(monkeypatch: pytest.MonkeyPatch, **facts: dict[str, Any]) -> None:
    """Let this process believe that it runs on another machine."""
    monkeypatch.setattr(environment, "collect", lambda _: facts)
    monkeypatch.setattr(machine_identity, "machine_here", lambda: Machine.of(facts))


BIG: dict[str, dict[str, Any]] = {
    "host": {"machine_id": "b1", "name": "big"},
    "cpu": {"model": "X", "usable_count": 64},
}
SMALL: dict[str, dict[str, Any]] = {
    "host": {"machine_id": "51", "name": "small"},
    "cpu": {"model": "X", "usable_count": 4},
}
ON_ANOTHER = "measured on another machine (machine-id; usable processors "


@BOTH
def test_only_measurements_belong_to_their_machine(
    plan_of: MakePlan, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(experiment + "replications.count = 3")
    move_to(monkeypatch, **BIG)
    run_study(plan)
    move_to(monkeypatch, **SMALL)
    outcome = run_study(plan)
    rows = counted_rows(plan)
    assert len(rows) == 3
    if experiment == MODEL:
        assert outcome.reused == 3
        return
    assert (outcome.done, outcome.kept) == (3, {ON_ANOTHER + "64, here 4)": 3})
    assert {row.environment for row in rows} == {2}
    assert len(all_rows(plan)) == 6


def test_what_a_run_reuses_is_what_is_shown_where_two_machines_have_measured(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: running asked for this machine, showing for the newest row: stuck at 4 of 15 done."""
    text = MEASURE + "factors.users = [1, 2, 3]\nreplications.count = "
    move_to(monkeypatch, **BIG)
    assert run_study(plan_of(text + "5")).done == 15
    move_to(monkeypatch, **SMALL)
    assert run_study(plan_of(text + "1")).done == 3
    plan = plan_of(text + "5")
    assert len(counted_rows(plan)) == 3
    move_to(monkeypatch, **BIG)
    assert run_study(plan).reused == 15
    assert len(counted_rows(plan)) == 15


def test_a_reader_sees_the_newest_machine_and_a_run_there_starts_with_nothing(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(MEASURE + "replications.count = 3")
    move_to(monkeypatch, **BIG)
    run_study(plan)
    move_to(monkeypatch, **SMALL)
    assert len(counted_rows(plan)) == 3
    missing = plan_of(MEASURE + "replications.count = 3\nsystem.program = 'missing'\n" + MODEL)
    assert run_study(missing).failed == 1
    assert [row.state for row in counted_rows(missing.only(["disk"]))] == ["failed"]


def test_a_stopping_rule_sees_the_measurements_of_its_own_session(plan_of: MakePlan) -> None:
    """Cause: the criteria were made before the session had an environment, so none counted."""
    text = "replications = { metric = 'throughput', half_width = 0.1, minimum = 3, maximum = 90 }"
    rule = SumRule()
    plan = plan_of(MEASURE + text)
    outcome = run_study(plan, stopping=rule)
    assert rule.looked[0] == 3
    assert outcome.done < 90


def test_measurements_belong_to_what_lay_at_their_place(plan_of: MakePlan) -> None:
    """Cause: another disk at the path of the one before was shown the results of that."""
    plan = plan_of(LOCATED + "factors.users = [1, 2]\nreplications.count = 3")
    for users in (1, 2):
        (plan.folder / f"place-{users}").write_text("disk A")
    assert run_study(plan).done == 6
    assert run_study(plan).reused == 6
    (plan.folder / "place-2").write_text("disk B")
    outcome = run_study(plan)
    assert (outcome.done, outcome.reused) == (3, 3)
    assert outcome.kept == {OTHER_THING: 3}
    rows = counted_rows(plan)
    assert Counter((row.levels["users"], row.environment) for row in rows) == {(1, 1): 3, (2, 2): 3}
    assert len(all_rows(plan)) == 9


def test_a_reader_elsewhere_sees_the_newest_measurements_of_each_place(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The places of the reader's machine decide nothing."""
    plan = plan_of(LOCATED + "factors.users = [1]\nreplications.count = 3")
    for content in ("disk A", "disk B"):
        (plan.folder / "place-1").write_text(content)
        run_study(plan)
    (plan.folder / "place-1").write_text("disk C")
    assert counted_rows(plan) == []
    move_to(monkeypatch, **SMALL)
    assert {row.environment for row in counted_rows(plan)} == {2}


def test_measurements_count_where_nothing_tells_what_lies_there(plan_of: MakePlan) -> None:
    plan = plan_of(LOCATED + "factors.users = [1]\nreplications.count = 3")
    assert run_study(plan).done == 3
    (plan.folder / "place-1").write_text("disk A")
    assert run_study(plan).reused == 3
    (plan.folder / "place-1").unlink()
    assert run_study(plan).reused == 3


@BOTH
@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("fails", "the disk model is overloaded\n  hint: lower the rate"),
        ("crashes", "ZeroDivisionError: division by zero (in "),
    ],
)
def test_a_failing_point_does_not_stop_the_others(
    plan_of: MakePlan, experiment: str, mode: str, message: str
) -> None:
    text = f"factors.mode = ['plain', '{mode}', 'faulty']\nreplications.count = 2"
    plan = plan_of(experiment + text)
    outcome = run_study(plan)
    assert (outcome.done, outcome.failed, outcome.remaining) == (4, 2, 0)
    failed = [row for row in counted_rows(plan) if row.state == "failed"]
    assert {row.levels["mode"] for row in failed} == {mode}
    assert all(row.error.startswith(message) for row in failed)


def test_failed_replications_are_tried_again_by_the_next_session(plan_of: MakePlan) -> None:
    plan = plan_of(MODEL + "factors.mode = ['plain', 'fails']\nreplications.count = 2")
    run_study(plan)
    outcome = run_study(plan)
    assert (outcome.reused, outcome.failed) == (2, 2)
    assert "2 replications failed before and tried again" in outcome.notes
    assert len(all_rows(plan)) == 6
    assert len(counted_rows(plan)) == 4


def test_a_point_that_kills_its_worker_is_a_failed_point(plan_of: MakePlan) -> None:
    text = "factors.users = [1, 2, 3]\nfactors.mode = ['plain', 'dies']\nreplications.count = 3"
    plan = plan_of(MODEL + text)
    outcome = run_study(plan)
    assert (outcome.done, outcome.failed) == (9, 9)
    for row in counted_rows(plan):
        assert (row.state == "failed") == (row.levels["mode"] == "dies")
        assert not row.error or "was killed by SIGKILL (9)" in row.error


def test_a_measured_point_that_only_fails_is_given_up(plan_of: MakePlan) -> None:
    plan = plan_of(MEASURE + "factors.mode = ['plain', 'fails']\nreplications.count = 5")
    outcome = run_study(plan)
    assert (outcome.done, outcome.failed, outcome.given_up, outcome.remaining) == (5, 3, 2, 0)
    assert any("2 replications not tried" in note for note in outcome.notes)


def test_nothing_starts_after_a_failure_where_that_is_wanted(plan_of: MakePlan) -> None:
    plan = plan_of(MEASURE + "factors.mode = ['fails']\nfactors.users = [1, 2, 3, 4]")
    outcome = run_study(plan, stop_on_failure=True)
    assert (outcome.done, outcome.failed, outcome.remaining) == (0, 1, 39)
    assert not outcome.interrupted


def test_a_stopping_rule_decides_with_the_runs_of_the_point(plan_of: MakePlan) -> None:
    """Oracle: the rule of the tests stops at the first multiple of three with a sum of 200."""
    text = "factors.users = [1, 2]\nreplications = { metric = 'throughput', half_width = 0.1, "
    plan = plan_of(MODEL + text + "minimum = 2, maximum = 8 }")
    outcome = run_study(plan)
    total = 0
    for point in plan.experiments[0].points:
        count, sum_s = 0, 0.0
        while count < 8 and (count % 3 or sum_s < 200):
            sum_s += 1.0 + derive_seed(7, point.key, count) % 97
            count += 1
        total += count
    assert outcome.done == total
    assert 4 < total < 16
    assert run_study(plan).reused == total


def test_a_stopping_rule_ends_at_the_maximum(plan_of: MakePlan) -> None:
    text = "replications = { metric = 'throughput', half_width = 0.1, minimum = 2, maximum = 3 }"
    assert run_study(plan_of(MODEL + "fixed.rate = 0\n" + text)).done == 3


def test_an_open_ended_point_that_was_cut_off_goes_on(plan_of: MakePlan) -> None:
    """As after a kill between two replications: nothing of the point waits, the rule is checked."""
    text = "fixed.rate = 0\nreplications = { metric = 'throughput', half_width = 0.1, minimum = 2, "
    whole = run_study(plan_of(MODEL + text + "maximum = 9 }"))
    journal_path(plan_of(MODEL).folder, quick=False).unlink()
    first = run_study(plan_of(MODEL + text + "maximum = 2 }"))
    second = run_study(plan_of(MODEL + text + "maximum = 9 }"))
    assert (first.done, second.reused) == (2, 2)
    assert second.done == whole.done - 2 > 0


OPEN_ENDED = (
    MODEL + "fixed.rate = 0\nfactors.users = [1, 2, 3, 4]\n"
    "replications = { metric = 'throughput', half_width = 0.1, minimum = 2, maximum = 40 }"
)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_rule_is_asked_and_rows_are_read_at_looks_only(
    plan_of: MakePlan, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = Counter[str]()
    original = Journal.rows

    def counting(journal: Journal, experiment: str, point_key: str) -> list[ReplicationRow]:
        reads[point_key] += 1
        return original(journal, experiment, point_key)

    monkeypatch.setattr(Journal, "rows", counting)
    rule = SumRule()
    plan = plan_of(OPEN_ENDED)
    outcome = run_study(plan, jobs=jobs, stopping=rule)
    assert outcome.done > 4 * 3
    assert all(count == 2 or count % 3 == 0 for count in rule.looked)
    assert reads.total() == len(rule.looked) <= outcome.done / 3 + 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_open_ended_study_cut_off_anywhere_ends_with_the_same_table(
    plan_of: MakePlan, jobs: int
) -> None:
    """Rows of a killed session are those before some moment, less some that still ran."""
    plan = plan_of(OPEN_ENDED)
    path = journal_path(plan.folder, plan.is_quick)
    run_study(plan, jobs=jobs)
    whole = table_of(plan)
    chance = random.Random(jobs)  # noqa: S311 - cuts need no secrecy
    for cut in range(0, len(whole), 3):
        connection = sqlite3.connect(path)
        with connection:
            connection.execute("DELETE FROM replication WHERE id > ?", (cut,))
            connection.execute("DELETE FROM replication WHERE id = ?", (cut - chance.randrange(3),))
        connection.close()
        outcome = run_study(plan, jobs=jobs)
        assert outcome.done > 0
        assert table_of(plan) == whole


def test_a_point_without_any_result_needs_no_rule(plan_of: MakePlan) -> None:
    text = "replications = { metric = 'throughput', half_width = 0.1, minimum = 2, maximum = 9 }"
    outcome = run_study(plan_of(MODEL + "fixed.mode = 'fails'\n" + text))
    assert (outcome.done, outcome.failed) == (0, 2)


def test_the_order_is_randomised_in_blocks_and_stored(plan_of: MakePlan) -> None:
    text = MEASURE + "factors.users = { from = 1, to = 12, step = 1 }\nreplications.count = 3"
    plan = plan_of(text)
    run_study(plan)
    rows = sorted(all_rows(plan), key=lambda row: row.position)
    assert [row.position for row in rows] == list(range(36))
    assert [row.replication for row in rows] == [0] * 12 + [1] * 12 + [2] * 12
    orders = [
        tuple(row.levels["users"] for row in rows[start : start + 12]) for start in (0, 12, 24)
    ]
    assert len(set(orders)) == 3
    assert all(set(order) == set(range(1, 13)) for order in orders)


def test_measurements_run_alone_after_the_simulations(plan_of: MakePlan) -> None:
    log = "system.log = 'log'\nreplications.count = 3\n"
    run_study(plan_of(MEASURE + log + MODEL + log))
    with_process = [
        line.split()[0] for line in (journal_folder(plan_of) / "log").read_text().splitlines()
    ]
    assert len(set(with_process[3:])) == 1
    assert with_process[3] not in with_process[:3]


def journal_folder(plan_of: MakePlan) -> Any:
    return plan_of(MODEL).folder


MISSING = MEASURE + "system.program = 'missing'\nfactors.users = [1, 2]\n"


def test_a_machine_that_lacks_what_every_experiment_needs_is_told_before_anything_runs(
    plan_of: MakePlan,
) -> None:
    plan = plan_of(MISSING + "system.log = 'log'")
    with pytest.raises(EnvironmentUnfitError, match="'missing' is not there"):
        run_study(plan)
    assert not (plan.folder / "log").exists()
    assert all_rows(plan) == []


def test_an_experiment_that_cannot_run_here_fails_and_the_others_go_on(plan_of: MakePlan) -> None:
    text = MODEL + "replications.count = 3\n" + MISSING + "replications.count = 4\n"
    plan = plan_of(text)
    outcome = run_study(plan)
    assert (outcome.done, outcome.failed, outcome.given_up, outcome.remaining) == (3, 2, 6, 0)
    assert not outcome.interrupted
    assert outcome.notes == (
        "experiment 'disk' cannot run here: the program 'missing' is not there; install it",
        "6 replications not tried: their experiment cannot run here",
    )
    failed = [row for row in all_rows(plan) if row.state == "failed"]
    assert sorted((row.experiment, row.levels["users"], row.replication) for row in failed) == [
        ("disk", 1, 0),
        ("disk", 2, 0),
    ]
    assert {row.error for row in failed} == {
        "the program 'missing' is not there\n  hint: install it"
    }
    whole = run_study(plan_of(text.replace("'missing'", "'present'")))
    assert (whole.done, whole.reused, whole.failed) == (8, 3, 0)


def test_an_open_ended_point_that_cannot_run_any_more_keeps_its_rows(plan_of: MakePlan) -> None:
    text = "fixed.rate = 0\nreplications = { metric = 'throughput', half_width = 0.1, minimum = 2, "
    run_study(plan_of(MEASURE + text + "maximum = 2 }"))
    refused = MEASURE + "system.program = 'missing'\n" + text + "maximum = 9 }\n"
    plan = plan_of(MODEL + "replications.count = 1\n" + refused)
    assert run_study(plan).failed == 1
    assert [row.state for row in all_rows(plan) if row.experiment == "disk"][:2] == ["done"] * 2


def test_facts_about_the_launcher_are_stored_with_the_environment(plan_of: MakePlan) -> None:
    plan = plan_of(MEASURE + "replications.count = 1")
    run_study(plan)
    with journal_of(plan) as journal:
        (facts,) = journal.environments()
    assert facts["facts"] == {"disk": {"overhead_s": 0.25}}
    assert facts["host"]["kernel"]


def test_an_interrupted_session_says_what_remains(plan_of: MakePlan) -> None:
    plan = plan_of(MODEL + "replications.count = 3")
    interrupt = Interrupt()
    interrupt.request()
    outcome = run_study(plan, interrupt=interrupt)
    assert (outcome.done, outcome.remaining, outcome.interrupted) == (0, 3, True)


def test_a_full_disk_ends_the_session_and_keeps_its_rows(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault: the disk is full after five rows; the next session resumes from there."""
    plan = plan_of(MEASURE + "replications.count = 8")
    original = Journal.append_encoded

    def limited(journal: Journal, rows: Any) -> None:
        if journal.row_count() == 5:
            count = journal._connection.execute("PRAGMA page_count").fetchone()[0]
            journal._connection.execute(f"PRAGMA max_page_count = {count}")
            rows = [(row, bytes(100_000)) for row, _ in rows]
        original(journal, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append_encoded", limited)
        with pytest.raises(EnvironmentUnfitError, match="full"):
            run_study(plan)
    assert len(all_rows(plan)) == 5
    assert run_study(plan).done == 3


def test_the_outcome_of_a_plan_without_work_is_empty(plan_of: MakePlan) -> None:
    plan = plan_of(MODEL)
    run_study(plan)
    outcome = run_study(plan.only(["load"]))
    assert (outcome.done, outcome.remaining, outcome.kept) == (0, 0, {})


@pytest.mark.parametrize("mode", ["plain", "fails", "crashes", "waits"])
def test_what_a_system_keeps_is_there_in_each_run_and_gone_after_the_session(
    plan_of: MakePlan, mode: str
) -> None:
    """Even if a run fails, has a bug, or is interrupted."""
    keeper = "[[experiment]]\nname = 'disk'\nsystem.name = 'fake-keeper'\n"
    plan = plan_of(f"{keeper}fixed.mode = '{mode}'\nreplications.count = 2")
    outcome = run_study(plan)
    assert outcome.done == (2 if mode == "plain" else 0)
    assert outcome.interrupted is (mode == "waits")
    assert not (plan.folder / "kept").exists()


def test_a_point_that_cannot_run_is_refused_before_anything_is_measured(plan_of: MakePlan) -> None:
    keeper = "[[experiment]]\nname = 'disk'\nsystem = { name = 'fake-keeper', log = 'log' }\n"
    plan = plan_of(f"{keeper}factors.users = [10, 1000]\nreplications.count = 2")
    with pytest.raises(EnvironmentUnfitError, match="no place for 1000 users"):
        run_study(plan)
    assert not (plan.folder / "log").exists()


def test_what_earlier_sessions_left_is_removed_and_said_also_where_all_is_reused(
    plan_of: MakePlan,
) -> None:
    keeper = "[[experiment]]\nname = 'disk'\nsystem.name = 'fake-keeper'\n"
    plan = plan_of(f"{keeper}replications.count = 2")
    assert run_study(plan).notes == ("all is gone",)
    (plan.folder / "kept").write_text("")
    outcome = run_study(plan)
    assert (outcome.done, outcome.reused) == (0, 2)
    assert outcome.notes[:2] == ("a kept file was left", "all is gone")
    assert not (plan.folder / "kept").exists()
