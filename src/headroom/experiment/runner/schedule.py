"""The order of runs: randomised blocks, and the replications that a stopping rule requests.

Each block holds one replication of every point, in an order drawn from the study seed, so that a
drift of the machine affects all points alike. The position of a point within its block depends only
on (study seed, block, point): skipping finished replications does not move the others.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headroom.experiment.protocol.own_process import NeedsOwnProcess
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.experiment.study.seeds import order_rank

GIVE_UP_AFTER = 3
"""Failures at the start of a measured point after which it is not tried again in a session."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One replication of a point to run."""

    experiment: PlannedExperiment
    point: Point
    replication: int


@dataclass(slots=True, kw_only=True)
class PointState:
    """How far a point has come.

    Parameters
    ----------
    experiment, point
        The point.
    done
        Replications that count, from earlier sessions and this one.
    failed
        Replications that failed in this session.
    open_count
        Replications that wait or run.
    next_look
        Number of finished replications at which the stopping rule is checked again.
    """

    experiment: PlannedExperiment
    point: Point
    done: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    open_count: int = 0
    next_look: int = 0

    @property
    def is_fixed(self) -> bool:
        """True if the number of replications is fixed."""
        return self.experiment.spec.replications.count is not None

    @property
    def next_replication(self) -> int:
        """The first replication that has not been tried."""
        return max(self.done | self.failed, default=-1) + 1


class Schedule:
    """Replications that wait, in the order in which they are to start.

    Parameters
    ----------
    points
        Experiment and point of everything to run.
    done
        Replications of each point (by key) that earlier sessions finished.
    seed
        Study seed.
    """

    def __init__(
        self,
        points: Iterable[tuple[PlannedExperiment, Point]],
        *,
        done: Mapping[str, frozenset[int]],
        seed: int,
    ) -> None:
        self._seed = seed
        self._waiting: list[tuple[int, bytes, bytes, str]] = []
        self._states: dict[str, PointState] = {}
        for experiment, point in points:
            state = PointState(experiment=experiment, point=point)
            state.done |= done.get(point.key, frozenset())
            self._states[point.key] = state
            self._add_missing(state)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def states(self) -> Iterable[PointState]:
        """All points, settled or not, in the order of the plan."""
        return self._states.values()

    def state(self, key: str) -> PointState:
        """Return the point with this key; raise KeyError if the plan has none."""
        return self._states[key]

    def settled(self) -> list[PointState]:
        """Return the points with open-ended replications of which none waits or runs."""
        return [
            state for state in self._states.values() if not state.is_fixed and not state.open_count
        ]

    def take(self) -> Planned:
        """Remove and return the next replication."""
        replication, _, _, key = heapq.heappop(self._waiting)
        state = self._states[key]
        return Planned(state.experiment, state.point, replication)

    def add_next(self, state: PointState) -> int:
        """Let a point run on to its next look, or to its maximum; returns how many are added."""
        first = state.next_replication
        wanted = max(state.next_look - len(state.done), 1)
        last = min(first + wanted, state.experiment.most_replications)
        for replication in range(first, last):
            self._add(state, replication)
        return last - first

    def finish(self, planned: Planned, *, is_done: bool) -> PointState:
        """Note that a replication has ended; returns the state of its point."""
        state = self._states[planned.point.key]
        (state.done if is_done else state.failed).add(planned.replication)
        state.open_count -= 1
        return state

    def give_up(self, state: PointState) -> int:
        """Drop what waits of a point; returns how many replications that were."""
        kept = [entry for entry in self._waiting if entry[-1] != state.point.key]
        dropped = len(self._waiting) - len(kept)
        heapq.heapify(kept)
        self._waiting = kept
        state.open_count -= dropped
        return dropped

    def refuse(self, experiment: str) -> tuple[list[Planned], int]:
        """Drop what waits of an experiment.

        Returns the first waiting replication of each point, which the caller finishes as failed,
        and how many others were dropped.
        """
        dropped = sorted(entry for entry in self._waiting if self._is_of(entry[-1], experiment))
        self._waiting = [entry for entry in self._waiting if not self._is_of(entry[-1], experiment)]
        heapq.heapify(self._waiting)
        firsts: dict[str, Planned] = {}
        for replication, _, _, key in dropped:
            state = self._states[key]
            firsts.setdefault(key, Planned(state.experiment, state.point, replication))
            state.open_count = 1
        return list(firsts.values()), len(dropped) - len(firsts)

    def _is_of(self, key: str, experiment: str) -> bool:
        return self._states[key].point.experiment == experiment

    def _add_missing(self, state: PointState) -> None:
        """Schedule what a point lacks up to its newest replication, or its first ones."""
        first = state.experiment.replications_at(state.point, first=True)
        target = max(first, state.next_replication)
        for replication in range(target):
            if replication not in state.done:
                self._add(state, replication)

    def _add(self, state: PointState, replication: int) -> None:
        rank = order_rank(self._seed, replication, state.point.key)
        group = _group(state)
        first = order_rank(self._seed, replication, group) if group else rank
        heapq.heappush(self._waiting, (replication, first, rank, state.point.key))
        state.open_count += 1


def _group(state: PointState) -> str:
    """Return the group of points with which a point shares a process; empty without one."""
    system = state.experiment.system
    if not isinstance(system, NeedsOwnProcess):
        return ""
    process = system.own_process(state.point.config)
    if process is None or process.per != "group":
        return ""
    return f"{state.experiment.spec.name} {process.group}"
