"""Run a study from its plan to its result: stages, added levels, what-ifs, analysis, page.

Invariant: what ran is durable before anything is analysed, and a session that was interrupted
leaves a result of what there is.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from headroom.analysis.fits.fits import with_fits
from headroom.analysis.follow_up.refine import Known, with_refined
from headroom.analysis.follow_up.stopping import IntervalRule
from headroom.analysis.follow_up.what_if import planned_what_ifs
from headroom.analysis.results import StudyResult
from headroom.defects import fallback
from headroom.errors import HeadroomError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.options import QUICK, SEED, SETTINGS, Simulating, option
from headroom.experiment.protocol.system import Column, Value
from headroom.experiment.runner.cluster.address import place_of
from headroom.experiment.runner.executors import Place
from headroom.experiment.runner.fresh import mark_fresh
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.runner import Outcome, run_plan
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.fit_plan import stages
from headroom.experiment.study.plan import Plan
from headroom.quantities import format_level
from headroom.sessions.study_session import analysed, journal_of, keep, write_artefacts
from headroom.sessions.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class Running(Simulating):
    """What is asked of a run: the options that the command and the function of Python share."""

    quick: bool = option(like=QUICK, default=False)
    only: Sequence[str] = option(
        "--only", "Run this experiment only; repeatable.", metavar="EXPERIMENT", default=()
    )
    processes: int | None = option(
        "--jobs",
        "-j",
        "Simulations and analyses in parallel [cores].",
        low=1,
        envvar="HEADROOM_JOBS",
    )
    seed: int | None = option(like=SEED)
    settings: Sequence[str] = option(like=SETTINGS, default=())
    fresh: bool | None = option(
        "--fresh/--reuse",
        "Measure again what was measured before, or reuse it. Older measurements stay in "
        "the journal and no longer count. Simulations are always reused: the same model and "
        "seed give the same bits. [default: --fresh with --check, else --reuse]",
        show_default=False,
    )
    stop_on_failure: bool = option(
        "--stop-on-failure", "Stop at the first point that fails.", default=False
    )
    overwrite: Sequence[str] = option(
        "--overwrite",
        "Allow this run to destroy what is on a target: its name and its size in bytes, "
        "as the refusal prints them; repeatable.",
        metavar="'TARGET SIZE'",
        default=(),
    )
    what_if: bool = option(
        "--what-if/--no-what-if",
        "Double each exhausted resource at each simulated point, as the study says.",
        default=True,
    )

    def chosen(self, plan: Plan) -> Plan:
        """Return the part of a plan that is run."""
        return plan.only(self.only) if self.only else plan


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How a plan is run and reported on.

    Parameters
    ----------
    asked
        The options.
    voice
        Takes messages and progress.
    resume
        How to continue if the run is interrupted.
    place
        The cluster once it is connected.
    """

    asked: Running
    voice: Voice
    resume: str
    place: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The outcome of a session, the whole result, and the page; `is_whole` if no row is damaged."""

    outcome: Outcome
    result: StudyResult
    page: Path
    is_whole: bool


def run_to_page(plan: Plan, chosen: Plan, how: How, *, identity: bytes) -> Finished:
    """Run the chosen experiments of a plan, analyse all of it, and write its page.

    Parameters
    ----------
    plan, chosen
        The study, and the part of it that is run.
    how
        How.
    identity
        See `study_session.identity_of`.
    """
    with opened(plan, how) as (journal, connected):
        outcome = run_in(journal, plan, chosen, connected)
        result = analysed(plan, journal, identity=identity, jobs=how.asked.jobs)
        is_whole = journal.unreadable_count == 0
    page = write_artefacts(plan, result, how.voice.insist)
    if is_whole:
        keep(plan, result, identity=identity)
    return Finished(outcome=outcome, result=result, page=page, is_whole=is_whole)


@contextmanager
def opened(plan: Plan, how: How) -> Iterator[tuple[Journal, How]]:
    """Open the journal of a plan for writing, with the cluster that simulates, if any."""
    with (
        place_of(how.asked.on, how.voice.note) as place,
        Journal.open(journal_of(plan), create=True) as journal,
        kept_workers(),
    ):
        if plan.code:
            journal.keep_code(plan.code)
        try:
            yield journal, replace(how, place=place)
        finally:
            if plan.code:
                with suppress(HeadroomError):  # Rows count, and what ends the run is said.
                    journal.keep_code(plan.code)


def run_in(journal: Journal, plan: Plan, chosen: Plan, how: How) -> Outcome:
    """Run the chosen experiments of a plan, then the what-ifs that they ask for."""
    if how.asked.fresh:
        _measure_again(chosen, journal, how)
    outcome, settled = _run_stages(plan, chosen, journal, how)
    is_whole = not outcome.interrupted and not (how.asked.stop_on_failure and outcome.failed)
    if how.asked.what_if and is_whole:
        outcome = _run_what_ifs(settled.ready(), journal, how, outcome)
    return outcome


def _measure_again(plan: Plan, journal: Journal, how: How) -> None:
    """Let older measurements no longer count; say so, and why simulations still do."""
    names = mark_fresh(plan, journal)
    if names:
        how.voice.note(f"measured again: {', '.join(names)}")
    if any(experiment.system.column is Column.MODEL for experiment in plan.experiments):
        how.voice.note(
            "simulations are not repeated: the same model and seed give identical results"
        )


def _run_stages(whole: Plan, chosen: Plan, journal: Journal, how: How) -> tuple[Outcome, Plan]:
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
        if outcome.interrupted or (how.asked.stop_on_failure and outcome.failed):
            break
    settled = with_fits(whole, journal).only(names)
    if outcome is None:
        raise AssertionError("a plan without experiments")
    if not outcome.interrupted:
        _say_what_waits(settled, how)
    return outcome, settled


def _run_refined(plan: Plan, journal: Journal, how: How) -> Outcome:
    """Run the points of a plan, then those that its limits add, round by round."""
    known: Known = {}
    refined = with_refined(plan, journal, known)
    outcome = _run(refined, journal, how)
    while not (outcome.interrupted or (how.asked.stop_on_failure and outcome.failed)):
        wider = with_refined(plan, journal, known)
        new = _without_points(wider, refined)
        if not new.experiments:
            return outcome
        _say_added(new, how)
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


def _say_added(plan: Plan, how: How) -> None:
    for experiment in plan.experiments:
        levels = "; ".join(levels_text(point.levels) for point in experiment.points)
        how.voice.note(f"refine: experiment {experiment.spec.name!r} adds {levels}")


def levels_text(levels: Mapping[str, Value]) -> str:
    """Return the levels of a point, as ``users=40, disk=ssd``."""
    return ", ".join(f"{name}={format_level(level)}" for name, level in levels.items())


def _say_what_waits(plan: Plan, how: How) -> None:
    for experiment in plan.experiments:
        fit = experiment.fit
        if fit is not None and not fit.is_settled:
            cure = f"; {fit.cure}" if fit.cure else ""
            name = experiment.spec.name
            how.voice.note(f"experiment {name!r} is not run: {fit.reason}{cure}")


def _run(
    plan: Plan, journal: Journal, how: How, *, about: str = "", has_notes: bool = True
) -> Outcome:
    start = perf_counter()
    outcome = run_plan(
        plan,
        journal,
        stopping=IntervalRule(),
        jobs=how.asked.jobs,
        progress=how.voice.progress(),
        interrupt=Interrupt(),
        stop_on_failure=how.asked.stop_on_failure,
        place=how.place,
    )
    if has_notes or outcome.interrupted:
        _say_notes(outcome, how, about=about)
    is_simulated = all(experiment.system.column is Column.MODEL for experiment in plan.experiments)
    if outcome.event_count and is_simulated:
        speed = pace_in_words(outcome.event_count, perf_counter() - start)
        how.voice.note(f"{about}{speed}")
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


def _run_what_ifs(plan: Plan, journal: Journal, how: How, base: Outcome) -> Outcome:
    """Run what the verdicts ask for: each station or pool that is exhausted, doubled.

    A change that fails is a finding of the report, no failure of the study.
    """
    changed = fallback(
        lambda: planned_what_ifs(plan, journal),
        lambda reason: how.voice.insist(f"what-if runs are skipped: {reason}"),
    )
    if changed is None:
        return base
    found = _run(changed, journal, how, about="what if: ")
    return replace(base, interrupted=found.interrupted, remaining=found.remaining)


def _say_notes(outcome: Outcome, how: How, *, about: str) -> None:
    for line in outcome.notes:
        how.voice.note(f"{about}{line}")
    if outcome.interrupted:
        left = f"{outcome.remaining} replications are left"
        how.voice.note(f"stopped; {left}; {how.resume}")
