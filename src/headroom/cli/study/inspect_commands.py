"""`headroom status`, `show`, `report` and `list`: inspect studies and their results."""

import webbrowser
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from headroom.analysis.results import ExperimentResult, PointResult, StudyResult
from headroom.cli import options, session
from headroom.cli.model.model_command import model_names
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.cli.study.show_command import is_saved
from headroom.cli.study.shown import saved, stored_instead
from headroom.errors import ExitCode, HeadroomError, StudyError
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.protocol.registry import system_names
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.paths import JOURNAL_NAME, PAGE_NAME, results_folder
from headroom.experiment.study.plan import PlannedExperiment
from headroom.output_file import write_output
from headroom.report.index.entries import entries_of, is_folder_of_studies, study_files
from headroom.report.words import count_noun
from headroom.sessions.looking import outline_of


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How far one experiment has come: each point is in one of four states."""

    experiment: str
    points: int
    finished: int
    """Every planned replication has succeeded, and there are figures."""
    open: int
    """Some replications are still to be run."""
    failed: int
    """A replication has failed."""
    without_figures: int
    """All ran, but nothing may be reported: no steady state, or a run that carries a fault."""
    replications: int
    planned_replications: int
    waits: str = ""
    """Why it cannot run yet: its parameters are fitted from results that are not there."""


def status(
    study: options.StudyPath = Path(),
    *,
    quick: options.Quick = False,
    seed: options.Seed = None,
    settings: options.Settings = None,
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Show the progress of a study: finished, open and failed points per experiment."""
    named: dict[str, Any] = {"quick": quick, "seed": seed, "settings": settings}
    try:
        rows = _status_rows(study, named)
    except CodeNotRunError as error:
        rows = _status_without_code(study, named, error)
    if as_json:
        write_json("status", rows)
        return
    table = Table(
        "experiment", "points", "finished", "open", "failed", "without figures", "replications"
    )
    for row in rows:
        counts = (row.points, row.finished, row.open, row.failed, row.without_figures)
        done = f"{row.replications} of {row.planned_replications}"
        table.add_row(row.experiment, *map(str, counts), done)
    console = result_console(color)
    console.print(table)
    for row in rows:
        if row.waits:
            console.print(f"{row.experiment}: {row.waits}", markup=False, soft_wrap=True)


def _status_rows(study: Path, named: Mapping[str, Any]) -> list[Status]:
    with session.looked_at(study, **named) as plan:
        if not session.journal_of(plan).exists():
            return [_status_before_the_first_run(item) for item in plan.experiments]
        with session.existing_journal(plan) as journal:
            return [_status_of(item) for item in session.analysed(plan, journal).experiments]


def _status_without_code(
    study: Path, named: Mapping[str, Any], error: CodeNotRunError
) -> list[Status]:
    """Return the status of a study whose code no run has asked what is needed now."""
    result = stored_instead(study, named, error)
    if result is not None:
        return [_status_of(item) for item in result.experiments]
    with outline_of(study, **named) as plan:
        return [_status_before_the_first_run(item) for item in plan.experiments]


def _status_of(experiment: ExperimentResult) -> Status:
    states = Counter(map(_state_of, experiment.points))
    return Status(
        experiment=experiment.name,
        points=len(experiment.points),
        finished=states["finished"],
        open=states["open"],
        failed=states["failed"],
        without_figures=states["without figures"],
        replications=sum(point.done for point in experiment.points),
        planned_replications=sum(point.planned for point in experiment.points),
        waits="" if experiment.fit is None else experiment.fit.reason,
    )


def _state_of(point: PointResult) -> str:
    if point.failed:
        return "failed"
    if not point.is_finished:
        return "open"
    return "without figures" if point.lacks_figures else "finished"


def _status_before_the_first_run(experiment: PlannedExperiment) -> Status:
    count = len(experiment.points)
    return Status(
        experiment=experiment.spec.name,
        points=count,
        finished=0,
        open=count,
        failed=0,
        without_figures=0,
        replications=0,
        planned_replications=count * experiment.first_replications,
        waits="" if experiment.fit is None else experiment.fit.reason,
    )


