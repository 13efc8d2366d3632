"""`headroom export` and `headroom schema`: results and formats for other programs."""

import csv
import io
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headroom.analysis.export import Row, observation_rows, point_rows, replication_rows
from headroom.analysis.results import StudyResult
from headroom.cli import options, session
from headroom.experiment.journal import Journal
from headroom.experiment.plan import Plan
from headroom.experiment.study_schema import study_schema


class What(StrEnum):
    """What one exported row is."""

    POINTS = "points"
    REPLICATIONS = "replications"
    OBSERVATIONS = "observations"


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
    document = study_schema() if which is Schema.STUDY else msgspec.json.schema(StudyResult)
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    sys.stdout.write(text + "\n")


def export(
    study: options.StudyPath = Path(),
    *,
    quick: options.Quick = False,
    what: Annotated[
        What,
        typer.Option(
            help="points: one row per point and metric; replications: one row per replication "
            "and metric; observations: the raw series, warm-up included."
        ),
    ] = What.POINTS,
    form: Annotated[Format, typer.Option("--format", help="Format of the rows.")] = Format.CSV,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of stdout.")
    ] = None,
) -> None:
    """Write results as tidy rows for pandas, R, DuckDB or a spreadsheet."""
    plan = session.open_plan(study, quick=quick)
    with session.existing_journal(plan) as journal:
        rows = list(_rows(what, plan, journal))
    text = _as_csv(rows) if form is Format.CSV else _as_jsonl(rows)
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")


def _rows(what: What, plan: Plan, journal: Journal) -> Iterator[Row]:
    match what:
        case What.POINTS:
            return point_rows(session.analysed(plan, journal))
        case What.REPLICATIONS:
            return replication_rows(plan, journal)
        case What.OBSERVATIONS:
            return observation_rows(plan, journal)


def _as_csv(rows: list[Row]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _as_jsonl(rows: list[Row]) -> str:
    return "".join(msgspec.json.encode(row).decode() + "\n" for row in rows)
