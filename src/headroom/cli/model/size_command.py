"""`headroom size`: the smallest configuration that meets its targets."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from headroom.cli import options, session
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment.study.paths import JOURNAL_NAME, PAGE_NAME, RESULTS_NAME
from headroom.output_file import replace_file
from headroom.report.sizes.sizing import render_sizing
from headroom.report.sizes.sizing_page import render_sizing_page
from headroom.sessions.sizing import Wanted, size_subject
from headroom.sessions.subjects import find_subject, parse_settings, with_config
from headroom.sizing.evaluate import InterruptedSearchError

_FOLDER = "size"


_REPEATED = (
    *("experiment", "target", "over", "cost", "fixed", "completions", "time_s"),
    *("confidence", "replications", "most", "seed"),
)
"""Options that the answer depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeCommand(Wanted):
    """The options of `headroom size`."""

    subject: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|STUDY",
            help="A registered model, a model file.py (or file.py:function), or a study.",
        ),
    ]
    fixed: Annotated[
        Sequence[str],
        typer.Option("--set", metavar="NAME=VALUE", help="Value of another parameter; repeatable."),
    ] = ()
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    color: options.Color = ColorMode.AUTO


@options.command(SizeCommand)
def size(asked: SizeCommand) -> None:
    """Find the smallest configuration that meets every target, and show how it was found."""
    varied = [axis.name for axis in asked.axes]
    base, results = find_subject(
        asked.subject, asked.experiment, asked.completions, varied, asked.time_s
    )
    place = (asked.folder or results / _FOLDER) / JOURNAL_NAME
    if (place.parent / RESULTS_NAME).exists():
        raise StudyError(
            f"{place.parent} has the results of a study", cure="name another folder: --results"
        )
    chosen = with_config(base, parse_settings(asked.fixed, base.system.parameters()), varied)
    voice = session.TerminalVoice(color=asked.color, is_quiet=asked.quiet)
    words = ["headroom", "size", asked.subject, *options.words_of(asked, _REPEATED)]
    try:
        result = size_subject(
            chosen, asked, place, name=asked.subject, command=shlex.join(words), voice=voice
        )
    except InterruptedSearchError as error:
        session.note("stopped; run the same command to resume", quiet=asked.quiet)
        raise typer.Exit(ExitCode.INTERRUPTED) from error
    page = place.parent / PAGE_NAME
    replace_file(page, render_sizing_page(result))
    if asked.as_json:
        write_json("sizing-result", result)
        session.note(f"report: {page.as_posix()}", quiet=asked.quiet)
    else:
        render_sizing(result, result_console(asked.color))
        typer.echo(f"Report: {page.as_posix()}")
    raise typer.Exit(ExitCode.DONE if result.is_found else ExitCode.CLAIMS_DIFFER)
