"""`headroom what-if`: the effect of any change of stations, pools and parameters."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headroom.analysis.results import (
    Bottleneck,
    WhatIfResult,
)
from headroom.cli import options, session
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment.study.paths import JOURNAL_NAME
from headroom.experiment.study.plan import Plan
from headroom.experiment.study.study import Replications
from headroom.report.findings.what_if import render_what_ifs
from headroom.report.words import settings_words
from headroom.sessions.subjects import find_subject, is_study, parse_settings, with_config
from headroom.sessions.trying import InterruptedTrialError, Tried, try_changes
from headroom.sizing.evaluate import plan_of

_FOLDER = "what-if"
DEFAULT_SEED = 1


class WhatIfAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What `headroom what-if --json` prints."""

    experiment: str
    point: str
    levels: dict[str, object]
    bottleneck: Bottleneck | None
    """The bottleneck of the unchanged point."""
    what_ifs: list[WhatIfResult]


def what_if(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|MODEL",
            help="A study, a registered model, or a model file.py (or file.py:function).",
        ),
    ],
    *,
    point: Annotated[
        str | None,
        typer.Option(
            "--point",
            metavar="POINT",
            help="Point of the study: its key, or its levels [the last one that is limited].",
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            "-c",
            help='"station.cpu.servers=8", "station.cpu.speed=x2", "pool.connections.tokens=x2", '
            'or a parameter: "hit_ratio=0.9", "rate=x2"; '
            "repeatable, each one is tried by itself; joined by ; they are tried together "
            "[everything doubled].",
        ),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Parameter of a model; repeatable."),
    ] = None,
    completions: Annotated[
        int | None, typer.Option("--completions", min=1, help="Completions, of a model.")
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications", "-n", min=2, help="Pairs [those of the point; of a model 10]."
        ),
    ] = None,
    quick: options.Quick = False,
    jobs: options.Jobs = None,
    on: options.On = "",
    seed: options.Seed = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Try changes of stations, pools and parameters, paired with the system by their seeds."""
    if is_study(subject):
        if fixed or completions:
            raise StudyError(
                "--set and --completions need a model, but a study is given",
                cure="change the study file, or leave them out",
            )
        plan = session.open_plan(Path(subject), quick=quick, seed=seed)
        place = session.journal_of(plan)
        where = ""
    else:
        plan, place, where = _model_plan(
            subject, fixed or [], completions, replications or 10, seed
        )
    try:
        tried = try_changes(
            plan,
            place,
            point=point,
            changes=change or [],
            replications=replications,
            jobs=jobs or os.cpu_count() or 1,
            voice=session.TerminalVoice(color=color, is_quiet=quiet),
            on=on,
        )
    except InterruptedTrialError as error:
        session.note("stopped; run the same command to resume", quiet=quiet)
        raise typer.Exit(ExitCode.INTERRUPTED) from error
    _print(tried, where, as_json=as_json, color=color)


def _print(tried: Tried, where: str, *, as_json: bool, color: ColorMode) -> None:
    experiment, found = tried.experiment, tried.point
    if as_json:
        answer = WhatIfAnswer(
            experiment=experiment.name,
            point=found.key,
            levels=dict(found.levels),
            bottleneck=found.bottleneck,
            what_ifs=found.what_ifs,
        )
        write_json("what-if", answer)
    else:
        render_what_ifs(experiment, found, result_console(color), where=where)
    has_effects = any(one.effects for one in found.what_ifs)
    raise typer.Exit(ExitCode.DONE if has_effects else ExitCode.POINTS_FAILED)


def _model_plan(
    subject: str, fixed: Sequence[str], completions: int | None, count: int, seed: int | None
) -> tuple[Plan, Path, str]:
    """Return the plan of a model's one point, its journal, and the point as text."""
    base, results = find_subject(subject, "", completions, [])
    declared = base.system.parameters()
    chosen = with_config(base, parse_settings(fixed, declared), [])
    changed = [
        parameter.name
        for parameter in declared
        if chosen.config.get(parameter.name) != parameter.default
    ]
    plan = plan_of(
        chosen,
        [chosen.config],
        Replications(count=count),
        seed=DEFAULT_SEED if seed is None else seed,
    )
    place = results / _FOLDER / JOURNAL_NAME
    place.parent.mkdir(parents=True, exist_ok=True)
    return plan, place, settings_words(chosen.config, changed)
