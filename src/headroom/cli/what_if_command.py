"""`headroom what-if`: the effect of any change of stations, pools and parameters."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headroom.analysis.follow_up.stopping import IntervalRule
from headroom.analysis.follow_up.what_if import all_doubled
from headroom.analysis.results import (
    Bottleneck,
    ExperimentResult,
    PointResult,
    StudyResult,
    WhatIfResult,
)
from headroom.cli import options, session
from headroom.cli.output import ColorMode, error_console, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.changes import Change, changes_in, text_of
from headroom.experiment.protocol.system import Modelled
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.runner import run_plan
from headroom.experiment.runner.what_if import changed_plan, changed_point
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.changed_parameters import check_changes
from headroom.experiment.study.paths import JOURNAL_NAME
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.experiment.study.study import Replications
from headroom.report.what_if import render_what_ifs
from headroom.report.words import settings_words
from headroom.sessions.subjects import find_subject, is_study, parse_settings, with_config
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
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, envvar="HEADROOM_JOBS", help="Simulations in parallel [cores]."
        ),
    ] = None,
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
    with Journal.open(place, create=True) as journal, kept_workers():
        runner = _Runner(journal, jobs or os.cpu_count() or 1, color, is_quiet=quiet)
        experiment, base = _base(plan, journal, point)
        runner.run(replace(plan, experiments=(replace(experiment, points=(base,)),)))
        changes = _changes(experiment, base, change or [], plan, journal)
        count = replications or _done(journal, base)
        wanted = [
            (experiment, changed_point(base, one, experiment.system), count) for one in changes
        ]
        runner.run(changed_plan(plan, wanted))
        result = session.analysed(
            replace(plan, experiments=(replace(experiment, points=(base,)),)), journal
        )
    texts = {text_of(one) for one in changes}
    _print(result, texts, where, as_json=as_json, color=color)


def _print(
    result: StudyResult, texts: set[str], where: str, *, as_json: bool, color: ColorMode
) -> None:
    experiment = result.experiments[0]
    found = experiment.points[0]
    kept = [one for one in found.what_ifs if one.change in texts]
    found = msgspec.structs.replace(found, what_ifs=kept)
    if as_json:
        answer = WhatIfAnswer(
            experiment=experiment.name,
            point=found.key,
            levels=dict(found.levels),
            bottleneck=found.bottleneck,
            what_ifs=kept,
        )
        write_json("what-if", answer)
    else:
        render_what_ifs(experiment, found, result_console(color), where=where)
    has_effects = any(one.effects for one in kept)
    raise typer.Exit(ExitCode.DONE if has_effects else ExitCode.POINTS_FAILED)


class _Runner:
    """Runs plans in a journal until the user stops it."""

    def __init__(self, journal: Journal, jobs: int, color: ColorMode, *, is_quiet: bool) -> None:
        self._journal = journal
        self._jobs = jobs
        self._color = color
        self._is_quiet = is_quiet

    def run(self, plan: Plan | None) -> None:
        if plan is None:
            return
        outcome = run_plan(
            plan,
            self._journal,
            stopping=IntervalRule(),
            jobs=self._jobs,
            progress=Progress(error_console(self._color), is_quiet=self._is_quiet),
            interrupt=Interrupt(),
        )
        if outcome.interrupted:
            session.note("stopped; run the same command to resume", quiet=self._is_quiet)
            raise typer.Exit(ExitCode.INTERRUPTED)


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


def _base(plan: Plan, journal: Journal, wanted: str | None) -> tuple[PlannedExperiment, Point]:
    """Return the point to start from."""
    points = {point.key: (one, point) for one in plan.experiments for point in one.points}
    if len(points) == 1:
        return next(iter(points.values()))
    result = session.analysed(plan, journal)
    key = _last_limited(result) if wanted is None else session.point_key(result, wanted)
    experiment, point = points[key]
    if not isinstance(experiment.system, Modelled):
        raise StudyError(
            f"experiment {experiment.spec.name!r} measures a system, which what-if cannot change",
            cure="name a point of a simulated experiment with --point",
        )
    return experiment, point


def _last_limited(result: StudyResult) -> str:
    """Return the key of the last simulated point at which something limits, else of the last."""
    placed = [
        (experiment, point)
        for experiment in result.experiments
        if experiment.column == "model"
        for point in experiment.points
    ]
    limited = [
        (experiment, point)
        for experiment, point in placed
        if point.bottleneck is not None and point.bottleneck.limits
    ]
    if not placed:
        raise StudyError(
            f"study {result.name!r} simulates nothing", cure="what-if is about simulated systems"
        )
    chosen: tuple[ExperimentResult, PointResult] = (limited or placed)[-1]
    return chosen[1].key


def _changes(
    experiment: PlannedExperiment, base: Point, texts: Sequence[str], plan: Plan, journal: Journal
) -> list[tuple[Change, ...]]:
    """Return the changes asked for, checked; without any, everything doubled."""
    if not texts:
        return all_doubled(experiment, base, plan, journal)
    found = [changes_in(text.strip()) for text in texts]
    for changes in found:
        check_changes(experiment.system, base.config, changes)
    return found


def _done(journal: Journal, base: Point) -> int:
    """Return how many replications the base point has: as many pairs are possible."""
    done = {
        row.replication
        for row in journal.heads(base.experiment)
        if row.point_key == base.key and row.state == "done" and row.fingerprint == base.fingerprint
    }
    return max(len(done), 2)
