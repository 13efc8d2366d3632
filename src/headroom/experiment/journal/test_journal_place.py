"""A journal that disappears during a run is noticed at the next commit, and nothing is lost."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from headroom.errors import EnvironmentUnfitError, ExitCode
from headroom.experiment.conftest import MakePlan
from headroom.experiment.journal.journal import Journal
from headroom.experiment.journal.test_journal import ROW, fill
from headroom.experiment.protocol.run import Run
from headroom.experiment.runner.test_runner import OPEN_ENDED
from headroom.experiment.study.paths import results_folder
from headroom.experiment.study.plan import PlannedExperiment, Point
from tests.support.study_sessions import SumRule, run_study

Step: TypeAlias = Callable[[Journal, Path], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results" / "journal.sqlite"


def write(path: Path, *steps: Step) -> None:
    """Open a journal, store replication 0, then do something with the open journal and its path."""
    with Journal.open(path, create=True) as journal:
        journal.append(ROW)
        for step in steps:
            step(journal, path)


def append_another(journal: Journal, _: Path) -> None:
    journal.append(replace(ROW, replication=1))


def remove_folder(_: Journal, path: Path) -> None:
    shutil.rmtree(path.parent)


def replace_file(_: Journal, path: Path) -> None:
    other = path.with_name("other.sqlite")
    fill(other, 1)
    other.replace(path)


def write_another(journal: Journal, path: Path) -> None:
    """Let another run begin at the same path, and this one notice while the other writes."""
    with Journal.open(path, create=True) as second:
        second.append(replace(ROW, replication=5))
        with pytest.raises(EnvironmentUnfitError):
            append_another(journal, path)
        second.append(replace(ROW, replication=6))


def fail(_: Journal, __: Path) -> None:
    raise KeyError


def replications(path: Path) -> list[int]:
    with Journal.open(path, create=False) as journal:
        return [row.replication for row in journal.rows("web", "00ff")]


@pytest.mark.parametrize("lose", [remove_folder, replace_file])
def test_a_lost_journal_is_noticed_at_the_next_commit_and_every_row_is_saved(
    path: Path, lose: Step
) -> None:
    with pytest.raises(EnvironmentUnfitError, match="during the run") as caught:
        write(path, lose, append_another, fail)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert replications(path.with_name("journal.sqlite.saved-1")) == [0, 1]


def test_a_journal_lost_after_its_last_row_is_noticed_when_it_is_closed(path: Path) -> None:
    with pytest.raises(EnvironmentUnfitError):
        write(path, remove_folder)
    assert replications(path.with_name("journal.sqlite.saved-1")) == [0]


def test_a_run_at_the_place_of_a_removed_journal_keeps_its_rows(path: Path) -> None:
    with pytest.raises(EnvironmentUnfitError):
        write(path, remove_folder, write_another)
    assert replications(path) == [5, 6]


def test_another_error_is_not_hidden_by_a_lost_journal(path: Path) -> None:
    with pytest.raises(KeyError):
        write(path, remove_folder, fail)


class RemovesResults(SumRule):
    """Removes the results folder at its first look, as a user might."""

    def needs_more(self, experiment: PlannedExperiment, point: Point, runs: Sequence[Run]) -> bool:
        """Return True below the sum."""
        if not self.looked:
            shutil.rmtree(self.folder)
        return super().needs_more(experiment, point, runs)

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder


def test_a_run_ends_after_its_results_were_removed(plan_of: MakePlan) -> None:
    plan = plan_of(OPEN_ENDED)
    results = results_folder(plan.folder, plan.is_quick)
    with pytest.raises(EnvironmentUnfitError, match="was removed during the run"):
        run_study(plan, stopping=RemovesResults(results))
    assert list(results.glob("*.saved-1"))
