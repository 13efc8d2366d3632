"""`headroom size`: the smallest configuration that meets its targets."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli import options, session
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment.study.paths import JOURNAL_NAME, PAGE_NAME, RESULTS_NAME
from headroom.output_file import replace_file
from headroom.report.sizes.sizing import render_sizing
from headroom.report.sizes.sizing_page import render_sizing_page
from headroom.sessions.sizing import (
    CONFIDENCE,
    DEFAULT_SEED,
    MOST,
    REPLICATIONS,
    Wanted,
    size_subject,
)
from headroom.sessions.subjects import find_subject, parse_settings, with_config
from headroom.sizing.evaluate import InterruptedSearchError
from headroom.sizing.space import parse_axis

_FOLDER = "size"


def size(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|STUDY",
            help="A registered model, a model file.py (or file.py:function), or a study.",
        ),
    ],
    *,
    target: Annotated[
        list[str],
        typer.Option("--target", "-t", help='As "response_s_p95<=200ms"; repeatable, all count.'),
    ],
    over: Annotated[
        list[str],
        typer.Option(
            "--over",
            help='Factor and its levels, the cheapest first: "servers=1..64", "disk=hdd,ssd", '
            '"station.cpu.servers=1..8"; repeatable.',
        ),
    ],
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", help='Cost of one unit of a factor: "servers=3,disks=1" [1 each].'),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Value of another parameter; repeatable."),
    ] = None,
    experiment: Annotated[
        str, typer.Option("--experiment", help="Experiment of the study, if it has several.")
    ] = "",
    completions: Annotated[
        int | None, typer.Option("--completions", min=1, help="Completions of one replication.")
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence", min=0.5, max=0.9999, help="Confidence level of the whole answer."
        ),
    ] = CONFIDENCE,
    replications: Annotated[
        int,
        typer.Option("--replications", min=5, help="Maximum replications per configuration."),
    ] = REPLICATIONS,
    most: Annotated[
        int, typer.Option("--most", min=1, help="Maximum number of simulated configurations.")
    ] = MOST,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    on: options.On = "",
    folder: Annotated[
        Path | None,
        typer.Option(
            "--results",
            help="Folder of stored runs, for later searches [results/size in the study's folder].",
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Find the smallest configuration that meets every target, and show how it was found."""
    axes = tuple(map(parse_axis, over))
    varied = [axis.name for axis in axes]
    base, results = find_subject(subject, experiment, completions, varied)
    place = (folder or results / _FOLDER) / JOURNAL_NAME
    if (place.parent / RESULTS_NAME).exists():
        raise StudyError(
            f"{place.parent} has the results of a study", cure="name another folder: --results"
        )
    wanted = Wanted(
        name=subject,
        axes=axes,
        targets=target,
        costs=cost or [],
        confidence=confidence,
        replications=replications,
        most=most,
        seed=DEFAULT_SEED if seed is None else seed,
        command=_command(
            subject,
            {
                "--experiment": [experiment] if experiment else [],
                "--target": target,
                "--over": over,
                "--cost": cost or [],
                "--set": fixed or [],
                "--completions": [] if completions is None else [str(completions)],
                "--confidence": [] if confidence == CONFIDENCE else [f"{confidence:g}"],
                "--replications": [] if replications == REPLICATIONS else [str(replications)],
                "--most": [] if most == MOST else [str(most)],
                "--seed": [] if seed is None else [str(seed)],
            },
        ),
    )
    chosen = with_config(base, parse_settings(fixed or [], base.system.parameters()), varied)
    voice = session.TerminalVoice(color=color, is_quiet=quiet)
    try:
        result = size_subject(
            chosen, wanted, place, jobs=jobs or os.cpu_count() or 1, voice=voice, on=on
        )
    except InterruptedSearchError as error:
        session.note("stopped; run the same command to resume", quiet=quiet)
        raise typer.Exit(ExitCode.INTERRUPTED) from error
    page = place.parent / PAGE_NAME
    replace_file(page, render_sizing_page(result))
    if as_json:
        write_json("sizing-result", result)
        session.note(f"report: {page.as_posix()}", quiet=quiet)
    else:
        render_sizing(result, result_console(color))
        typer.echo(f"Report: {page.as_posix()}")
    raise typer.Exit(ExitCode.DONE if result.is_found else ExitCode.CLAIMS_DIFFER)


def _command(subject: str, given: Mapping[str, Sequence[str]]) -> str:
    """Return the command that repeats the search."""
    words = ["headroom", "size", subject]
    for option, values in given.items():
        words += [word for value in values for word in (option, value)]
    return shlex.join(words)