def report(
    study: options.StudyPath = Path(),
    *,
    quick: options.Quick = False,
    seed: options.Seed = None,
    settings: options.Settings = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the page here instead.")
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    is_checked: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Compute each answer again from its rows, by other code; exit 3 if one differs.",
        ),
    ] = False,
) -> None:
    """Analyse the journal again and write the report page; prints the page's path.

    Of a folder that holds several studies, write one page over all of them, from the results that
    they have.
    """
    if is_folder_of_studies(study):
        page = _write_index(study, output)
        _show_page(page, is_opened=is_opened)
        return
    if is_saved(study, quick=quick):
        stored = saved(study, quick=quick, others={"seed": seed, "set": settings})
        result, page = stored.result, output or (stored.path or study).with_name(PAGE_NAME)
        session.write_page(result, page)
    else:
        named = {"quick": quick, "seed": seed, "settings": settings}
        result, page = _reported(study, named, output)
    _show_page(page, is_opened=is_opened)
    if is_checked:
        _check(result)


def _reported(
    study: Path, named: Mapping[str, Any], output: Path | None
) -> tuple[StudyResult, Path]:
    """Analyse the journal of a study again, write its page, and return both."""
    try:
        with session.looked_at(study, **named) as plan:
            with session.existing_journal(plan) as journal:
                result = session.analysed(plan, journal)
                session.say_what_counts(plan, journal)
            if output is None:
                return result, session.write_artefacts(plan, result)
    except CodeNotRunError as error:
        stored = stored_instead(study, named, error)
        if stored is None:
            raise
        folder = study if study.is_dir() else study.parent
        result, output = stored, output or results_folder(folder, named["quick"]) / PAGE_NAME
    session.write_page(result, output)
    return result, output


def _check(result: StudyResult) -> None:
    """Print what contradicts the answers of a study, and exit 3 if anything does."""
    from headroom.report.check.agreement import disagreements  # noqa: PLC0415 - few are checked
    from headroom.report.check.rows import faults_of  # noqa: PLC0415 - as above

    found = [*faults_of(result), *disagreements(result)]
    for fault in found:
        session.note(fault)
    count = count_noun(len(result.answers), "answer")
    session.note(f"{count} checked: {count_noun(len(found), 'contradiction')}")
    if found:
        raise typer.Exit(ExitCode.CLAIMS_DIFFER)


def _write_index(folder: Path, output: Path | None) -> Path:
    """Write the page over the studies of a folder and return its path."""
    from headroom.report.index.page import render_index  # noqa: PLC0415 - few commands draw

    page = output or folder / "index.html"
    text = render_index(entries_of(folder), title=f"Studies in {folder.resolve().name}", at=page)
    write_output(page, text)
    return page


def _show_page(page: Path, *, is_opened: bool) -> None:
    typer.echo(page)
    if is_opened:
        webbrowser.open(page.resolve().as_uri())


class StudyListing(msgspec.Struct, frozen=True, kw_only=True):
    """One study that `headroom list` found."""

    folder: str
    name: str
    title: str
    is_run: bool
    error: str = ""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What `headroom list` prints."""

    studies: list[StudyListing]
    systems: list[str]
    models: list[str]


def list_studies(
    folder: Annotated[Path, typer.Argument(help="Where to look, two levels deep.")] = Path(),
    *,
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """List the studies below a folder, and the systems and models that studies can use."""
    if not folder.is_dir():
        raise StudyError(f"{folder} is not a folder", cure="name a folder that holds studies")
    listing = Listing(
        studies=[_listed(path) for path in study_files(folder)],
        systems=list(system_names()),
        models=list(model_names()),
    )
    if as_json:
        write_json("listing", listing)
        return
    table = Table("folder", "title", "results")
    for item in listing.studies:
        texts = (item.folder, item.error or item.title, "yes" if item.is_run else "no")
        table.add_row(*map(Text, texts))
    console = result_console(color)
    console.print(table)
    console.print(f"systems: {', '.join(listing.systems)}", markup=False)
    console.print(f"models: {', '.join(listing.models)}", markup=False)


def _listed(path: Path) -> StudyListing:
    results = path.parent / "results"
    is_run = any(results.glob(f"**/{JOURNAL_NAME}"))
    try:
        study = load_study(path).study
    except HeadroomError as error:
        return StudyListing(
            folder=str(path.parent), name="", title="", is_run=is_run, error=error.message
        )
    return StudyListing(
        folder=str(path.parent), name=study.name, title=study.heading, is_run=is_run
    )
