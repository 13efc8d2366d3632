"""`headroom run`: run a study from its file to its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.follow_up.refine import refinements
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.analysis.statistics.undecidable import undecidable
from headroom.analysis.stored_form import stored_form
from headroom.cli import options, session
from headroom.cli.output import ColorMode, print_lines, result_console, write_json
from headroom.cli.study.kept_screens import KeptScreens, watched, words_of_show
from headroom.cli.study.shown import Named, keep_text, print_answer
from headroom.errors import ExitCode
from headroom.experiment.journal.journal_salvage import salvage
from headroom.experiment.machine.shell import quoted
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.protocol.system import Value
from headroom.experiment.runner.runner import Outcome
from headroom.experiment.study.checks.ask_checks import doubtful_asks
from headroom.experiment.study.plan import Plan
from headroom.report.fold.terminal import render_study
from headroom.report.sentences.plans import (
    refinement_sentence,
    undecidable_lines,
    undecidable_sentence,
)
from headroom.report.words import count_noun
from headroom.sessions.looking import outline_of
from headroom.sessions.overwrite import confirm, confirmations, foresight, foresight_lines
from headroom.sessions.runnable import check_points
from headroom.sessions.running import How, Running, levels_text, run_to_page


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand(Running):
    """The options of `headroom run`."""

    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit 3 unless every claim holds, and every limit at its `current` load (with "
            "--only: of those experiments). Measures again unless --reuse is given.",
        ),
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check and print the points, and stop; nothing is run."),
    ] = False
    is_trusted: Annotated[
        bool,
        typer.Option(
            "--trust", help="Agree to run the code of this folder as it is now, see `trust`."
        ),
    ] = False
    is_salvaged: Annotated[
        bool,
        typer.Option(
            "--salvage",
            help="First recover the readable rows of a damaged journal; the damaged file is kept.",
        ),
    ] = False
    study: options.StudyPath = Path()
    shows_all: options.ShowsAll = False
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    color: options.Color = ColorMode.AUTO


def run_study(asked: RunCommand) -> None:
    """Run a study, or resume an interrupted one; then analyse it and write its report."""
    quiet, console = asked.quiet, result_console(asked.color)
    named: dict[str, Any] = {name: getattr(asked, name) for name in ("quick", "seed", "settings")}
    if asked.dry_run:
        _dry_run(asked, named)
        return
    with watched() as watch:
        plan = session.open_plan(asked.study, is_trusted=asked.is_trusted, **named)
    chosen = asked.chosen(plan)
    identity = session.identity_of(plan)
    if asked.is_salvaged:
        _salvage(session.journal_of(plan))
    session.say_remarks(plan, quiet=quiet)
    confirm(chosen, asked.overwrite)
    for line in [*foresight_lines(chosen), *undecidable_lines(undecidable(chosen))]:
        session.note(line, quiet=quiet)
    asked = replace(asked, fresh=asked.check if asked.fresh is None else asked.fresh)
    voice = session.TerminalVoice(color=asked.color, is_quiet=quiet)
    how = How(asked=asked, voice=voice, resume=_how_to_resume(asked))
    finished = run_to_page(plan, chosen, how, identity=identity)
    outcome, result, page = finished.outcome, finished.result, finished.page
    name = Named.of(asked.study, **named)
    if finished.is_whole:
        words = words_of_show(asked.seed, asked.settings)
        screens = KeptScreens.of(asked.study, words, console, quick=asked.quick)
        keep_text(plan, result, screens, named=name, watch=watch, console=console)
    shown = _part(result, asked.only) if asked.only else result
    if asked.as_json:
        write_json("study-result", stored_form(result))
        session.note(f"report: {page.resolve().as_uri()}", quiet=quiet)
    elif asked.shows_all:
        render_study(shown, result_console(asked.color), reused=outcome.reused_measurements)
    else:
        print_answer(shown, result_console(asked.color), name, reused=outcome.reused_measurements)
    raise typer.Exit(_exit_code(outcome, shown, is_checked=asked.check))


def _dry_run(asked: RunCommand, named: Mapping[str, Any]) -> None:
    """Print the points; where they depend on code that was never run, only those."""
    try:
        with session.looked_at(asked.study, **named) as plan:
            chosen = asked.chosen(plan)
            check_points(chosen)
            for doubt in doubtful_asks(plan.study):
                session.note(f"warning: {doubt}")
            _print_plan(chosen, as_json=asked.as_json)
    except CodeNotRunError as error:
        _print_outline(asked, named, error)


def _print_outline(asked: RunCommand, named: Mapping[str, Any], error: CodeNotRunError) -> None:
    """Print the points alone; not even those where a model function is made by other code."""
    try:
        with outline_of(asked.study, **named) as plan:
            session.note(f"{error.message}: metrics, ranges and limits are not checked")
            points = _planned_points(asked.chosen(plan))
            _print_points(points, plan, as_json=asked.as_json)
            if not asked.as_json:
                typer.echo(count_noun(len(points), "point"))
    except CodeNotRunError:
        session.note(f"{error.message}: the points are known once the study has run")
        if asked.as_json:
            write_json("plan", [])


run = options.command(RunCommand)(run_study)


def _part(result: StudyResult, names: Sequence[str]) -> StudyResult:
    """Return what `result` says about some experiments; the report has all of them."""
    part = msgspec.structs.replace(
        result,
        experiments=[experiment for experiment in result.experiments if experiment.name in names],
        claims=[claim for claim in result.claims if claim.experiment in names],
    )
    return with_answer(part)


def _how_to_resume(asked: RunCommand) -> str:
    if not asked.fresh:
        return "run the same command to resume"
    instead = "--check --reuse" if asked.check else "--reuse in place of --fresh"
    return f"resume with {instead}; the same command measures all again"


def _salvage(path: Path) -> None:
    found = salvage(path)
    session.note(
        f"recovered {found.rescued} replications; {found.lost} are lost and run again; "
        f"the damaged journal is kept as {found.kept_at}"
    )


def _is_not_run(experiment: ExperimentResult) -> bool:
    """Return whether an experiment could not run, because its parameters could not be fitted."""
    return experiment.fit is not None and experiment.fit.state != "fitted"


def _exit_code(outcome: Outcome, result: StudyResult, *, is_checked: bool) -> ExitCode:
    """Return the exit code of what was run; with a check, claims and limits must hold."""
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    is_every_one_run = not any(_is_not_run(experiment) for experiment in result.experiments)
    if outcome.failed or not is_every_one_run or _is_incomplete(result) or _lacks_figures(result):
        return ExitCode.POINTS_FAILED
    if is_checked and not _is_as_claimed(result):
        return ExitCode.CLAIMS_DIFFER
    return ExitCode.DONE


def _is_as_claimed(result: StudyResult) -> bool:
    """Return whether every claim holds, and every limit at the current load."""
    limits = (limit for item in result.experiments for limit in item.limits)
    kept = all(limit.verdict in {"holds", None} for limit in limits)
    return kept and all(claim.verdict == "holds" for claim in result.claims)


def _is_incomplete(result: StudyResult) -> bool:
    """Return whether a planned replication is missing, whatever the session says it did."""
    return any(not point.is_finished for item in result.experiments for point in item.points)


def _lacks_figures(result: StudyResult) -> bool:
    """Return whether a point ran undisturbed and yet has nothing to report.

    On a busy machine a run may be too short for any: that is an answer, which names what disturbed.
    """
    points = (point for item in result.experiments for point in item.points)
    return any(point.lacks_figures and not point.disturbances for point in points)


class PlannedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a plan, as `--dry-run` prints it."""

    experiment: str
    point: str
    levels: dict[str, Value]
    waits: str = ""
    """Why the point cannot be run yet; empty if it can."""
    uses: list[str] = []
    """What its run makes and writes, with sizes, one sentence each."""
    confirm: list[str] = []
    """Words for `--overwrite` that its run needs."""
    undecidable: str = ""
    """What its experiment has too few replications for; empty if there is nothing."""


