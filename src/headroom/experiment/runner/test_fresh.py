"""`--fresh`: measurements before a mark no longer count, even if the run is interrupted."""

import pytest

from headroom.experiment.conftest import MakePlan
from headroom.experiment.journal.journal import Journal
from headroom.experiment.machine import environment
from headroom.experiment.runner.fresh import mark_fresh
from headroom.experiment.runner.selection import OLDER, Selection
from headroom.experiment.study.paths import journal_path
from headroom.experiment.study.plan import Plan
from tests.support.study_sessions import run_study

MEASURE = "[[experiment]]\nname = 'disk'\nsystem.name = 'fake-measure'\n"
MODEL = "[[experiment]]\nname = 'load'\nsystem.name = 'fake-model'\n"


def mark(plan: Plan) -> list[str]:
    with Journal.open(journal_path(plan.folder, plan.is_quick), create=True) as journal:
        return mark_fresh(plan, journal)


def shown(plan: Plan) -> list[int]:
    """Return the sessions of the rows that an analysis reads."""
    with Journal.open(journal_path(plan.folder, plan.is_quick), create=False) as journal:
        selection = Selection(plan, journal)
        return [
            row.environment
            for experiment in plan.experiments
            for row in selection.heads(experiment)
        ]


def test_what_is_measured_again_replaces_what_was_and_nothing_is_deleted(plan_of: MakePlan) -> None:
    plan = plan_of(MEASURE + "factors.users = [1, 2]\nreplications.count = 2")
    run_study(plan)
    assert mark(plan) == ["disk"]
    assert shown(plan) == []
    outcome = run_study(plan)
    assert (outcome.done, outcome.kept) == (4, {OLDER: 4})
    assert shown(plan) == [3, 3, 3, 3]
    assert run_study(plan).reused == 4
    with Journal.open(journal_path(plan.folder, quick=False), create=False) as journal:
        assert journal.row_count() == 8


def test_a_run_that_was_cut_short_resumes_with_what_it_has_measured_again(
    plan_of: MakePlan,
) -> None:
    """As after a kill: the mark and some new rows are there, and a plain run resumes."""
    plan = plan_of(MEASURE + "factors.users = [1, 2, 3]")
    run_study(plan)
    mark(plan)
    some = plan_of(MEASURE + "factors.users = [1, 3]")
    assert run_study(some).done == 20
    plan = plan_of(MEASURE + "factors.users = [1, 2, 3]")
    outcome = run_study(plan)
    assert (outcome.done, outcome.reused) == (10, 20)
    assert min(shown(plan)) > 2


def test_simulations_and_what_was_never_measured_are_not_marked(plan_of: MakePlan) -> None:
    plan = plan_of(MODEL + MEASURE)
    assert mark(plan) == []
    run_study(plan.only(["load"]))
    assert mark(plan) == []
    run_study(plan)
    assert mark(plan) == ["disk"]
    assert run_study(plan).reused == 10


def test_only_the_experiments_that_were_asked_for_start_again(plan_of: MakePlan) -> None:
    plan = plan_of(MEASURE + MEASURE.replace("disk", "net"))
    run_study(plan)
    assert mark(plan.only(["net"])) == ["net"]
    outcome = run_study(plan)
    assert (outcome.done, outcome.reused) == (10, 10)


def test_a_mark_of_another_machine_leaves_the_rows_of_this_one(
    plan_of: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(MEASURE + "replications.count = 3")
    run_study(plan)
    with monkeypatch.context() as patch:
        patch.setattr(environment, "collect", lambda _: {"host": {"machine_id": "other"}})
        mark(plan)
    assert run_study(plan).reused == 3
