"""Plan, journal and report for `headroom show` if its output is not cached."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from headroom.analysis.results import StudyResult
from headroom.analysis.results_file import read_results
from headroom.cli import session
from headroom.cli.output import write_json
from headroom.cli.study.kept_screens import KeptScreens, Watch
from headroom.defects import defects_met, fallback
from headroom.errors import StudyError
from headroom.experiment.machine.program_identity import Stamp, journal_stamp
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.protocol.system import Column
from headroom.experiment.study.paths import RESULTS_NAME, results_folder
from headroom.experiment.study.plan import Plan
from headroom.report.first_screen.terminal import render_first_screen
from headroom.report.fold.terminal import render_study

if TYPE_CHECKING:
    from headroom.gate.stored import Stored


@dataclass(frozen=True, slots=True)
class Named:
    """A study as its user named it.

    Parameters
    ----------
    folder
        Its folder.
    command
        The command that shows all of its results.
    """

    folder: Path
    command: str

    @classmethod
    def of(
        cls, study: Path, *, quick: bool, seed: int | None, settings: Sequence[str] | None
    ) -> "Named":
        """Return the names that belong to the options of a command."""
        words = ["headroom", "show", *([] if study == Path() else [shlex.quote(study.as_posix())])]
        words += ["--quick"] if quick else []
        words += [] if seed is None else [f"--seed={seed}"]
        words += [f"--set {shlex.quote(text)}" for text in settings or ()]
        folder = study.parent if study.suffix == ".toml" else study
        return cls(folder, " ".join([*words, "--all"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The result of a study, and whether its text may be kept.

    Parameters
    ----------
    result
        The analysed study.
    journal
        What changes with its journal; None while that is being written.
    is_plain
        Whether the text depends on files and the environment alone: no measurement, which counts
        on some machines and not on others; no fit; no notes.
    """

    result: StudyResult
    journal: Stamp | None
    is_plain: bool


def analysed(plan: Plan) -> Shown:
    """Return the result of a study that has been run; say on stderr what does not count."""
    with session.existing_journal(plan) as journal:
        stamp = journal_stamp(journal.path)
        result = session.analysed(plan, journal)
        session.say_what_counts(plan, journal)
        is_sound = not journal.unreadable_count and not defects_met()
    return Shown(result=result, journal=stamp, is_plain=is_sound and is_simulated(plan))


def show_saved(
    path: Path,
    console: Console,
    *,
    quick: bool,
    point: str | None,
    shows_all: bool,
    as_json: bool,
    others: Mapping[str, object],
) -> None:
    """Print saved results as they are: without its study file nothing is analysed again.

    Parameters
    ----------
    path
        Folder with results, a `results.json`, or the page next to it.
    others
        Options that need the study file, with their values.
    """
    from headroom.analysis.results_file import consistent  # noqa: PLC0415 - as below
    from headroom.analysis.stored_form import stored_form  # noqa: PLC0415 - few results are saved

    stored = saved(path, quick=quick, others=others)
    if as_json:
        write_json("study-result", stored_form(stored.result))
        return
    command = Named.of(path, quick=quick, seed=None, settings=None).command
    named = Named(stored.folder or path, command)
    with consistent(stored.path):
        text = text_of(stored.result, console, named, point=point, shows_all=shows_all)
    console.file.write(text)


def saved(path: Path, *, quick: bool, others: Mapping[str, object]) -> "Stored":
    """Return results without a study file, as Python programs leave them; see `show_saved`."""
    if given := [name for name, value in others.items() if value not in (None, "", [])]:
        raise StudyError(
            f"{path}: `--{given[0]}` needs the study file, but here are only its results",
            cure="ask from the program that built the study, or leave it out",
        )
    from headroom.gate.stored import read_stored  # noqa: PLC0415 - few results are saved

    return read_stored(path, label=str(path), quick=quick)


def stored_instead(
    study: Path, named: Mapping[str, Any], error: CodeNotRunError
) -> StudyResult | None:
    """Return the results of the last run, with the reason why nothing newer can be shown.

    None if there are none, or if others are wanted: another seed or other settings.
    """
    folder = study if study.is_dir() else study.parent
    path = results_folder(folder, named["quick"]) / RESULTS_NAME
    if named["seed"] is not None or named["settings"] or not path.is_file():
        return None
    session.note(f"{error.message}; these are the results of the last run")
    return read_results(path)


def is_simulated(plan: Plan) -> bool:
    """Return whether all figures of a plan come from simulations whose parameters are given."""
    return all(
        experiment.system.column is Column.MODEL and experiment.fit is None
        for experiment in plan.experiments
    )


def text_of(
    result: StudyResult, console: Console, named: Named, *, point: str | None, shows_all: bool
) -> str:
    """Return the console output for a study, all of it or its answer, or for one of its points."""
    key = None if point is None else session.point_key(result, point)
    with console.capture() as captured:
        if shows_all or key is not None:
            render_study(result, console, point=key)
        else:
            print_answer(result, console, named)
    return captured.get()


def print_answer(result: StudyResult, console: Console, named: Named, *, reused: int = 0) -> None:
    """Print the answer of a study; all of its results if Headroom fails to answer."""

    def whole(_: str) -> None:
        render_study(result, console, reused=reused)

    if result.answer is None:
        whole("")
        return
    fallback(
        lambda: render_first_screen(
            result, console, folder=named.folder, command=named.command, reused=reused
        ),
        whole,
    )


def keep_text(
    plan: Plan,
    result: StudyResult,
    screens: KeptScreens,
    *,
    named: Named,
    watch: Watch,
    console: Console,
) -> None:
    """Keep the text that `headroom show` is going to print after a run."""
    if is_simulated(plan) and not defects_met():
        text = text_of(result, console, named, point=None, shows_all=False)
        screens.put(text, watch, journal_stamp(session.journal_of(plan)))
