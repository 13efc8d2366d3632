"""Run configurations: the runner of studies with its journal and workers, and shared seeds.

Every configuration is a point whose replications run with the same seeds (common random numbers),
so that neighbours differ by their sizes and hardly at random. Rows are durable: a search that was
interrupted, or that has a different target, reuses earlier runs.

Invariant: a configuration's rows depend on the system, its parameters and the seed alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.changes import Change, text_of
from headroom.experiment.protocol.system import System, Value
from headroom.experiment.runner.executors import Place
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.runner import run_plan
from headroom.experiment.runner.selection import Selection
from headroom.experiment.runner.what_if import CHANGE_LEVEL
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.experiment.study.seeds import digest, point_key
from headroom.experiment.study.study import Experiment, Replications, Study, WarmUp
from headroom.experiment.study.windows import NO_WINDOWS, TimeWindows
from headroom.sizing.verdicts import Judgement, Rule

EXPERIMENT = "size"
SEED_KEY = "size"
"""Key that the seeds of all configurations derive from: they share their random numbers."""


class InterruptedSearchError(Exception):
    """The user stopped the search; what ran is in the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What must be sized: a system, and how each of its runs is cut and judged.

    Parameters
    ----------
    name
        As the user named it.
    system, setup, base
        The loaded system and what it was loaded from.
    config
        Value of every parameter that is not varied.
    warm_up
        How the warm-up is cut.
    windows
        Windows of its runs, and how these are analysed.
    """

    name: str
    system: System
    setup: msgspec.Struct
    base: Path
    config: Mapping[str, Value]
    warm_up: WarmUp = field(default_factory=WarmUp)
    windows: TimeWindows = NO_WINDOWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Parameters and changes of one place of the space."""

    config: Mapping[str, Value]
    changes: tuple[Change, ...] = ()


class Evaluator:
    """Simulates configurations until the rule has a verdict about each.

    Parameters
    ----------
    subject, rule
        What is run, and when it is enough.
    journal
        Opened for writing.
    seed
        Seed of the search.
    jobs
        Simulations in parallel.
    new_progress
        Makes a progress for each batch.
    place
        Where simulations run, None for this machine.
    """

    def __init__(
        self,
        subject: Subject,
        rule: Rule,
        journal: Journal,
        *,
        seed: int,
        jobs: int,
        new_progress: Callable[[], Progress],
        place: Place | None = None,
    ) -> None:
        self._subject = subject
        self._rule = rule
        self._journal = journal
        self._seed = seed
        self._jobs = jobs
        self._place = place
        self._new_progress = new_progress

    def judge(self, configurations: Sequence[Configuration]) -> list[tuple[Judgement, list[int]]]:
        """Return the judgement of each configuration, and the seeds that it rests on.

        Raises
        ------
        InterruptedSearchError
            The user stopped it.
        """
        points = tuple(point_of(self._subject, configuration) for configuration in configurations)
        plan = self._plan(points)
        outcome = run_plan(
            plan,
            self._journal,
            stopping=self._rule,
            jobs=self._jobs,
            progress=self._new_progress(),
            interrupt=Interrupt(),
            place=self._place,
        )
        if outcome.interrupted:
            raise InterruptedSearchError
        selection = Selection(plan, self._journal)
        return [self._judged(plan.experiments[0], point, selection) for point in points]

    def _judged(
        self, experiment: PlannedExperiment, point: Point, selection: Selection
    ) -> tuple[Judgement, list[int]]:
        rows = selection.rows(experiment, point)
        failed = [row for row in rows if row.state == "failed"]
        if failed or not rows:
            error = failed[0].error.partition("\n")[0] if failed else "no replication ran"
            nothing = Judgement(
                verdict="fails",
                checks=[],
                replications=len(rows),
                bottleneck=None,
                values={},
                note=f"it cannot be run: {error}",
                could_run=False,
            )
            return nothing, [row.seed for row in rows]
        verdict = self._rule.judge(experiment, [row.run for row in rows if row.run is not None])
        return verdict, [row.seed for row in rows[: verdict.replications]]

    def _plan(self, points: tuple[Point, ...]) -> Plan:
        replications = Replications(
            metric=self._rule.targets[0].metric,
            half_width=0.5,
            minimum=self._rule.minimum,
            maximum=self._rule.maximum,
        )
        return _plan_of(self._subject, points, replications, seed=self._seed)


def point_of(subject: Subject, one: Configuration) -> Point:
    """Return a configuration as a point; all of them share their seeds."""
    text = text_of(one.changes)
    levels = {**one.config, **({CHANGE_LEVEL: text} if text else {})}
    system = subject.system
    content = system.fingerprint(one.config)
    return Point(
        experiment=EXPERIMENT,
        key=point_key(EXPERIMENT, levels),
        levels=levels,
        config=one.config,
        fingerprint=digest([system.name, dict(one.config), content, text]),
        content=content,
        changes=one.changes,
        seed_key=SEED_KEY,
    )


def plan_of(
    subject: Subject, configs: Sequence[Mapping[str, Value]], rule: Replications, *, seed: int
) -> Plan:
    """Return a plan of unchanged configurations of a subject."""
    points = tuple(point_of(subject, Configuration(config=config)) for config in configs)
    return _plan_of(subject, points, rule, seed=seed)


def _plan_of(subject: Subject, points: tuple[Point, ...], rule: Replications, *, seed: int) -> Plan:
    spec = Experiment(
        name=EXPERIMENT,
        title=subject.name,
        system={"name": subject.system.name},
        replications=rule,
        warm_up=subject.warm_up,
        analysis=subject.windows.analysis,
        windows=list(subject.windows.windows),
    )
    experiment = PlannedExperiment(
        spec=spec,
        system=subject.system,
        setup=subject.setup,
        base=subject.base,
        factors=(),
        points=points,
        parameters=(),
    )
    return Plan(
        study=Study(schema=1, name=EXPERIMENT, title="Sizing", seed=seed, experiments=[spec]),
        folder=subject.base,
        is_quick=False,
        seed=seed,
        experiments=(experiment,),
    )
