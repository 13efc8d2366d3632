"""`headroom run`: run a study from its file to its report."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated

import msgspec
import typer

from headroom.analysis.answer.answer import with_answer
from headroom.analysis.fits.fits import with_fits
from headroom.analysis.follow_up.refine import Known, refinements, with_refined
from headroom.analysis.follow_up.stopping import IntervalRule
from headroom.analysis.follow_up.what_if import planned_what_ifs
from headroom.analysis.results import ExperimentResult, StudyResult
from headroom.analysis.statistics.undecidable import undecidable
from headroom.analysis.stored_form import stored_form
from headroom.cli import options, session
from headroom.cli.files_there import check_files
from headroom.cli.kept_screens import KeptScreens, watched, words_of_show
from headroom.cli.output import (
    ColorMode,
    error_console,
    print_lines,
    result_console,
    write_json,
)
from headroom.cli.overwrite import (
    confirm,
    confirmations,
    foresight,
    foresight_lines,
    say_foresight,
)
from headroom.cli.shown import Named, keep_text, print_answer
from headroom.defects import fallback
from headroom.errors import ExitCode
from headroom.experiment.journal.journal import Journal
from headroom.experiment.journal.journal_salvage import salvage
from headroom.experiment.machine.shell import quoted
from headroom.experiment.protocol.system import Column, Value
from headroom.experiment.runner.cluster.address import place_of
from headroom.experiment.runner.executors import Place
from headroom.experiment.runner.fresh import mark_fresh
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.runner import Outcome, run_plan
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.fit_plan import stages
from headroom.experiment.study.plan import Plan
from headroom.quantities import format_level
from headroom.report.sentences.plans import (
    refinement_sentence,
    undecidable_lines,
    undecidable_sentence,
)
from headroom.report.terminal import render_study
from headroom.report.words import count_noun


def run(
    study: options.StudyPath = Path(),
    *,
    quick: options.Quick = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="EXPERIMENT", help="Run this experiment only; repeatable."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            envvar="HEADROOM_JOBS",
            help="Simulations and analyses in parallel [cores].",
        ),
    ] = None,
    on: options.On = "",
    seed: options.Seed = None,
    settings: options.Settings = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit 3 unless every claim holds, and every limit at its `current` load (with "
            "--only: of those experiments). Measures again unless --reuse is given.",
        ),
    ] = False,
    fresh: Annotated[
        bool | None,
        typer.Option(
            "--fresh/--reuse",
            help="Measure again what was measured before, or reuse it. Older measurements stay in "
            "the journal and no longer count. Simulations are always reused: the same model and "
            "seed give the same bits. [default: --fresh with --check, else --reuse]",
            show_default=False,
        ),
    ] = None,
    stop_on_failure: Annotated[
        bool, typer.Option("--stop-on-failure", help="Stop at the first point that fails.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the points and stop; nothing is run.")
    ] = False,
    overwrite: Annotated[
        list[str] | None,
        typer.Option(
            "--overwrite",
            metavar="'TARGET SIZE'",
            help="Allow this run to destroy what is on a target: its name and its size in bytes, "
            "as the refusal prints them; repeatable.",
        ),
    ] = None,
    is_salvaged: Annotated[
        bool,
        typer.Option(
            "--salvage",
            help="First recover the readable rows of a damaged journal; the damaged file is kept.",
        ),
    ] = False,
    is_doubled: Annotated[
        bool,
        typer.Option(
            "--what-if/--no-what-if",
            help="Double each exhausted resource at each simulated point, as the study says.",
        ),
    ] = True,
    shows_all: options.ShowsAll = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Run a study, or resume an interrupted one; then analyse it and write its report."""
    with watched() as watch:
        plan = session.open_plan(study, quick=quick, seed=seed, settings=settings)
    if dry_run:
        chosen = plan.only(only) if only else plan
        check_files(chosen)
        _print_plan(chosen, as_json=as_json)
        return
    identity = session.identity_of(plan)
    if is_salvaged:
        _salvage(session.journal_of(plan))
    session.say_remarks(plan, quiet=quiet)
    chosen = plan.only(only) if only else plan
    confirm(chosen, overwrite or ())
    say_foresight(chosen, quiet=quiet)
    for sentence in undecidable_lines(undecidable(chosen)):
        session.note(sentence, quiet=quiet)
    with (
        place_of(on, partial(session.note, quiet=quiet)) as place,
        Journal.open(session.journal_of(plan), create=True) as journal,
        kept_workers(),
    ):
        is_fresh = check if fresh is None else fresh
        resume = _how_to_resume(is_fresh=is_fresh, is_checked=check)
        how = _How(
            jobs=jobs,
            place=place,
            quiet=quiet,
            color=color,
            stop_on_failure=stop_on_failure,
            resume=resume,
        )
        if is_fresh:
            _measure_again(chosen, journal, quiet=quiet)
        outcome, chosen = _run_stages(plan, chosen, journal, how)
        is_whole = not outcome.interrupted and not (stop_on_failure and outcome.failed)
        if is_doubled and is_whole:
            outcome = _run_what_ifs(chosen.ready(), journal, how, outcome)
        result = session.analysed(plan, journal, identity=identity, jobs=jobs)
        is_whole_journal = journal.unreadable_count == 0
    page = session.write_artefacts(plan, result)
    named = Named.of(study, quick=quick, seed=seed, settings=settings)
    if is_whole_journal:
        session.keep(plan, result, identity=identity)
        console = result_console(color)
        screens = KeptScreens.of(study, words_of_show(seed, settings), console, quick=quick)
        keep_text(plan, result, screens, named=named, watch=watch, console=console)
    shown = _part(result, only) if only else result
    if as_json:
        write_json("study-result", stored_form(result))
        session.note(f"report: {page.resolve().as_uri()}", quiet=quiet)
    elif shows_all:
        render_study(shown, result_console(color), reused=outcome.reused_measurements)
    else:
        print_answer(shown, result_console(color), named, reused=outcome.reused_measurements)
    raise typer.Exit(_exit_code(outcome, shown, is_checked=check))


