"""Steps of a session as the commands take them: messages go to stderr."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headroom.analysis.results import StudyResult
from headroom.cli.output import ColorMode, error_console, print_lines
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.progress import Progress
from headroom.experiment.study.plan import Plan
from headroom.output_file import write_output
from headroom.sessions import looking, study_session, trust
from headroom.sessions.study_session import (
    analysed,
    identity_of,
    journal_of,
    open_plan,
    point_key,
)

__all__ = [
    "TerminalVoice",
    "analysed",
    "existing_journal",
    "identity_of",
    "journal_of",
    "looked_at",
    "note",
    "open_plan",
    "point_key",
    "say_remarks",
    "say_what_counts",
    "write_artefacts",
    "write_page",
]


_MOST_NAMES = 10


def note(message: str, *, quiet: bool = False) -> None:
    """Say something about the run on stderr."""
    if not quiet:
        print_lines(error_console(), f"headroom: {message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalVoice:
    """The voice of a command: stderr, with a bar if that is a terminal."""

    color: ColorMode
    is_quiet: bool

    def note(self, message: str) -> None:
        """Print a message, unless the user wants quiet."""
        note(message, quiet=self.is_quiet)

    def insist(self, message: str) -> None:
        """Print a message that the user needs even if quiet."""
        note(message)

    def progress(self) -> Progress:
        """Return a bar on stderr."""
        return Progress(error_console(self.color), is_quiet=self.is_quiet)


def say_remarks(plan: Plan, *, quiet: bool = False) -> None:
    """Print what is likely a mistake in a system at all points of an experiment."""
    for remark in study_session.remarks_of(plan):
        note(f"remark: {remark}", quiet=quiet)


@contextmanager
def looked_at(
    study: Path, *, quick: bool, seed: int | None = None, settings: Sequence[str] | None = None
) -> Iterator[Plan]:
    """Plan a study without running any code of its folder; say what has changed there."""
    with looking.looked_at(study, note, quick=quick, seed=seed, settings=settings) as plan:
        yield plan


def ask_for_trust(folder: Path, code: trust.Code) -> trust.Answer:
    """Ask on the terminal whether the code of a folder may run; no without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return "no"
    note(f"{folder} runs code on this machine, and this code is new to you:")
    for name in code.names[:_MOST_NAMES]:
        print_lines(error_console(), f"  {name}")
    if len(code.names) > _MOST_NAMES:
        print_lines(error_console(), f"  and {len(code.names) - _MOST_NAMES} more")
    print_lines(error_console(), "Run it? y: this code; a: this folder, always; else: no")
    answers: dict[str, trust.Answer] = {"y": "yes", "a": "always"}
    return answers.get(sys.stdin.readline().strip().lower()[:1], "no")


trust.ask[:] = [ask_for_trust]


@contextmanager
def existing_journal(plan: Plan) -> Iterator[Journal]:
    """Open the journal of a study that has been run; raise with a hint if it has not."""
    with study_session.existing_journal(plan, note) as journal:
        yield journal


def say_what_counts(plan: Plan, journal: Journal) -> None:
    """Print where shown measurements come from, and why others are left out."""
    for message in study_session.what_counts(plan, journal):
        note(message)


def write_artefacts(plan: Plan, result: StudyResult) -> Path:
    """Write results.json and the page beside the journal; return the page's path."""
    return study_session.write_artefacts(plan, result, note)


def write_page(result: StudyResult, page: Path) -> None:
    """Write the report to the file that the user named."""
    write_output(page, study_session.page_text(result, note))
