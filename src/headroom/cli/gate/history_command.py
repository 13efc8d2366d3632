"""`headroom history`: results over sessions and commits, and where they changed."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headroom.analysis.results_file import consistent
from headroom.cli import options, session
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import StudyError
from headroom.gate.series import HistoryResult, history_of_files, history_of_study
from headroom.output_file import write_output
from headroom.report.compared.history import render_history, render_history_page
from headroom.sessions.subjects import is_study


def history(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STUDY|RESULTS",
            help="A study, whose journal keeps what `run --fresh` measured; or results.json files, "
            "or folders of them [.].",
        ),
    ] = None,
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Metric to follow; repeatable [the responses]."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="Also write a page with figures.")
    ] = None,
    quick: options.Quick = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Show the results of a study over time, and where their level changed."""
    result = _history(subjects or ["."], metric or [], quick=quick)
    result = msgspec.structs.replace(result, command=shlex.join(["headroom", *sys.argv[1:]]))
    if page is not None:
        write_output(page, render_history_page(result))
        session.note(f"page: {page.resolve().as_uri()}", quiet=quiet)
    if as_json:
        write_json("history", result)
    else:
        render_history(result, result_console(color))


def _history(subjects: list[str], metrics: list[str], *, quick: bool) -> HistoryResult:
    if not is_study(subjects[0]):
        paths = [Path(name) for name in subjects]
        with consistent(*paths):
            return history_of_files(paths, metrics=metrics)
    if len(subjects) > 1:
        raise StudyError(
            "the history of one study at a time", cure="name one study, or results.json files"
        )
    with (
        session.looked_at(Path(subjects[0]), quick=quick) as plan,
        session.existing_journal(plan) as journal,
    ):
        return history_of_study(plan, journal, metrics=metrics)
