"""`headroom export` and `headroom schema`: results and schemas for other programs."""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, TextIO

import msgspec
import typer

from headroom.analysis.export import (
    Row,
    artefacts,
    comparison_rows,
    derived_rows,
    interval_rows,
    observation_rows,
    point_rows,
    replication_rows,
    series_rows,
    what_if_rows,
)
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.analysis.stored_form import StoredStudy
from headroom.cli import options, session
from headroom.cli.study.show_command import is_saved
from headroom.cli.study.shown import saved, stored_instead
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.study.file.study_schema import study_schema
from headroom.experiment.study.plan import Plan, PlannedExperiment
from headroom.output_file import csv_cell, output_file, write_output
from headroom.report.sentences.runs import missing_words


class What(StrEnum):
    """The kind of one exported row."""

    POINTS = "points"
    REPLICATIONS = "replications"
    OBSERVATIONS = "observations"
    SERIES = "series"
    INTERVALS = "intervals"
    WHAT_IFS = "what-ifs"
    COMPARISONS = "comparisons"
    DERIVED = "derived"
    ARTEFACTS = "artefacts"
    FIGURES = "figures"


class Format(StrEnum):
    """How rows, and figures, are written."""

    CSV = "csv"
    JSONL = "jsonl"
    SVG = "svg"
    PNG = "png"


class Schema(StrEnum):
    """The published formats."""

    STUDY = "study"
    RESULTS = "results"


def schema(
    which: Annotated[
        Schema, typer.Argument(help="study: study.toml; results: results.json.")
    ] = Schema.STUDY,
) -> None:
    """Print the JSON schema of study files or of results."""
    document = study_schema() if which is Schema.STUDY else msgspec.json.schema(StoredStudy)
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    sys.stdout.write(text + "\n")


def export(
    study: options.StudyPath = Path(),
    *,
    quick: options.Quick = False,
    seed: options.Seed = None,
    settings: options.Settings = None,
    what: Annotated[
        What,
        typer.Option(
            help="points: one row per point and metric; replications: one row per replication "
            "and metric; observations: raw response times in order of completion, warm-up "
            "included; series: values over time, where a study sets sample_every_s; intervals: "
            "terminating runs over time, one row per interval and metric; what-ifs: one "
            "row per change that was tried and metric; comparisons: one row per level that is "
            "compared with a base, and metric; derived: one row per derived quantity and "
            "combination of levels; artefacts: the logs and pictures of the first and of each "
            "failed replication, as files in the folder --output; figures: those of the first "
            "screen of the report, as pictures in the folder --output."
        ),
    ] = What.POINTS,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="Format of the rows, csv or jsonl [csv], or of figures, svg or png [svg].",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of stdout.")
    ] = None,
) -> None:
    """Write results as tidy rows for pandas, R, DuckDB or a spreadsheet."""
    _check_format(what, form)
    if is_saved(study, quick=quick):
        result = saved(study, quick=quick, others={"seed": seed, "set": settings}).result
        rows = _rows_of_saved(what, result, study)
        with _stream_to(output) as stream:
            _write(form)(rows, stream, _factor_columns(result.experiments))
        return
    try:
        with session.looked_at(study, quick=quick, seed=seed, settings=settings) as plan:
            _export(plan, what, form, output)
    except CodeNotRunError as error:
        named = {"quick": quick, "seed": seed, "settings": settings}
        stored = stored_instead(study, named, error) if what in _OF_RESULTS else None
        if stored is None:
            raise
        with _stream_to(output) as stream:
            _write(form)(_OF_RESULTS[what](stored), stream, _factor_columns(stored.experiments))


def _export(plan: Plan, what: What, form: Format | None, output: Path | None) -> None:
    if what in _FILES:
        folder = _folder_of(what, output)
        with session.existing_journal(plan) as journal:
            count = _FILES[what](plan, journal, folder, form)
        noun = what.value.removesuffix("s")
        typer.echo(f"{count} {noun}{'s' * (count != 1)} in {folder}", err=True)
        return
    with session.existing_journal(plan) as journal, _stream_to(output) as stream:
        _write(form)(_rows(what, plan, journal), stream, _factor_columns(plan.experiments))


