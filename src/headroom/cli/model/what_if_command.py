"""`headroom what-if`: the effect of any change of stations, pools and parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headroom.analysis.results import Bottleneck, WhatIfResult
from headroom.cli import options, session
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment.study.paths import JOURNAL_NAME
from headroom.experiment.study.plan import Plan
from headroom.report.findings.what_if import render_what_ifs
from headroom.report.words import settings_words
from headroom.sessions.subjects import find_subject, is_study, parse_settings, with_config
from headroom.sessions.trying import InterruptedTrialError, Tried, Trying, try_changes

_FOLDER = "what-if"


class WhatIfAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What `headroom what-if --json` prints."""

    experiment: str
    point: str
    levels: dict[str, object]
    bottleneck: Bottleneck | None
    """The bottleneck of the unchanged point."""
    what_ifs: list[WhatIfResult]
    pairs_at_most: int | None
    """Pairs at which each change ended at the latest; None where their number was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfCommand(Trying):
    """The options of `headroom what-if`."""

    subject: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|MODEL",
            help="A study, a registered model, or a model file.py (or file.py:function).",
        ),
    ]
    fixed: Annotated[
        Sequence[str],
        typer.Option("--set", metavar="NAME=VALUE", help="Parameter of a model; repeatable."),
    ] = ()
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    color: options.Color = ColorMode.AUTO


@options.command(WhatIfCommand)
def what_if(asked: WhatIfCommand) -> None:
    """Try changes of stations, pools and parameters, paired with the system by their seeds."""
    if is_study(asked.subject):
        if asked.fixed or asked.completions or asked.time_s:
            raise StudyError(
                "--set, --completions and --time-s need a model, but a study is given",
                cure="change the study file, or leave them out",
            )
        plan = session.open_plan(Path(asked.subject), quick=asked.quick, seed=asked.seed)
        place = session.journal_of(plan)
        where = ""
    else:
        plan, place, where = _model_plan(asked)
    voice = session.TerminalVoice(color=asked.color, is_quiet=asked.quiet)
    try:
        tried = try_changes(plan, place, asked, voice=voice)
    except InterruptedTrialError as error:
        session.note("stopped; run the same command to resume", quiet=asked.quiet)
        raise typer.Exit(ExitCode.INTERRUPTED) from error
    _print(tried, where, as_json=asked.as_json, color=asked.color)


def _print(tried: Tried, where: str, *, as_json: bool, color: ColorMode) -> None:
    experiment, found = tried.experiment, tried.point
    if as_json:
        answer = WhatIfAnswer(
            experiment=experiment.name,
            point=found.key,
            levels=dict(found.levels),
            bottleneck=found.bottleneck,
            what_ifs=found.what_ifs,
            pairs_at_most=tried.at_most,
        )
        write_json("what-if", answer)
    else:
        render_what_ifs(
            experiment, found, result_console(color), where=where, at_most=tried.at_most
        )
    has_effects = any(one.effects for one in found.what_ifs)
    raise typer.Exit(ExitCode.DONE if has_effects else ExitCode.POINTS_FAILED)


def _model_plan(asked: WhatIfCommand) -> tuple[Plan, Path, str]:
    """Return the plan of a model's one point, its journal, and the point as text."""
    base, results = find_subject(asked.subject, "", asked.completions, [], asked.time_s)
    declared = base.system.parameters()
    chosen = with_config(base, parse_settings(asked.fixed, declared), [])
    changed = [
        parameter.name
        for parameter in declared
        if chosen.config.get(parameter.name) != parameter.default
    ]
    place = results / _FOLDER / JOURNAL_NAME
    place.parent.mkdir(parents=True, exist_ok=True)
    return asked.one_point(chosen), place, settings_words(chosen.config, changed)
