"""`headroom size`: the smallest configuration that meets its targets."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli import options, session
from headroom.cli.output import ColorMode, error_console, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.system import Parameter
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.paths import JOURNAL_NAME, PAGE_NAME
from headroom.report.sizing import render_sizing
from headroom.report.sizing_page import render_sizing_page
from headroom.sessions.subjects import find_subject, parse_settings, with_config
from headroom.sizing.conclusion import Question, conclude
from headroom.sizing.evaluate import Evaluator, InterruptedSearchError, Subject
from headroom.sizing.size import Sizing, check_axes
from headroom.sizing.space import Axis, Space, parse_axis, parse_costs
from headroom.sizing.targets import Target, parse_target
from headroom.sizing.verdicts import Rule

DEFAULT_SEED = 1
_FOLDER = "size"
_CONFIDENCE, _REPLICATIONS, _MOST = 0.95, 60, 100


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
    ] = _CONFIDENCE,
    replications: Annotated[
        int,
        typer.Option("--replications", min=5, help="Maximum replications per configuration."),
    ] = _REPLICATIONS,
    most: Annotated[
        int, typer.Option("--most", min=1, help="Maximum number of simulated configurations.")
    ] = _MOST,
    seed: options.Seed = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, envvar="HEADROOM_JOBS", help="Simulations in parallel [cores]."
        ),
    ] = None,
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
    declared = base.system.parameters()
    chosen = with_config(base, parse_settings(fixed or [], declared), varied)
    check_axes(axes, chosen, declared)
    axes = _typed(axes, declared)
    space = Space(axes, parse_costs(cost or [], axes))
    targets = _targets(target, chosen, space)
    error = (1.0 - confidence) / (2.0 * (len(axes) + 1))
    rule = Rule(targets=targets, error=error, minimum=5, maximum=replications)
    question = Question(
        subject=subject,
        fixed=chosen.config,
        as_declared=frozenset(
            parameter.name
            for parameter in declared
            if chosen.config.get(parameter.name) == parameter.default
        ),
        targets=targets,
        seed=DEFAULT_SEED if seed is None else seed,
        error=error,
        command=_command(
            subject,
            {
                "--experiment": [experiment] if experiment else [],
                "--target": target,
                "--over": over,
                "--cost": cost or [],
                "--set": fixed or [],
                "--completions": [] if completions is None else [str(completions)],
                "--confidence": [] if confidence == _CONFIDENCE else [f"{confidence:g}"],
                "--replications": [] if replications == _REPLICATIONS else [str(replications)],
                "--most": [] if most == _MOST else [str(most)],
                "--seed": [] if seed is None else [str(seed)],
            },
        ),
    )
    place = (folder or results / _FOLDER) / JOURNAL_NAME
    place.parent.mkdir(parents=True, exist_ok=True)
    with Journal.open(place, create=True) as journal, kept_workers():
        evaluator = Evaluator(
            chosen,
            rule,
            journal,
            seed=question.seed,
            jobs=jobs or os.cpu_count() or 1,
            new_progress=lambda: Progress(error_console(color), is_quiet=quiet),
        )
        sizing = Sizing(chosen, space, targets, evaluator, most=most)
        _run(sizing, quiet=quiet)
    result = conclude(question, sizing)
    page = place.parent / PAGE_NAME
    page.write_text(render_sizing_page(result), encoding="utf-8")
    if as_json:
        write_json("sizing-result", result)
        session.note(f"report: {page.as_posix()}", quiet=quiet)
    else:
        render_sizing(result, result_console(color))
        typer.echo(f"Report: {page.as_posix()}")
    raise typer.Exit(ExitCode.DONE if result.is_found else ExitCode.CLAIMS_DIFFER)


def _run(sizing: Sizing, *, quiet: bool) -> None:
    try:
        sizing.run()
    except InterruptedSearchError as error:
        session.note("stopped; run the same command to resume", quiet=quiet)
        raise typer.Exit(ExitCode.INTERRUPTED) from error


def _typed(axes: Sequence[Axis], declared: Sequence[Parameter]) -> tuple[Axis, ...]:
    """Return the axes with their levels in the types of the parameters."""
    known = {parameter.name: parameter for parameter in declared}
    return tuple(
        Axis(axis.name, tuple(map(known[axis.name].check, axis.levels)))
        if axis.name in known
        else axis
        for axis in axes
    )


def _targets(texts: Sequence[str], subject: Subject, space: Space) -> tuple[Target, ...]:
    levels = {n: v for n, v in space.levels(space.top).items() if n not in _changes(space)}
    metrics = subject.system.metrics({**subject.config, **levels})
    targets = tuple(parse_target(text, metrics) for text in texts)
    names = [one.metric for one in targets]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise StudyError(f"there are two targets for {double}", cure="keep the stricter one")
    return targets


def _changes(space: Space) -> set[str]:
    return {axis.name for axis in space.axes if axis.name.startswith(("station.", "pool."))}


def _command(subject: str, given: Mapping[str, Sequence[str]]) -> str:
    """Return the command that repeats the search."""
    words = ["headroom", "size", subject]
    for option, values in given.items():
        words += [word for value in values for word in (option, value)]
    return shlex.join(words)
