"""Run a plan: missing replications run, rows are stored one by one, and nothing runs twice.

Invariants: a replication counts only after its row is durable; a failed replication never stops
the others; other machines measure first, then simulations run
in parallel, then measurements alone. Killed at any
moment and started again, the run ends with the rows of an undisturbed one.
See docs/background/journal-and-resume.md.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from headroom.errors import EnvironmentUnfitError, HeadroomError, StudyError
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.machine.machine_identity import Machine
from headroom.experiment.protocol.loading import refuse_runs
from headroom.experiment.protocol.run import Run
from headroom.experiment.protocol.system import Column
from headroom.experiment.runner import resume
from headroom.experiment.runner.executors import Executor, Place
from headroom.experiment.runner.hosts import Looked, check_there, host_of, hosts_of, recipes_of
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.progress import Pace, Progress
from headroom.experiment.runner.schedule import GIVE_UP_AFTER, Planned, PointState, Schedule
from headroom.experiment.runner.seen_inputs import facts_of_points
from headroom.experiment.runner.selection import (
    PLACES,
    PREPARED,
    WORKED_ON,
    Criteria,
    Site,
    criteria_of_run,
    select_rows,
)
from headroom.experiment.runner.tasks import Result, Task, utc_now
from headroom.experiment.runner.what_ran import ChangedMeanwhileError, check_ran
from headroom.experiment.runner.worker_pool import WorkerPool
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point

_PACE_WEIGHT = 0.2


class StoppingRule(Protocol):
    """Decides whether a point with an open number of replications needs more.

    A rule looks at some numbers of replications only; the runner schedules all up to the next
    look at once, so that they run in parallel and the rows are read once per look.
    """

    def needs_more(self, experiment: PlannedExperiment, point: Point, runs: Sequence[Run]) -> bool:
        """Return True if `runs`, in the order of replications, are not enough yet.

        The answer changes at looks only: between two looks it is that of the earlier one.
        """
        ...

    def next_look(self, experiment: PlannedExperiment, count: int) -> int:
        """Return the number of replications, above `count`, at which the rule looks next."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The replications that a session ran and reused.

    Parameters
    ----------
    done, failed
        Replications that ended in this session.
    reused
        Replications that earlier sessions finished and that count.
    interrupted
        True if the user stopped the session before its end.
    remaining
        Replications that are planned and not run, because the session was stopped.
    given_up
        Replications not tried, because the first ones of their point all failed, or because the
        machine lacks what their experiment needs.
    kept
        Reason to number of stored replications that were not reused.
    notes
        What a user should know, one sentence each.
    event_count
        Events that the simulations of this session went through.
    reused_measurements
        Those of `reused` that are measurements: they have an age, simulations have none.
    """

    done: int
    reused: int
    failed: int
    interrupted: bool
    remaining: int
    given_up: int = 0
    kept: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    event_count: int = 0
    reused_measurements: int = 0

    def then(self, later: "Outcome") -> "Outcome":
        """Return the combined outcome of this part of a session and a later one."""
        kept = Counter(self.kept)
        kept.update(later.kept)
        return Outcome(
            done=self.done + later.done,
            reused=self.reused + later.reused,
            failed=self.failed + later.failed,
            interrupted=self.interrupted or later.interrupted,
            remaining=self.remaining + later.remaining,
            given_up=self.given_up + later.given_up,
            kept=dict(kept),
            notes=tuple(dict.fromkeys([*self.notes, *later.notes])),
            event_count=self.event_count + later.event_count,
            reused_measurements=self.reused_measurements + later.reused_measurements,
        )


def run_plan(
    plan: Plan,
    journal: Journal,
    *,
    stopping: StoppingRule,
    jobs: int,
    progress: Progress,
    interrupt: Interrupt,
    stop_on_failure: bool = False,
    place: Place | None = None,
) -> Outcome:
    """Run what a plan lacks, and store it.

    Parameters
    ----------
    plan
        The plan.
    journal
        Its journal, opened for writing.
    stopping
        Rule for points whose number of replications is open.
    jobs
        Simulations in parallel, >= 1.
    progress
        Informed of every replication.
    interrupt
        Listens to Ctrl-C while the plan runs.
    stop_on_failure
        Start nothing more after a replication has failed.
    place
        Where simulations run; None for `jobs` processes of this machine.

    Raises
    ------
    EnvironmentUnfitError
        No experiment that has work can run on this machine, or the journal cannot be written; every
        row stored before stays. If only some experiments cannot run, their points fail.
    """
    refuse_runs()
    session = _Session(
        plan=plan,
        journal=journal,
        stopping=stopping,
        progress=progress,
        interrupt=interrupt,
        stop_on_failure=stop_on_failure,
        place=place,
    )
    try:
        survey = session.look()  # Ctrl-C ends it at once, as it may wait for a host
    except BaseException:
        session.close()
        raise
    with interrupt:
        try:
            session.run(survey, jobs)
        finally:
            session.close()
            progress.stop()
    return session.outcome(survey)


class _Session:
    """One call of `run_plan`: its schedules, the running tasks, and the results so far."""

    def __init__(
        self,
        *,
        plan: Plan,
        journal: Journal,
        stopping: StoppingRule,
        progress: Progress,
        interrupt: Interrupt,
        stop_on_failure: bool,
        place: Place | None,
    ) -> None:
        self._plan = plan
        self._place = place
        self._journal = journal
        self._criteria: Mapping[str, Criteria] = {}
        self._stopping = stopping
        self._progress = progress
        self._interrupt = interrupt
        self._stop_on_failure = stop_on_failure
        self._hosts = hosts_of(plan, place)
        self._looks: dict[str, Looked] = {}
        self._schedules: dict[tuple[str, Column], Schedule] = {}
        self._running: dict[int, Planned] = {}
        self._environments: dict[str, int] = {}
        self._places: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._started_count = 0
        self._done_count = 0
        self._failed_count = 0
        self._event_count = 0
        self._untried: Counter[str] = Counter()
        self._said: dict[str, None] = {}
        self._refusals: dict[str, HeadroomError] = {}
        self._was_killed = False
        self._mean_wall_s: float | None = None

    def look(self) -> resume.Survey:
        """Look at every host that can be asked; returns what counts of the journal's rows."""
        self._looks = {name: host.look() for name, host in self._hosts.items()}
        for look in self._looks.values():
            self._places |= look.places
        self._criteria = self._criteria_now()
        return resume.survey(self._plan, self._journal, self._criteria)

    def _criteria_now(self) -> dict[str, Criteria]:
        sites = {
            name: Site(machine=Machine.of(look.facts), places=look.places)
            for name, look in self._looks.items()
        }
        criteria = criteria_of_run(self._plan, self._journal, sites)
        for one in criteria.values():
            self._seen |= one.holding
        return criteria

    def run(self, survey: resume.Survey, jobs: int) -> None:
        """Run everything that the survey lacks."""
        self._schedules = {
            (name, column): self._schedule(name, column, survey)
            for name in sorted({*self._hosts, *map(host_of, self._plan.experiments)}, reverse=True)
            for column in Column
        }
        for schedule in self._schedules.values():
            self._extend(schedule, schedule.settled())
        for host in self._hosts.values():
            self._note(host.open(self._progress.say))
        waiting = self._waiting()
        if not waiting:
            return
        check_there(self._hosts, waiting)
        self._prepare(waiting)
        self._criteria = self._criteria_now()
        models = self._schedules["", Column.MODEL]
        if self._place is not None and models:
            jobs = self._place.worker_count
        self._progress.start(self._paces(jobs), reused=survey.reused_count)
        self._refuse()
        for name in sorted(filter(None, self._hosts)):
            measure = partial(self._hosts[name].executor, self._progress.say)
            self._drive(self._schedules[name, Column.MEASURE], measure)
            self._note(self._hosts.pop(name).close())
        self._drive(models, lambda: self._model_executor(jobs))
        if self._place is not None and self._schedules["", Column.MEASURE]:
            self._place.close()  # idle workers take processor time from what is measured
        measure = partial(self._hosts[""].executor, self._progress.say)
        self._drive(self._schedules["", Column.MEASURE], measure)

    def close(self) -> None:
        """Let every system remove its own files; the first failure is raised after the last."""
        with ExitStack() as stack:
            for host in self._hosts.values():
                stack.callback(lambda left: self._note(left.close()), host)

    def _note(self, said: Iterable[str]) -> None:
        """Keep a system's messages for the notes, each sentence once."""
        self._said |= dict.fromkeys(said)

    def outcome(self, survey: resume.Survey) -> Outcome:
        """Return the outcome of the session so far."""
        waiting = sum(len(schedule) for schedule in self._schedules.values()) + len(self._running)
        was_asked = self._interrupt.is_requested and waiting > 0
        return Outcome(
            done=self._done_count,
            reused=survey.reused_count,
            failed=self._failed_count,
            interrupted=self._was_killed or was_asked,
            remaining=waiting,
            given_up=self._untried.total(),
            kept=survey.kept,
            notes=(*self._journal.notes, *self._said, *survey.notes(), *self._own_notes()),
            event_count=self._event_count,
            reused_measurements=sum(
                len(survey.done.get(point.key, ()))
                for experiment in self._plan.experiments
                if experiment.system.column is Column.MEASURE
                for point in experiment.points
            ),
        )

    def _schedule(self, host: str, column: Column, survey: resume.Survey) -> Schedule:
        points = (
            (experiment, point)
            for experiment in self._plan.experiments
            if experiment.system.column is column and host_of(experiment) == host
            for point in experiment.points
        )
        return Schedule(points, done=survey.done, seed=self._plan.seed)

    def _prepare(self, waiting: Mapping[str, Sequence[PointState]]) -> None:
        """Check each host for the experiments that have work, and store its facts."""
        prepared = {}
        for name, host in self._hosts.items():
            configs = {
                experiment: {state.point.key: state.point.config for state in states}
                for experiment, states in waiting.items()
                if host_of(states[0].experiment) == name
            }
            if configs:
                prepared[name] = configs, host.prepare(configs)
        for _, found in prepared.values():
            self._refusals |= {
                name: (StudyError if is_study else EnvironmentUnfitError)(message, cure=cure)
                for name, (message, cure, is_study) in found.refused.items()
            }
        if not any(found.facts for _, found in prepared.values()):
            raise next(iter(self._refusals.values()))
        for name, (configs, found) in prepared.items():
            about = {PREPARED: found.facts, WORKED_ON: sorted(configs)}
            look = self._looks[name]
            points = [s.point for n in configs for s in waiting[n] if s.point.key in self._seen]
            about |= facts_of_points(points, self._seen)
            number = self._journal.add_environment({**look.facts, PLACES: look.places, **about})
            self._environments |= dict.fromkeys(configs, number)
            if found.busy:
                self._progress.warn(found.busy)

    def _waiting(self) -> dict[str, list[PointState]]:
        """Return the points of each experiment that have work."""
        waiting: dict[str, list[PointState]] = {}
        for schedule in self._schedules.values():
            for state in schedule.states:
                if state.open_count:
                    waiting.setdefault(state.experiment.spec.name, []).append(state)
        return waiting

    def _refuse(self) -> None:
        """Let the points of experiments that cannot run here fail, with one row for each."""
        for name, error in self._refusals.items():
            for schedule in self._schedules.values():
                firsts, dropped = schedule.refuse(name)
                if not firsts:
                    continue
                self._leave(name, dropped, "their experiment cannot run here")
                tasks = [self._task(planned) for planned in firsts]
                self._store(schedule, [_refused(task, error) for task in tasks])

    def _paces(self, jobs: int) -> dict[str, Pace]:
        paces = {
            experiment.spec.name: Pace(
                open_count=0, parallel=jobs if experiment.system.column is Column.MODEL else 1
            )
            for experiment in self._plan.experiments
        }
        for schedule in self._schedules.values():
            for state in schedule.states:
                paces[state.point.experiment].open_count += state.open_count
        return paces

    def _model_executor(self, jobs: int) -> Executor:
        recipes = recipes_of(
            one for one in self._plan.experiments if one.system.column is Column.MODEL
        )
        if self._place is not None:
            return self._place.executor(self._plan.experiments, recipes)
        return WorkerPool(recipes, worker_count=jobs)

    @property
    def _may_start(self) -> bool:
        has_failed = self._stop_on_failure and self._failed_count > 0
        return not (self._was_killed or self._interrupt.is_requested or has_failed)

    def _drive(self, schedule: Schedule, start: Callable[[], Executor]) -> None:
        """Run a schedule to its end, or until the user stops it."""
        if not schedule or not self._may_start:
            return
        executor = start()
        try:
            self._submit(schedule, executor)
            while self._running:
                results = executor.results()
                self._progress.workers(executor.worker_count if executor.where else None)
                self._store(schedule, results, where=executor.where)
                self._submit(schedule, executor)
        except KeyboardInterrupt:
            self._was_killed = True
            executor.cancel()
        except BaseException:
            executor.cancel()
            raise
        else:
            executor.close()

    def _submit(self, schedule: Schedule, executor: Executor) -> None:
        while self._may_start and schedule and executor.capacity > 0:
            size = min(self._chunk_size(len(schedule), executor), executor.most_tasks)
            chunk = [schedule.take() for _ in range(min(size, len(schedule)))]
            executor.submit([self._task(planned) for planned in chunk])

    def _chunk_size(self, waiting: int, executor: Executor) -> int:
        """Return how many tasks a worker gets at once: some time's worth, and a fair share."""
        if self._mean_wall_s is None:
            return 1
        worth = int(executor.chunk_s / max(self._mean_wall_s, 1e-6))
        share = math.ceil(waiting / (2 * executor.worker_count))
        return max(1, min(worth, share))

    def _task(self, planned: Planned) -> Task:
        number = self._started_count
        self._started_count += 1
        self._running[number] = planned
        return Task(
            number=number,
            experiment=planned.point.experiment,
            config=dict(planned.point.config),
            seed=planned.point.seed(self._plan.seed, planned.replication),
            replication=planned.replication,
            changes=[change.text for change in planned.point.changes],
            keeps_samples=planned.replication == 0,
            seen=None if host_of(planned.experiment) else self._seen.get(planned.point.key, ""),
        )

    def _store(self, schedule: Schedule, results: Sequence[Result], *, where: str = "") -> None:
        """Make results durable, then let them count; end if something else ran."""
        results, strange = self._parted(results, where)
        self._keep_seen(results)
        rows = [(self._row(self._running[result.number], result), result.run) for result in results]
        self._journal.append_encoded(rows)
        changed = []
        for result in results:
            planned = self._running.pop(result.number)
            changed.append(self._count(schedule, planned, result))
        for experiment, count in self._extend(schedule, changed):
            self._progress.add(experiment, count)
        if strange is not None:
            raise strange

    def _keep_seen(self, results: Sequence[Result]) -> None:
        """Store what runs were newly seen to depend on, before their rows."""
        for result in results:
            point = self._running[result.number].point
            seen = result.ran.seen if result.ran is not None else ""
            if seen and point.key not in self._seen:
                is_new = seen not in self._seen.values()
                self._seen[point.key] = seen
                number = self._environments[point.experiment]
                facts = facts_of_points([point], self._seen, environment=number, is_new=is_new)
                self._journal.add_environment(facts)

    def _parted(
        self, results: Sequence[Result], where: str
    ) -> tuple[list[Result], ChangedMeanwhileError | None]:
        """Return the results of planned replications, and the error of the first unplanned one."""
        planned, strange = [], None
        for result in results:
            point = self._running[result.number].point
            place = self._places.get(point.key, "")
            try:
                check_ran(result.ran, point, place, has_failed=bool(result.error), where=where)
                planned.append(result)
            except ChangedMeanwhileError as error:
                strange = strange or error
        return planned, strange

    def _row(self, planned: Planned, result: Result) -> ReplicationRow:
        point = planned.point
        return ReplicationRow(
            experiment=point.experiment,
            point_key=point.key,
            fingerprint=point.fingerprint,
            levels=point.levels,
            replication=planned.replication,
            seed=point.seed(self._plan.seed, planned.replication),
            state="failed" if result.error else "done",
            started_at=result.started_at,
            wall_s=result.wall_s,
            error=result.error,
            environment=self._environments[point.experiment],
            position=result.number,
        )

    def _count(self, schedule: Schedule, planned: Planned, result: Result) -> PointState:
        is_done = not result.error
        state = schedule.finish(planned, is_done=is_done)
        self._done_count += is_done
        self._event_count += result.event_count
        self._failed_count += not is_done
        self._progress.finish(planned.point.experiment, wall_s=result.wall_s, is_done=is_done)
        self._note_pace(result.wall_s)
        if not is_done:
            self._maybe_give_up(schedule, state)
        return state

    def _note_pace(self, wall_s: float) -> None:
        before = wall_s if self._mean_wall_s is None else self._mean_wall_s
        self._mean_wall_s = before + _PACE_WEIGHT * (wall_s - before)

    def _maybe_give_up(self, schedule: Schedule, state: PointState) -> None:
        """Leave a measured point that only fails: each attempt may cost its whole time limit."""
        is_measured = state.experiment.system.column is Column.MEASURE
        if is_measured and not state.done and len(state.failed) >= GIVE_UP_AFTER:
            reason = f"the first {GIVE_UP_AFTER} of their point all failed"
            self._leave(state.point.experiment, schedule.give_up(state), reason)

    def _leave(self, experiment: str, count: int, reason: str) -> None:
        """Note that replications will not be tried in this session."""
        self._untried[reason] += count
        self._progress.drop(experiment, count)

    def _extend(self, schedule: Schedule, states: Iterable[PointState]) -> list[tuple[str, int]]:
        """Let points continue if the rule requests it; returns experiment and replications."""
        unique = {state.point.key: state for state in states}.values()
        return [
            (state.point.experiment, schedule.add_next(state))
            for state in unique
            if self._needs_more(state)
        ]

    def _needs_more(self, state: PointState) -> bool:
        """Ask the rule once nothing of the point runs: the answer then depends on rows only."""
        experiment = state.experiment
        if state.is_fixed or state.open_count or not state.done:
            return False
        if experiment.spec.name in self._refusals:
            return False
        if state.next_replication >= experiment.most_replications:
            return False
        count = len(state.done)
        if count < state.next_look:
            return True
        state.next_look = self._stopping.next_look(experiment, count)
        return self._stopping.needs_more(experiment, state.point, self._runs(state))

    def _runs(self, state: PointState) -> list[Run]:
        name = state.experiment.spec.name
        rows = select_rows(
            self._journal.rows(name, state.point.key),
            criteria=self._criteria[name],
            experiment=state.experiment,
            point=state.point,
        )
        return [row.run for row in rows if row.run is not None]

    def _own_notes(self) -> list[str]:
        notes = [
            f"experiment {name!r} cannot run here: {error.message}"
            + (f"; {error.cure}" if error.cure else "")
            for name, error in self._refusals.items()
        ]
        notes += [
            f"{count} replications not tried: {reason}"
            for reason, count in self._untried.items()
            if count
        ]
        return notes


def _refused(task: Task, error: HeadroomError) -> Result:
    """Return the result of a task that was not even tried."""
    return Result(number=task.number, started_at=utc_now(), wall_s=0.0, error=str(error))
