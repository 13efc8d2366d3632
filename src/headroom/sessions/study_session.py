"""Open a study, its journal and its analysed result; write its page.

The analysis and chart modules are loaded only when needed: a cached result needs neither.
"""

import html
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from headroom.analysis.kept_answers import KeptAnswers
from headroom.analysis.kept_result import KeptResult, result_key
from headroom.analysis.results import PointResult, StudyResult
from headroom.analysis.results_file import consistent, write_results
from headroom.defects import defects_met, fallback
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.machine.program_identity import digest_of, journal_stamp, program_identity
from headroom.experiment.protocol.kept_code import Records, keeping
from headroom.experiment.protocol.system import Column, Modelled
from headroom.experiment.runner.resume import OF_NO_POINT, survey
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.content_identity import study_files_identity
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import LoadedStudy, load_study
from headroom.experiment.study.paths import (
    KEPT_ANSWERS_NAME,
    KEPT_NOTES_NAME,
    KEPT_RESULT_NAME,
    PAGE_NAME,
    RESULTS_NAME,
    journal_path,
    results_folder,
)
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.output_file import replace_file
from headroom.quantities import format_level
from headroom.report.fold.terminal import render_study
from headroom.report.terminal.screen import printed
from headroom.report.words import count_noun
from headroom.sessions.trust import check_trust
from headroom.sessions.voice import Say
from headroom.simulation.checks.remarks import remarks


def open_plan(
    study: Path,
    *,
    quick: bool,
    seed: int | None = None,
    settings: Sequence[str] | None = None,
    is_trusted: bool = False,
) -> Plan:
    """Load and check a study file with its settings, and lay out its points.

    This runs code of the study, if the user agrees; see `looking` for a plan that runs none. What
    is fitted from results gets its values where those are there already.
    """
    loaded = load_study(study, settings or ())
    check_trust(loaded, is_trusted=is_trusted)
    path = journal_path(loaded.folder, quick)
    code: Records = {}
    if path.exists():
        with suppress(HeadroomError), Journal.open(path, create=False) as journal:
            code = journal.code()  # What is damaged is met, and said, when rows are read.
    with keeping(code):
        return replace(planned(loaded, quick=quick, seed=seed), code=code)


def planned(loaded: LoadedStudy, *, quick: bool, seed: int | None = None) -> Plan:
    """Return the plan of a study that was read or built, fitted values in place if known."""
    plan = make_plan(loaded, quick=quick, seed=seed)
    path = journal_of(plan)
    if not _is_fitted(plan) or not path.exists():
        return plan
    with Journal.open(path, create=False) as journal:
        return _settled(plan, journal)


def _is_fitted(plan: Plan) -> bool:
    return any(experiment.fit is not None for experiment in plan.experiments)


def _settled(plan: Plan, journal: Journal) -> Plan:
    """Return a plan with the fitted values that its rows determine now."""
    if not _is_fitted(plan):
        return plan
    from headroom.analysis.fits.fits import with_fits  # noqa: PLC0415 - few studies are fitted

    return with_fits(plan, journal)


def remarks_of(plan: Plan) -> list[str]:
    """Return what is likely a mistake in a system at all points of an experiment, each once.

    A remark about some of the points only is a matter of the factors, and left out.
    """
    found: dict[str, None] = {}
    for experiment in plan.experiments:
        found |= dict.fromkeys(_remarks_at_all_points(experiment))
    return list(found)


def _remarks_at_all_points(experiment: PlannedExperiment) -> list[str]:
    system = experiment.system
    if not isinstance(system, Modelled) or not experiment.points:
        return []
    first, *others = experiment.points
    found = list(remarks(system.model(first.config)))
    for point in others:
        if found:
            here = remarks(system.model(point.config))
            found = [remark for remark in found if remark in here]
    return found


def journal_of(plan: Plan) -> Path:
    """Return where the plan's journal lies."""
    return journal_path(plan.folder, plan.is_quick)


@contextmanager
def existing_journal(plan: Plan, say: Say) -> Iterator[Journal]:
    """Open the journal of a study that has been run; raise with a hint if it has not."""
    path = journal_of(plan)
    if not path.exists():
        raise _not_run(plan, path)
    with Journal.open(path, create=False) as journal:
        for note in journal.notes:
            say(note)
        yield journal
        if journal.unreadable_count:
            say(f"{journal.unreadable_count} damaged rows were skipped; `run` repeats them")


def what_counts(plan: Plan, journal: Journal) -> list[str]:
    """Return where shown measurements come from, and why others are left out.

    Every row has to be read for that, so the answer is kept while the journal is unchanged.
    """
    kept = KeptAnswers(results_folder(plan.folder, plan.is_quick) / KEPT_NOTES_NAME)
    key = _result_key(plan, journal, program_identity())
    found = kept.get(key) if key else None
    if found is not None:
        return msgspec.json.decode(found, type=list[str])
    notes = list(_what_counts(plan, journal))
    if key and not journal.unreadable_count:
        kept.put(key, msgspec.json.encode(notes))
        kept.save()
    return notes


