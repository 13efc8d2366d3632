"""Measure suspected rows of stored results again: both commits side by side, new runs.

That needs the commits of both results, without uncommitted changes, in the repository of the study,
on the machine that measured them. Where anything is lacking, the reason is part of the answer.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from headroom.experiment.journal.journal import Journal
from headroom.experiment.machine.machine_identity import Machine, machine_here
from headroom.experiment.runner.progress import Progress
from headroom.experiment.study.paths import STUDY_NAME, journal_path
from headroom.gate.compare import look_again, new_blocks, silent
from headroom.gate.git import commit_of, prefix_of
from headroom.gate.measuring import Measuring
from headroom.gate.question import Question
from headroom.gate.result import ComparisonResult, Noise, Row
from headroom.gate.revisions import Revision, arms_of_studies, built
from headroom.gate.stored import Stored, compare_results
from headroom.gate.threshold import MeasureAgain


def compare_saved(
    stored: Sequence[Stored],
    folder: Path,
    *,
    question: Question,
    new_progress: Callable[[], Progress] = silent,
) -> ComparisonResult:
    """Compare results with the first one; a gate measures its suspicions again if it can.

    Parameters
    ----------
    stored, question
        As for `compare_results`.
    folder
        Where the journal of new runs goes.
    new_progress
        As for `compare_arms`.
    """
    why_not = why_not_again(stored) if question.measure_again else "the caller did not want it"
    again, measured = None, list[Measuring]()
    if not why_not:
        again = _at_commits(
            stored, folder, question=question, new_progress=new_progress, measured=measured
        )
    result = compare_results(stored, question=question, again=again, why_not=why_not)
    if any(one.is_interrupted for one in measured):
        return msgspec.structs.replace(result, stopped="interrupted", gate=None)
    return result


def study_to_run(stored: Sequence[Stored], question: Question) -> Path | None:
    """Return the study whose code a gate over results may run, None if it runs none."""
    is_gate = question.fail_on_regression is not None and question.measure_again
    return study_of(stored[1]) if is_gate and not why_not_again(stored) else None


def why_not_again(stored: Sequence[Stored]) -> str:
    """Return why suspicions cannot be measured again; empty if they can."""
    if len(stored) > 2:  # noqa: PLR2004 - one against one
        return "only two results can be measured side by side"
    folder = study_of(stored[1])
    if folder is None:
        return "the results are not in the folder of a study"
    if any(experiment.column != "measure" for experiment in stored[1].result.experiments):
        return "simulations give the same result again"
    return next(filter(None, (_why_not(one, folder) for one in stored)), "")


def _why_not(stored: Stored, folder: Path) -> str:
    """Return why one side cannot be measured again, empty if it can."""
    state = stored.facts.get("repository", {})
    if not state.get("commit") or commit_of(folder, state["commit"]) is None:
        return f'the commit of "{stored.label}" is not known here'
    if state.get("is_changed"):
        return f'"{stored.label}" was measured with uncommitted changes'
    gap = machine_here().difference(Machine.of(stored.facts))
    return gap and f'"{stored.label}" was measured on another machine ({gap})'


def study_of(stored: Stored) -> Path | None:
    """Return the folder of the study that a result lies in, None if it was moved away."""
    folder = stored.folder
    return folder if folder is not None and (folder / STUDY_NAME).is_file() else None


def _at_commits(
    stored: Sequence[Stored],
    folder: Path,
    *,
    question: Question,
    new_progress: Callable[[], Progress],
    measured: list[Measuring],
) -> MeasureAgain:
    """Return the function that measures rows again at both commits, with a journal in `folder`.

    It adds its measuring to `measured`, which knows whether the user interrupted it.
    """
    study = study_of(stored[1])
    if study is None:
        raise AssertionError("a result without its study cannot be measured again")
    path = Path(prefix_of(study))
    revisions = [
        Revision(label=one.label, commit=one.facts["repository"]["commit"], path=path)
        for one in stored
    ]

    def again(suspected: Sequence[Row], level: float) -> list[tuple[Row, Noise | None]]:
        with (
            built(study, revisions, question.build) as roots,
            Journal.open(journal_path(folder, False), create=True) as journal,  # noqa: FBT003 - no variant
        ):
            is_quick = stored[1].result.is_quick
            arms = arms_of_studies(
                roots, revisions, metrics=question.metrics, quick=is_quick, is_twice=True
            )
            measuring = Measuring(arms=arms, journal=journal, new_progress=new_progress)
            measured.append(measuring)
            count = new_blocks(suspected, level, question, first=question.looks[0])
            return look_again(measuring, suspected, range(count), question)

    return again