def _rows_of_saved(what: What, result: StudyResult, study: Path) -> Iterator[Row]:
    """Return what is in results without their study file, as Python programs leave them."""
    if what not in _OF_RESULTS:
        raise StudyError(
            f"{study}: {what} need the study file, but here are only its results",
            cure="in the program that built the study, take result.replications()",
        )
    return _OF_RESULTS[what](result)


def _check_format(what: What, form: Format | None) -> None:
    is_picture = form in {Format.SVG, Format.PNG}
    if what is What.FIGURES and form is not None and not is_picture:
        raise StudyError(f"figures are no {form} rows", cure="take --format svg or --format png")
    if what is not What.FIGURES and is_picture:
        raise StudyError(
            f"{what} are no pictures", cure="take --what figures, or --format csv or jsonl"
        )


def _folder_of(what: What, output: Path | None) -> Path:
    if output is None:
        raise StudyError(f"{what} are files", cure="name a folder for them: --output FOLDER")
    if output.exists() and not output.is_dir():
        raise StudyError(f"{output} is a file", cure=f"name a folder for the {what}")
    return output


def _write_figures(plan: Plan, journal: Journal, folder: Path, form: Format | None) -> int:
    from headroom.report.figures.files import write_pngs  # noqa: PLC0415 - few commands draw
    from headroom.report.first_screen.drafts import pictures_of  # noqa: PLC0415 - as above

    is_png = form is Format.PNG
    pictures = pictures_of(session.analysed(plan, journal), has_dark=not is_png)
    if not pictures:
        raise StudyError("the study has no results to draw yet", cure="run it: headroom run STUDY")
    folder.mkdir(parents=True, exist_ok=True)
    if is_png:
        write_pngs({folder / f"{name}.png": svg for name, svg in pictures.items()})
    else:
        for name, svg in pictures.items():
            write_output(folder / f"{name}.svg", svg)
    return len(pictures)


def _write_artefacts(plan: Plan, journal: Journal, folder: Path, form: Format | None) -> int:
    """Write the files that replications left; return how many."""
    del form  # A file is written as it is.
    count = 0
    for place, artefact in artefacts(plan, journal):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        write_output(path, artefact.content)
        count += 1
    return count


_FILES: Mapping[What, Callable[[Plan, Journal, Path, Format | None], int]] = {
    What.ARTEFACTS: _write_artefacts,
    What.FIGURES: _write_figures,
}
"""Kinds of results that are written as files in a folder."""


def _stream_to(output: Path | None) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stdout) if output is None else output_file(output)


_OF_RESULTS: Mapping[What, Callable[[StudyResult], Iterator[Row]]] = {
    What.POINTS: partial(point_rows, why=missing_words),
    What.INTERVALS: interval_rows,
    What.WHAT_IFS: what_if_rows,
    What.COMPARISONS: comparison_rows,
    What.DERIVED: derived_rows,
}
_OF_JOURNAL: Mapping[What, Callable[[Plan, Journal], Iterator[Row]]] = {
    What.REPLICATIONS: replication_rows,
    What.OBSERVATIONS: observation_rows,
    What.SERIES: series_rows,
}


def _rows(what: What, plan: Plan, journal: Journal) -> Iterator[Row]:
    if what in _OF_RESULTS:
        return _OF_RESULTS[what](session.analysed(plan, journal))
    return _OF_JOURNAL[what](plan, journal)


def _factor_columns(
    experiments: Sequence[PlannedExperiment] | Sequence[ExperimentResult],
) -> list[str]:
    """Return the columns of the factors of all experiments; a row has those of its own."""
    names = (factor.name for experiment in experiments for factor in experiment.factors)
    return [f"factor.{name}" for name in dict.fromkeys(names)]


def _write(form: Format | None) -> Callable[[Iterable[Row], TextIO, list[str]], None]:
    return _write_jsonl if form is Format.JSONL else _write_csv


def _write_csv(rows: Iterable[Row], stream: TextIO, factors: list[str]) -> None:
    """Write rows as they come, so that a long export needs no memory."""
    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if writer is None:
            own = [name for name in row if not name.startswith("factor.")]
            columns = [*own[:2], *factors, *own[2:]]
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writerow({name: csv_cell(name) for name in columns})
        writer.writerow({name: csv_cell(value) for name, value in row.items()})


def _write_jsonl(rows: Iterable[Row], stream: TextIO, factors: list[str]) -> None:
    del factors  # Each line names the factors of its own experiment.
    for row in rows:
        stream.write(msgspec.json.encode(row).decode() + "\n")
