"""The steps that several commands share: open a study, its journal, its analysed result."""

import errno
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headroom.analysis.analyse import analyse
from headroom.analysis.fits import with_fits
from headroom.analysis.results import PointResult, StudyResult
from headroom.analysis.results_file import write_results
from headroom.cli.output import error_console, print_lines
from headroom.errors import StudyError
from headroom.experiment.design import make_plan
from headroom.experiment.journal import Journal
from headroom.experiment.paths import PAGE_NAME, RESULTS_NAME, journal_path, results_folder
from headroom.experiment.plan import Plan, PlannedExperiment
from headroom.experiment.study_file import load_study
from headroom.experiment.system import Remarkable
from headroom.quantities import format_level
from headroom.report.page import render_page


def open_plan(
    study: Path, *, quick: bool, seed: int | None = None, settings: Sequence[str] | None = None
) -> Plan:
    """Load and check a study file with its settings, and lay out its points.

    What is fitted from results gets its values where those are there already.
    """
    plan = make_plan(load_study(study, settings or ()), quick=quick, seed=seed)
    path = journal_of(plan)
    if all(one.is_ready for one in plan.experiments) or not path.exists():
        return plan
    with Journal.open(path, create=False) as journal:
        return with_fits(plan, journal)


def say_remarks(plan: Plan, *, quiet: bool = False) -> None:
    """Say what is likely a mistake in a system at all points of an experiment.

    What stands out at some points only is a matter of the factors, and not said.
    """
    said: dict[str, None] = {}
    for experiment in plan.experiments:
        said |= dict.fromkeys(_remarks_at_all_points(experiment))
    for remark in said:
        note(f"remark: {remark}", quiet=quiet)


def _remarks_at_all_points(experiment: PlannedExperiment) -> list[str]:
    system = experiment.system
    if not isinstance(system, Remarkable) or not experiment.points:
        return []
    first, *others = experiment.points
    found = list(system.remarks(first.config))
    for point in others:
        if found:
            here = system.remarks(point.config)
            found = [remark for remark in found if remark in here]
    return found


def journal_of(plan: Plan) -> Path:
    """Return where the plan's journal lies."""
    return journal_path(plan.folder, plan.is_quick)


@contextmanager
def existing_journal(plan: Plan) -> Iterator[Journal]:
    """Open the journal of a study that has been run; say what to do where it has not."""
    path = journal_of(plan)
    if not path.exists():
        raise _not_run(plan, path)
    with Journal.open(path, create=False) as journal:
        yield journal
        if journal.unreadable_count:
            note(f"{journal.unreadable_count} damaged rows were passed over; `run` renews them")


def _not_run(plan: Plan, path: Path) -> StudyError:
    """Return the error that says what is not there, and what is instead."""
    folder = shlex.quote(str(plan.folder))
    own, other = (" --quick", "") if plan.is_quick else ("", " --quick")
    run_it = f"headroom run {folder}{own}"
    if not journal_path(plan.folder, not plan.is_quick).exists():
        return StudyError(
            f"{plan.folder} has no results yet ({path} does not exist)",
            cure=f"run it first: {run_it}",
        )
    there = "but none of its quick form" if plan.is_quick else "but only of its quick form"
    return StudyError(
        f"{plan.folder} has results, {there}",
        cure=f"see those: headroom show {folder}{other}; or run what is missing: {run_it}",
    )


def analysed(plan: Plan, journal: Journal) -> StudyResult:
    """Return the analysed study, complete or not."""
    return analyse(plan, journal, environments=journal.environments(), command=repeat_command(plan))


def repeat_command(plan: Plan) -> str:
    """Return the command that repeats the study as it was planned, from its repository's root."""
    words = ["headroom", "run", shlex.quote(_portable_path(plan.folder))]
    if plan.is_quick:
        words.append("--quick")
    if plan.seed != plan.study.seed:
        words.append(f"--seed={plan.seed}")
    words += [f"--set {shlex.quote(text)}" for text in plan.settings]
    return " ".join(words)


def _portable_path(folder: Path) -> str:
    """Return the path within the repository, or the bare name: no path of this machine."""
    resolved = folder.resolve()
    for root in resolved.parents:
        if (root / ".git").exists():
            return resolved.relative_to(root).as_posix()
    return resolved.name


def write_artefacts(plan: Plan, result: StudyResult) -> Path:
    """Write results.json and the page beside the journal; return the page's path."""
    folder = results_folder(plan.folder, plan.is_quick)
    write_results(result, folder / RESULTS_NAME)
    page = folder / PAGE_NAME
    write_page(result, page)
    return page


def write_page(result: StudyResult, page: Path) -> None:
    """Write the report so that a reader never sees half a page."""
    if page.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(page))
    draft = page.with_name(page.name + ".draft")
    draft.write_text(render_page(result), encoding="utf-8")
    draft.replace(page)


def note(message: str, *, quiet: bool = False) -> None:
    """Say something about the run on stderr."""
    if not quiet:
        print_lines(error_console(), f"headroom: {message}")


def point_key(result: StudyResult, wanted: str) -> str:
    """Return the key of the one point that `wanted` names by its key or by its levels."""
    points = [point for experiment in result.experiments for point in experiment.points]
    words = [word.strip() for word in wanted.split(",")]
    found = [
        point.key
        for point in points
        if wanted == point.key or all(_is_level(word, point) for word in words)
    ]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} points are" if found else "no point is"
    raise StudyError(
        f"{what} {wanted!r} in study {result.name!r}",
        cure="name all levels, or take a key that `headroom run STUDY --dry-run` prints",
    )


def _is_level(word: str, point: PointResult) -> bool:
    """Return whether ``NAME=LEVEL`` is so at a point, however the level is written."""
    name, sign, level = (part.strip() for part in word.partition("="))
    if not sign or name not in point.levels:
        return False
    known = point.levels[name]
    if level in {str(known), format_level(known)}:
        return True
    if isinstance(known, str | bool):
        return False
    try:
        return float(level.replace(",", "")) == known
    except ValueError:
        return False
