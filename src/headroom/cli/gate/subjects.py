"""The subjects of `headroom compare`: commands, results, or one thing at several commits."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headroom.errors import StudyError
from headroom.experiment.runner.progress import Progress
from headroom.gate.arms import Command
from headroom.gate.compare import compare_arms, compare_commands
from headroom.gate.git import known_commit, prefix_of
from headroom.gate.meaning import Meaning, command_of, meaning_of, meanings_of
from headroom.gate.question import Question
from headroom.gate.repeat import compare_saved, study_to_run
from headroom.gate.result import ComparisonResult
from headroom.gate.revisions import Revision, arms_of_studies, built
from headroom.gate.stored import read_stored
from headroom.sessions.trust import trusted_study


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """A question, the folder of its runs, and how they show their progress."""

    question: Question
    folder: Path
    new_progress: Callable[[], Progress]


def compared(texts: Sequence[str], revisions: Sequence[str], here: Here) -> ComparisonResult:
    """Compare what the arguments name."""
    if revisions:
        return _at_revisions(texts, revisions, here)
    if here.question.build:
        raise StudyError(
            "--build builds the checkouts of revisions, and there is no --rev",
            cure="name two with --rev, or build before",
        )
    found = meanings_of(texts)
    labels = _labels([meaning.text for meaning in found], here.question.names)
    if found[0].kind == "command":
        commands = _commands(found, labels, here, [Path.cwd()] * len(found))
        return _of_commands(commands, here)
    return _of_results(found, labels, here)


def _labels(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    if len(names) > len(texts):
        raise StudyError(
            f"{len(names)} names for {len(texts)} subjects", cure="give each --name once"
        )
    labels = [*names, *texts[len(names) :]]
    return [
        label if labels.count(label) == 1 else f"{label} ({number})"
        for number, label in enumerate(labels, start=1)
    ]


def _commands(
    found: Sequence[Meaning], labels: Sequence[str], here: Here, folders: Sequence[Path]
) -> list[Command]:
    prepare = here.question.prepare
    if len(prepare) not in {0, 1, len(found)}:
        raise StudyError(
            f"{len(prepare)} --prepare for {len(found)} commands",
            cure="give one for all, or one for each in order",
        )
    each = list(prepare) if len(prepare) == len(found) else [*prepare] * len(found)
    words: list[list[tuple[str, ...]]] = [[command_of(line, folders[0]).argv] for line in each]
    words = words or [[] for _ in found]
    return [
        Command(argv=one.argv, label=label, folder=folder, prepare=before)
        for one, label, folder, before in zip(found, labels, folders, words, strict=True)
    ]


def _of_commands(commands: Sequence[Command], here: Here) -> ComparisonResult:
    return compare_commands(
        commands, here.folder, question=here.question, new_progress=here.new_progress
    )


def _of_results(found: Sequence[Meaning], labels: Sequence[str], here: Here) -> ComparisonResult:
    stored = [
        read_stored(one.path, label=label, quick=here.question.quick)
        for one, label in zip(found, labels, strict=True)
    ]
    if study := study_to_run(stored, here.question):
        trusted_study(study)
    return compare_saved(
        stored, here.folder, question=here.question, new_progress=here.new_progress
    )


def _at_revisions(texts: Sequence[str], revisions: Sequence[str], here: Here) -> ComparisonResult:
    """Compare one study, or one command, at several commits."""
    if len(texts) != 1 or len(revisions) < 2:  # noqa: PLR2004 - a pair
        raise StudyError(
            f"--rev compares one study or command at two commits or more, not {len(texts)} at "
            f"{len(revisions)}",
            cure="headroom compare --rev main --rev HEAD 'COMMAND'",
        )
    labels = _labels(revisions, here.question.names)
    commits = [known_commit(Path(), revision) for revision in revisions]
    is_study = Path(texts[0]).is_dir() and meaning_of(texts[0]).kind == "result"
    path = Path(prefix_of(Path())) / (texts[0] if is_study else "")
    found = [
        Revision(label=label, commit=commit, path=path)
        for label, commit in zip(labels, commits, strict=True)
    ]
    if is_study:
        trusted_study(Path(texts[0]))
        return _of_studies(found, here)
    with built(Path(), found, here.question.build) as roots:
        folders = [root / path for root in roots]
        meaning = command_of(texts[0], folders[0])
        commands = _commands([meaning] * len(found), labels, here, folders)
        result = _of_commands(commands, here)
    return msgspec.structs.replace(result, title=f"{shlex.join(meaning.argv)}: {result.title}")


def _of_studies(revisions: Sequence[Revision], here: Here) -> ComparisonResult:
    """Compare a study at several commits; checkouts and journal are temporary."""
    question = here.question
    with built(Path(), revisions, question.build) as roots:
        arms = arms_of_studies(
            roots,
            revisions,
            metrics=question.metrics,
            quick=question.quick,
            is_twice=question.fail_on_regression is not None,
        )
        return compare_arms(
            arms, here.folder, question=question, new_progress=here.new_progress, kind="revisions"
        )
