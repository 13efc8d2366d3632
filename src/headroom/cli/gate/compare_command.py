"""`headroom compare`: commands, results, or revisions of a study against each other."""

import os
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
import typer

from headroom.cli import options, session
from headroom.cli.gate.subjects import Asked, compared
from headroom.cli.output import ColorMode, error_console, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment.runner.progress import Progress
from headroom.gate.compare import Question
from headroom.gate.meaning import share_of
from headroom.gate.measuring import Effort
from headroom.gate.result import ComparisonResult
from headroom.output_file import write_output
from headroom.report.compared.page import render_comparison_page
from headroom.report.compared.terminal import render_comparison


def compare(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND|RESULT",
            help="Two or more, the base first. Commands in quotes, no shell reads them; results: "
            "folder of a study, results.json or page.",
        ),
    ] = None,
    *,
    rev: Annotated[
        list[str] | None,
        typer.Option(
            "--rev",
            metavar="REVISION",
            help="Compare one study or command at these commits, the base first; repeatable.",
        ),
    ] = None,
    build: Annotated[
        list[str] | None,
        typer.Option(
            "--build",
            metavar="COMMAND",
            help="Run this once in the checkout of each revision; repeatable.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Name of each subject in the output, in order; repeatable."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="Metric to compare; repeatable [commands: wall_s, processor_time_s, "
            "peak_memory_bytes; studies: the responses].",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="SHARE",
            help="Measure until the 95% interval of each ratio is this narrow: 1% is ±1%, or a "
            "tenth of the difference if that is more [1%].",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            min=2,
            help="A fixed number of blocks instead [a gate: 25, more while noise hides the share].",
        ),
    ] = None,
    max_runs: Annotated[
        int, typer.Option("--max-runs", min=2, help="Maximum number of blocks.")
    ] = 100,
    max_time: Annotated[
        float | None,
        typer.Option(
            "--max-time",
            metavar="SECONDS",
            min=0.0,
            help="Start no run after this time [no new round after 300 s].",
        ),
    ] = None,
    warm_up: Annotated[
        int,
        typer.Option("--warmup", "-w", min=0, help="Unrecorded runs before each measured run."),
    ] = 0,
    prepare: Annotated[
        list[str] | None,
        typer.Option(
            "--prepare",
            "-p",
            metavar="COMMAND",
            help="Run this before each run, unmeasured: once for all, or one for each command.",
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0.001, help="Limit (s) of a single run.")
    ] = 600.0,
    ignore_failure: Annotated[
        bool, typer.Option("--ignore-failure", "-i", help="Accept every exit code.")
    ] = False,
    same_within: Annotated[
        str,
        typer.Option("--same-within", metavar="SHARE", help="Difference that does not matter."),
    ] = "2%",
    fail_on_regression: Annotated[
        str | None,
        typer.Option(
            "--fail-on-regression",
            metavar="SHARE",
            help="Exit 3 if anything is surely worse and possibly by this much: suspicions are "
            "measured again first. Missing results are an error (exit 1).",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Compare results that are not comparable, and say so."),
    ] = False,
    quick: options.Quick = False,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="FOLDER",
            help="Write the page and the JSON document there.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Simulations in parallel.")
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Compare commands, results, or revisions of a study; or stop a regression."""
    threshold = None
    if fail_on_regression is not None:
        threshold = share_of(fail_on_regression, "--fail-on-regression")
        if until is not None:
            raise StudyError(
                "`--until` and `--fail-on-regression` exclude each other: the error rates of a "
                "gate hold for a fixed number of runs",
                cure="use --runs",
            )
    effort = Effort(
        until=share_of(until or "1%", "--until"), runs=runs, max_runs=max_runs, max_time_s=max_time
    )
    question = Question(
        effort=effort,
        same_within=share_of(same_within, "--same-within"),
        threshold=threshold,
        jobs=jobs or os.cpu_count() or 1,
    )
    asked = Asked(
        question=question,
        metrics=metric or [],
        build=build or [],
        labels=name or [],
        quick=quick,
        force=force,
        options={
            "warm_up": warm_up,
            "time_limit_s": time_limit,
            "ignore_failure": ignore_failure,
        },
        prepare=prepare or [],
        new_progress=lambda: Progress(error_console(color), is_quiet=quiet),
    )
    with TemporaryDirectory(prefix="headroom-compare-") as folder:
        result = compared(subjects or [], rev or [], asked, Path(folder))
    result = msgspec.structs.replace(result, command=shlex.join(["headroom", *sys.argv[1:]]))
    _show(result, keep, as_json=as_json, quiet=quiet, color=color)
    raise typer.Exit(exit_code_of(result))


def _show(
    result: ComparisonResult, keep: Path | None, *, as_json: bool, quiet: bool, color: ColorMode
) -> None:
    if as_json:
        write_json("comparison", result)
    else:
        render_comparison(result, result_console(color))
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        page = keep / "comparison.html"
        write_output(page, render_comparison_page(result))
        text = msgspec.json.format(msgspec.json.encode(result), indent=2)
        write_output(keep / "comparison.json", text + b"\n")
        session.note(f"report: {page.resolve().as_uri()}", quiet=quiet)


def exit_code_of(result: ComparisonResult) -> ExitCode:
    """Return 3 for a regression, 1 for missing results under a gate, 130 after Ctrl-C."""
    if result.stopped == "interrupted":
        return ExitCode.INTERRUPTED
    if result.gate is None:
        return ExitCode.DONE
    codes = {"passed": ExitCode.DONE, "regression": ExitCode.CLAIMS_DIFFER}
    return codes.get(result.gate.verdict, ExitCode.POINTS_FAILED)