def _planned_points(plan: Plan) -> list[PlannedPoint]:
    return [
        PlannedPoint(
            experiment=point.experiment,
            point=point.key,
            levels=dict(point.levels),
            waits="" if experiment.fit is None else experiment.fit.reason,
        )
        for experiment in plan.experiments
        for point in experiment.points
    ]


def _print_points(points: Sequence[PlannedPoint], plan: Plan, *, as_json: bool) -> None:
    if as_json:
        write_json("plan", points)
        return
    for ask in plan.study.asks:
        typer.echo(f"asked  {ask.kind}  {ask.question}".rstrip())
    for point in points:
        levels = levels_text(point.levels)
        waits = f"  ({point.waits})" if point.waits else ""
        typer.echo(f"{point.experiment}  {point.point}  {levels}{waits}".rstrip())


def _print_plan(plan: Plan, *, as_json: bool) -> None:
    uses, never = foresight(plan), undecidable(plan)
    kinds = [(experiment, point) for experiment in plan.experiments for point in experiment.points]
    points = [
        msgspec.structs.replace(
            planned,
            uses=list(uses.get(point.key, ())),
            confirm=[confirmation.words for confirmation in confirmations(experiment, point)],
            undecidable=(
                undecidable_sentence(never[experiment.spec.name])
                if experiment.spec.name in never
                else ""
            ),
        )
        for planned, (experiment, point) in zip(_planned_points(plan), kinds, strict=True)
    ]
    _print_points(points, plan, as_json=as_json)
    if as_json:
        return
    for sentence in [*foresight_lines(plan), *undecidable_lines(never)]:
        print_lines(result_console(), sentence)
    for words in dict.fromkeys(words for point in points for words in point.confirm):
        typer.echo(f"needs --overwrite {quoted(words)}")
    typer.echo(count_noun(len(points), "point"))
    for refinement in refinements(plan):
        typer.echo(refinement_sentence(refinement))
    for experiment in plan.experiments:
        for derived in experiment.derived:
            count = count_noun(len(experiment.seen_by(derived.name).points), "value")
            typer.echo(f"derived  {experiment.spec.name}  {derived.name}  {count}")