def _part(result: StudyResult, names: Sequence[str]) -> StudyResult:
    """Return what `result` says about some experiments; the report has all of them."""
    part = msgspec.structs.replace(
        result,
        experiments=[experiment for experiment in result.experiments if experiment.name in names],
        claims=[claim for claim in result.claims if claim.experiment in names],
    )
    return with_answer(part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """Options for running a plan and reporting on it."""

    jobs: int | None
    place: Place | None
    quiet: bool
    color: ColorMode
    stop_on_failure: bool
    resume: str
    """How to continue where the run is interrupted."""


def _how_to_resume(*, is_fresh: bool, is_checked: bool) -> str:
    if not is_fresh:
        return "run the same command to resume"
    options = "--check --reuse" if is_checked else "--reuse in place of --fresh"
    return f"resume with {options}; the same command measures all again"


def _measure_again(plan: Plan, journal: Journal, *, quiet: bool) -> None:
    """Let older measurements no longer count; say so, and why simulations still do."""
    names = mark_fresh(plan, journal)
    if names:
        session.note(f"measured again: {', '.join(names)}", quiet=quiet)
    if any(experiment.system.column is Column.MODEL for experiment in plan.experiments):
        session.note(
            "simulations are not repeated: the same model and seed give identical results",
            quiet=quiet,
        )


def _run_stages(whole: Plan, chosen: Plan, journal: Journal, how: _How) -> tuple[Outcome, Plan]:
    """Run experiments after those that their parameters are fitted from.

    Returns what came of it, and the chosen experiments as they were run.
    """
    outcome: Outcome | None = None
    names = [experiment.spec.name for experiment in chosen.experiments]
    for stage in stages(chosen.experiments):
        whole = with_fits(whole, journal)
        ready = whole.only(stage).ready()
        if not ready.experiments and outcome is not None:
            continue
        found = _run_refined(ready, journal, how)
        outcome = found if outcome is None else outcome.then(found)
        if outcome.interrupted or (how.stop_on_failure and outcome.failed):
            break
    settled = with_fits(whole, journal).only(names)
    if outcome is None:
        raise AssertionError("a plan without experiments")
    if not outcome.interrupted:
        _say_what_waits(settled, quiet=how.quiet)
    return outcome, settled


def _run_refined(plan: Plan, journal: Journal, how: _How) -> Outcome:
    """Run the points of a plan, then those that its limits add, round by round."""
    known: Known = {}
    refined = with_refined(plan, journal, known)
    outcome = _run(refined, journal, how)
    while not (outcome.interrupted or (how.stop_on_failure and outcome.failed)):
        wider = with_refined(plan, journal, known)
        new = _without_points(wider, refined)
        if not new.experiments:
            return outcome
        _say_added(new, quiet=how.quiet)
        outcome = outcome.then(_run(new, journal, how, about="refine: ", has_notes=False))
        refined = wider
    return outcome


def _without_points(plan: Plan, known: Plan) -> Plan:
    """Return a plan with the points that another one lacks."""
    old = {point.key for experiment in known.experiments for point in experiment.points}
    left = (
        (one, tuple(point for point in one.points if point.key not in old))
        for one in plan.experiments
    )
    return replace(
        plan, experiments=tuple(replace(one, points=points) for one, points in left if points)
    )


def _say_added(plan: Plan, *, quiet: bool) -> None:
    for experiment in plan.experiments:
        levels = "; ".join(_levels_in_words(point.levels) for point in experiment.points)
        session.note(f"refine: experiment {experiment.spec.name!r} adds {levels}", quiet=quiet)


def _levels_in_words(levels: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={format_level(level)}" for name, level in levels.items())


def _say_what_waits(plan: Plan, *, quiet: bool) -> None:
    for experiment in plan.experiments:
        fit = experiment.fit
        if fit is not None and not fit.is_settled:
            cure = f"; {fit.cure}" if fit.cure else ""
            name = experiment.spec.name
            session.note(f"experiment {name!r} is not run: {fit.reason}{cure}", quiet=quiet)


def _run(
    plan: Plan, journal: Journal, how: _How, *, about: str = "", has_notes: bool = True
) -> Outcome:
    start = perf_counter()
    outcome = run_plan(
        plan,
        journal,
        stopping=IntervalRule(),
        jobs=how.jobs or os.cpu_count() or 1,
        progress=Progress(error_console(how.color), is_quiet=how.quiet),
        interrupt=Interrupt(),
        stop_on_failure=how.stop_on_failure,
        place=how.place,
    )
    if has_notes or outcome.interrupted:
        _say_notes(outcome, how, about=about)
    is_simulated = all(experiment.system.column is Column.MODEL for experiment in plan.experiments)
    if outcome.event_count and is_simulated:
        speed = pace_in_words(outcome.event_count, perf_counter() - start)
        session.note(f"{about}{speed}", quiet=how.quiet)
    return outcome


def pace_in_words(events: int, wall_s: float) -> str:
    """Return how many events were simulated, and how fast.

    Examples
    --------
    >>> pace_in_words(2_400_000_000, 240.0)
    '2,400 million events in 240 s, 10 million a second'
    """
    million = events / 1e6
    return (
        f"{million:,.4g} million events in {wall_s:.3g} s, {million / wall_s:.3g} million a second"
    )


def _run_what_ifs(plan: Plan, journal: Journal, how: _How, base: Outcome) -> Outcome:
    """Run what the verdicts ask for: each station or pool that is exhausted, doubled.

    A change that fails is a finding of the report, no failure of the study.
    """
    changed = fallback(
        lambda: planned_what_ifs(plan, journal),
        lambda reason: session.note(f"what-if runs are skipped: {reason}"),
    )
    if changed is None:
        return base
    found = _run(changed, journal, how, about="what if: ")
    return replace(base, interrupted=found.interrupted, remaining=found.remaining)


def _salvage(path: Path) -> None:
    found = salvage(path)
    session.note(
        f"recovered {found.rescued} replications; {found.lost} are lost and run again; "
        f"the damaged journal is kept as {found.kept_at}"
    )


def _say_notes(outcome: Outcome, how: _How, *, about: str) -> None:
    for line in outcome.notes:
        session.note(f"{about}{line}", quiet=how.quiet)
    if outcome.interrupted:
        left = f"{outcome.remaining} replications are left"
        session.note(f"stopped; {left}; {how.resume}", quiet=how.quiet)


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
    """Return whether a point ran and yet has nothing to report: asked for, and not there."""
    return any(point.lacks_figures for item in result.experiments for point in item.points)


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


def _print_plan(plan: Plan, *, as_json: bool) -> None:
    uses, never = foresight(plan), undecidable(plan)
    points = [
        PlannedPoint(
            experiment=point.experiment,
            point=point.key,
            levels=dict(point.levels),
            waits="" if experiment.fit is None else experiment.fit.reason,
            uses=list(uses.get(point.key, ())),
            confirm=[confirmation.words for confirmation in confirmations(experiment, point)],
            undecidable=(
                undecidable_sentence(never[experiment.spec.name])
                if experiment.spec.name in never
                else ""
            ),
        )
        for experiment in plan.experiments
        for point in experiment.points
    ]
    if as_json:
        write_json("plan", points)
        return
    for point in points:
        levels = _levels_in_words(point.levels)
        waits = f"  ({point.waits})" if point.waits else ""
        typer.echo(f"{point.experiment}  {point.point}  {levels}{waits}".rstrip())
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
