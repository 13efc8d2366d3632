"""Try changes of stations, pools and parameters at a point, paired with it by their seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from headroom.analysis.follow_up.decided import EARLY_CONFIDENCE, FEWEST, MOST, DecidedRule
from headroom.analysis.follow_up.stopping import IntervalRule
from headroom.analysis.follow_up.what_if import all_doubled, effects_so_far
from headroom.analysis.results import Effect, ExperimentResult, PointResult, StudyResult
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.changes import Change, changes_in, text_of
from headroom.experiment.protocol.options import QUICK, SEED, Ending, option
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Modelled
from headroom.experiment.runner.cluster.address import place_of
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.runner import StoppingRule, run_plan
from headroom.experiment.runner.selection import Selection
from headroom.experiment.runner.what_if import changed_plan, changed_point
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.changed_parameters import check_changes
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.experiment.study.study import Replications
from headroom.sessions.study_session import analysed, point_key
from headroom.sessions.subjects import refuse_endless
from headroom.sessions.voice import Voice
from headroom.sizing.evaluate import Subject, plan_of

DEFAULT_SEED = 1


class InterruptedTrialError(Exception):
    """The user stopped the runs; what ran is in the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The experiment with its one point, whose what-ifs include the changes with these texts."""

    result: StudyResult
    texts: frozenset[str]
    at_most: int | None
    """Pairs at which each change ended at the latest; None where their number was given."""

    @property
    def experiment(self) -> ExperimentResult:
        """The experiment of the point."""
        return self.result.experiments[0]

    @property
    def point(self) -> PointResult:
        """The point with the effects of the requested changes alone."""
        found = self.experiment.points[0]
        kept = [one for one in found.what_ifs if one.change in self.texts]
        return msgspec.structs.replace(found, what_ifs=kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trying(Ending):
    """What is to be tried: the options that the command and the function of Python share."""

    point: str | None = option(
        "--point",
        "Point of the study: its key, or its levels [the last one that is limited].",
        metavar="POINT",
    )
    changes: Sequence[str] = option(
        "--change",
        "-c",
        '"station.cpu.servers=8", "station.cpu.speed=x2", "pool.connections.tokens=x2", '
        'or a parameter: "hit_ratio=0.9", "rate=x2"; '
        "repeatable, each one is tried by itself; joined by ; they are tried together "
        "[everything doubled].",
        default=(),
    )
    replications: int | None = option(
        "--replications",
        "-n",
        "Pairs [until the effects are decided, at most those of the point; of a model 10].",
        low=2,
    )
    quick: bool = option(like=QUICK, default=False)
    seed: int | None = option(like=SEED)

    def one_point(self, subject: Subject) -> Plan:
        """Return the plan of a model's one point."""
        rule = Replications(count=self.replications or 10)
        seed = DEFAULT_SEED if self.seed is None else self.seed
        return plan_of(subject, [subject.config], rule, seed=seed)


def try_changes(plan: Plan, place: Path, asked: Trying, *, voice: Voice) -> Tried:
    """Run a point and changes of it, and return their effects.

    Parameters
    ----------
    plan, place
        The plan, and the path of its journal.
    asked
        The options.
    voice
        Takes the progress.

    Raises
    ------
    InterruptedTrialError
        The user stopped it.
    """

    def run(wanted: Plan | None, rule: StoppingRule) -> None:
        if wanted is None:
            return
        outcome = run_plan(
            wanted,
            journal,
            stopping=rule,
            jobs=asked.jobs,
            progress=voice.progress(),
            interrupt=Interrupt(),
            place=workers,
        )
        if outcome.interrupted:
            raise InterruptedTrialError

    with (
        place_of(asked.on, voice.note) as workers,
        Journal.open(place, create=True) as journal,
        kept_workers(),
    ):
        experiment, base = base_point(plan, journal, asked.point)
        refuse_endless(experiment.system, base.config)
        alone = replace(plan, experiments=(replace(experiment, points=(base,)),))
        run(alone, IntervalRule())
        checked = _changes(experiment, base, asked.changes, plan, journal)
        most = asked.replications or min(_done(journal, base), MOST)
        wanted = [
            (experiment, changed_point(base, one, experiment.system), most) for one in checked
        ]
        changed = changed_plan(plan, wanted)
        is_open = asked.replications is None and most > FEWEST
        if not is_open:
            run(changed, IntervalRule())
        else:
            effects = _effects_of(alone, journal)
            run(_until_decided(changed, most), DecidedRule(effects, most))
        result = analysed(alone, journal)
    texts = frozenset(text_of(one) for one in checked)
    return Tried(result=result, texts=texts, at_most=most if is_open else None)


def _until_decided(plan: Plan | None, most: int) -> Plan | None:
    """Return a plan of changed points whose number of replications is open up to `most`."""
    if plan is None:
        return None
    # The runner asks its rule about points that have such a key; the rule here has its own.
    rule = Replications(metric="throughput", half_width=0.5, minimum=FEWEST, maximum=most)
    return replace(
        plan,
        experiments=tuple(
            replace(one, spec=msgspec.structs.replace(one.spec, replications=rule))
            for one in plan.experiments
        ),
    )


def _effects_of(
    alone: Plan, journal: Journal
) -> Callable[[PlannedExperiment, Point, Sequence[Run]], Sequence[Effect]]:
    """Return what gives the effects of a change over its first runs."""
    (experiment,) = alone.experiments
    base = Selection(alone, journal).rows(experiment, experiment.points[0])
    result = analysed(alone, journal).experiments[0].points[0]

    def effects(changed: PlannedExperiment, point: Point, runs: Sequence[Run]) -> list[Effect]:
        one = replace(changed, points=(point,))
        rows = Selection(replace(alone, experiments=(one,)), journal).rows(one, point)
        rows = [row for row in rows if row.state == "done"][: len(runs)]
        return effects_so_far(one, base, rows, result, confidence=EARLY_CONFIDENCE)

    return effects


def base_point(plan: Plan, journal: Journal, wanted: str | None) -> tuple[PlannedExperiment, Point]:
    """Return the point to start from: the one named, or the last that something limits."""
    points = {point.key: (one, point) for one in plan.experiments for point in one.points}
    if len(points) == 1:
        return next(iter(points.values()))
    result = analysed(plan, journal)
    key = _last_limited(result) if wanted is None else point_key(result, wanted)
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
