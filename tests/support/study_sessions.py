"""A driver process for the tests: runs a study of fake systems as `headroom run` would.

Started as ``python -m tests.support.study_sessions FOLDER JOBS [ROW STAGE]`` it can be
killed at any moment without taking the tests with it, or kill itself around the commit of a row.
It prints the outcome as JSON.
"""

import io
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import pytest
from rich.console import Console

from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.protocol import registry
from headroom.experiment.protocol.run import Run
from headroom.experiment.runner.executors import Place
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.runner import Outcome, StoppingRule, run_plan
from headroom.experiment.study.design import Plan, make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.paths import journal_path
from headroom.experiment.study.plan import PlannedExperiment, Point
from tests.support.fake_systems import fake_entries

Stage: TypeAlias = Literal["before", "during", "after"]
Rows: TypeAlias = Iterable[tuple[ReplicationRow, bytes | None]]


class SumRule:
    """Requests more until the first values add up to 200: its answer depends on the runs.

    It checks after every third replication. `looked` holds the numbers that it was asked about.
    """

    def __init__(self) -> None:
        self.looked: list[int] = []

    def needs_more(self, experiment: PlannedExperiment, point: Point, runs: Sequence[Run]) -> bool:
        """Return True below the sum."""
        del experiment, point
        self.looked.append(len(runs))
        seen = runs[: len(runs) - len(runs) % 3]
        return sum(run.values["response_s_mean"] for run in seen) < 200

    def next_look(self, experiment: PlannedExperiment, count: int) -> int:
        """Return the next multiple of three."""
        del experiment
        return count + 3 - count % 3


def quiet_progress() -> Progress:
    """Return a progress without output."""
    return Progress(Console(file=io.StringIO()))


def run_study(
    plan: Plan,
    *,
    jobs: int = 2,
    stop_on_failure: bool = False,
    interrupt: Interrupt | None = None,
    stopping: StoppingRule | None = None,
    place: Place | None = None,
) -> Outcome:
    """Run a plan with its journal in the right place."""
    with Journal.open(journal_path(plan.folder, plan.is_quick), create=True) as journal:
        return run_plan(
            plan,
            journal,
            stopping=stopping or SumRule(),
            jobs=jobs,
            progress=quiet_progress(),
            interrupt=interrupt or Interrupt(),
            stop_on_failure=stop_on_failure,
            place=place,
        )


def kill_at_row(number: int, stage: Stage) -> None:
    """Let this process kill itself around the commit of a row, counted from 0 in this process."""
    original = Journal.append_encoded
    counter = itertools.count()

    def append_encoded(journal: Journal, rows: Rows) -> None:
        is_due = next(counter) == number
        if is_due and stage == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if is_due and stage == "during":
            journal._connection.set_trace_callback(_kill_at_commit)
        original(journal, rows)
        if is_due and stage == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    Journal.append_encoded = append_encoded  # type: ignore[assignment,method-assign]  # fault


def after_commits(monkeypatch: pytest.MonkeyPatch, acts: Mapping[int, Callable[[], None]]) -> None:
    """Let something happen after some commits of rows, counted from 1."""
    original, counter = Journal.append_encoded, itertools.count(1)

    def append_encoded(journal: Journal, rows: Rows) -> None:
        original(journal, rows)
        acts.get(next(counter), lambda: None)()

    monkeypatch.setattr(Journal, "append_encoded", append_encoded)


def _kill_at_commit(statement: str) -> None:
    if statement == "COMMIT":
        os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, jobs: str, number: str = "-1", stage: Stage = "before") -> None:
    """Run the study in a folder."""
    registry.registered = fake_entries  # a separate process
    kill_at_row(int(number), stage)
    plan = make_plan(load_study(Path(folder)), quick=False)
    outcome = run_study(plan, jobs=int(jobs))
    sys.stdout.write(msgspec.json.encode(outcome).decode() + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]  # the tests name a stage