def _what_counts(plan: Plan, journal: Journal) -> Iterator[str]:
    measured = [
        experiment for experiment in plan.experiments if experiment.system.column is Column.MEASURE
    ]
    selection = Selection(plan, journal)
    criteria = {one.spec.name: selection.criteria(one) for one in measured}
    for name, one in criteria.items():
        if one.elsewhere:
            yield (f"experiment {name!r} was measured on another machine ({one.elsewhere})")
    found = survey(replace(plan, experiments=tuple(measured)), journal, criteria)
    for reason, count in sorted(found.kept.items()):
        if reason != OF_NO_POINT:
            yield (f"{count_noun(count, 'replication')} left out: {reason}; `run` measures again")


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
    there = "but none of its quick variant" if plan.is_quick else "but only of its quick variant"
    return StudyError(
        f"{plan.folder} has results, {there}",
        cure=f"see those: headroom show {folder}{other}; or run what is missing: {run_it}",
    )


def identity_of(plan: Plan) -> bytes:
    """Return the identity of program and files behind a plan that was made just now."""
    return digest_of([program_identity(), study_files_identity(plan)])


def analysed(
    plan: Plan, journal: Journal, *, identity: bytes | None = None, jobs: int | None = None
) -> StudyResult:
    """Return the analysed study, complete or not.

    Parameters
    ----------
    plan, journal
        The study and its rows.
    identity
        See `identity_of`; None where the plan was made just now.
    jobs
        Processes that may analyse points at a time; None: one for each processor.
    """
    identity = identity or identity_of(plan)
    key = _result_key(plan, journal, identity)
    kept = KeptResult(results_folder(plan.folder, plan.is_quick) / KEPT_RESULT_NAME)
    found = kept.get(key) if key else None
    if found is not None:
        return found
    from headroom.analysis.analyse import analyse  # noqa: PLC0415 - not for a kept result
    from headroom.analysis.answers import Memory  # noqa: PLC0415 - as above

    answers = KeptAnswers(results_folder(plan.folder, plan.is_quick) / KEPT_ANSWERS_NAME)
    with consistent(journal.path):
        result = analyse(
            plan,
            journal,
            environments=journal.environments(),
            command=repeat_command(plan),
            memory=Memory(kept=answers, identity=identity, jobs=jobs or os.cpu_count() or 1),
        )
    answers.save()
    is_flawless = not journal.unreadable_count and not defects_met()
    if key and is_flawless and key == _result_key(plan, journal, identity):
        kept.put(key, result)
    return result


def _result_key(plan: Plan, journal: Journal, identity: bytes) -> bytes | None:
    """Return the key of the result of a plan; None while its journal is being written."""
    stamp = journal_stamp(journal.path)
    command = repeat_command(plan)
    return stamp and result_key(plan, journal, identity=identity, stamp=stamp, command=command)


def keep(plan: Plan, result: StudyResult, *, identity: bytes) -> None:
    """Keep the result of a run whose journal is closed, for the next look at it.

    The next one plans with the fitted values that the run has found, so these are in the key.
    """
    if defects_met():
        return
    with Journal.open(journal_of(plan), create=False) as journal:
        key = _result_key(_settled(plan, journal), journal, identity)
    if key:
        path = results_folder(plan.folder, plan.is_quick) / KEPT_RESULT_NAME
        KeptResult(path).put(key, result)


def repeat_command(plan: Plan) -> str:
    """Return the command that repeats the study as it was planned, from its repository's root."""
    if plan.command:
        return plan.command
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


def write_artefacts(plan: Plan, result: StudyResult, say: Say) -> Path:
    """Write results.json and the page beside the journal; return the page's path."""
    folder = results_folder(plan.folder, plan.is_quick)
    write_results(result, folder / RESULTS_NAME)
    page = folder / PAGE_NAME
    replace_file(page, page_text(result, say))
    return page


def page_text(result: StudyResult, say: Say) -> str:
    """Return the report as a page."""
    from headroom.report.page import render_page  # noqa: PLC0415 - few commands draw

    return fallback(lambda: render_page(result), _plain_page(result, say))


def _plain_page(result: StudyResult, say: Say) -> Callable[[str], str]:
    """Return the writer of a page without results: the text of the terminal."""

    def write(reason: str) -> str:
        say(f"the page holds plain text only: {reason}")
        text = printed(
            lambda console: fallback(lambda: render_study(result, console), lambda _: None), 100
        )
        title, why = html.escape(result.title), html.escape(reason)
        return (
            f'<!doctype html>\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f"<p>This page could not be drawn: {why}. All results are in {RESULTS_NAME}.</p>\n"
            f"<pre>{html.escape(text)}</pre>\n"
        )

    return write


def point_key(result: StudyResult | Plan, wanted: str) -> str:
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
        f"{what} {wanted!r} in the study",
        cure="name all levels, or take a key that `headroom run STUDY --dry-run` prints",
    )


def _is_level(word: str, point: PointResult | Point) -> bool:
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
