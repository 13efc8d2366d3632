"""`headroom compare`: commands, results, or revisions of a study against each other."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
import typer

from headroom.cli import options, session
from headroom.cli.gate.subjects import Here, compared
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import ExitCode
from headroom.gate.question import Question
from headroom.gate.result import ComparisonResult
from headroom.output_file import write_output
from headroom.report.compared.page import render_comparison_page
from headroom.report.compared.terminal import render_comparison
from headroom.report.words import label_metric


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareCommand(Question):
    """The options of `headroom compare`."""

    subjects: Annotated[
        Sequence[str],
        typer.Argument(
            metavar="COMMAND|RESULT",
            help="Two or more, the base first. Commands in quotes, no shell reads them; results: "
            "folder of a study, results.json or page.",
        ),
    ] = ()
    rev: Annotated[
        Sequence[str],
        typer.Option(
            "--rev",
            metavar="REVISION",
            help="Compare one study or command at these commits, the base first; repeatable.",
        ),
    ] = ()
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep", metavar="FOLDER", help="Write the page and the JSON document there."
        ),
    ] = None
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    color: options.Color = ColorMode.AUTO

    def label(self, metric: str) -> str:
        """Return how tables call a metric."""
        return label_metric(metric)


@options.command(CompareCommand)
def compare(asked: CompareCommand) -> None:
    """Compare commands, results, or revisions of a study; or stop a regression."""
    voice = session.TerminalVoice(color=asked.color, is_quiet=asked.quiet)
    with TemporaryDirectory(prefix="headroom-compare-") as folder:
        here = Here(question=asked, folder=Path(folder), new_progress=voice.progress)
        result = compared(asked.subjects, asked.rev, here)
    result = msgspec.structs.replace(result, command=shlex.join(["headroom", *sys.argv[1:]]))
    show(result, asked)
    raise typer.Exit(exit_code_of(result))


def show(result: ComparisonResult, asked: CompareCommand) -> None:
    """Print a comparison, and keep it if wanted."""
    if asked.as_json:
        write_json("comparison", result)
    else:
        render_comparison(result, result_console(asked.color))
    if asked.keep is not None:
        asked.keep.mkdir(parents=True, exist_ok=True)
        page = asked.keep / "comparison.html"
        write_output(page, render_comparison_page(result))
        text = msgspec.json.format(msgspec.json.encode(result), indent=2)
        write_output(asked.keep / "comparison.json", text + b"\n")
        session.note(f"report: {page.resolve().as_uri()}", quiet=asked.quiet)


def exit_code_of(result: ComparisonResult) -> ExitCode:
    """Return 3 for a regression, 4 for a blind gate, 1 without results, 130 after Ctrl-C."""
    if result.stopped == "interrupted":
        return ExitCode.INTERRUPTED
    if result.gate is None:
        return ExitCode.DONE
    codes = {"passed": ExitCode.DONE, "regression": ExitCode.CLAIMS_DIFFER, "blind": ExitCode.BLIND}
    return codes.get(result.gate.verdict, ExitCode.POINTS_FAILED)
