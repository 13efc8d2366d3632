"""`headroom export` and `headroom schema`: results and schemas for other programs."""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
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
from headroom.analysis.results import StudyResult
from headroom.analysis.stored_form import StoredStudy
from headroom.cli import options, session
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.study.plan import Plan
from headroom.experiment.study.study_schema import study_schema


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


class Format(StrEnum):
    """How rows are written."""

    CSV = "csv"
    JSONL = "jsonl"


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
            "failed replication, as files in the folder --output."
        ),
    ] = What.POINTS,
    form: Annotated[Format, typer.Option("--format", help="Format of the rows.")] = Format.CSV,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of stdout.")
    ] = None,
) -> None:
    """Write results as tidy rows for pandas, R, DuckDB or a spreadsheet."""
    plan = session.open_plan(study, quick=quick, seed=seed, settings=settings)
    if what is What.ARTEFACTS:
        with session.existing_journal(plan) as journal:
            _write_artefacts(plan, journal, output)
        return
    write = _write_csv if form is Format.CSV else _write_jsonl
    with session.existing_journal(plan) as journal, _opened(output) as stream:
        write(_rows(what, plan, journal), stream, _factor_columns(plan))


def _write_artefacts(plan: Plan, journal: Journal, folder: Path | None) -> None:
    if folder is None:
        raise StudyError("artefacts are files", cure="name a folder for them: --output FOLDER")
    count = 0
    for place, artefact in artefacts(plan, journal):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artefact.content)
        count += 1
    typer.echo(f"{count} artefact{'s' * (count != 1)} in {folder}", err=True)


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
    else:
        with output.open("w", encoding="utf-8", newline="") as stream:
            yield stream


_OF_RESULTS: Mapping[What, Callable[[StudyResult], Iterator[Row]]] = {
    What.POINTS: point_rows,
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


def _factor_columns(plan: Plan) -> list[str]:
    """Return the columns of the factors of all experiments; a row has those of its own."""
    names = (factor.name for experiment in plan.experiments for factor in experiment.factors)
    return [f"factor.{name}" for name in dict.fromkeys(names)]


def _write_csv(rows: Iterable[Row], stream: TextIO, factors: list[str]) -> None:
    """Write rows as they come, so that a long export needs no memory."""
    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if writer is None:
            own = [name for name in row if not name.startswith("factor.")]
            writer = csv.DictWriter(stream, [*own[:2], *factors, *own[2:]], lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)


def _write_jsonl(rows: Iterable[Row], stream: TextIO, factors: list[str]) -> None:
    del factors  # Each line names the factors of its own experiment.
    for row in rows:
        stream.write(msgspec.json.encode(row).decode() + "\n")
