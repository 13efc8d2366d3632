"""Measure arms block by block, until every ratio is sure enough, or for a number of blocks.

Invariant: the numbers of blocks after which it looks grow by half each time, as those of a study's
stopping rule, and whether it stops depends on the width of intervals, not on which arm is ahead.
"""

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Literal

import numpy as np

from headroom.analysis.follow_up.stopping import IntervalRule, looks
from headroom.analysis.results import Disturbance
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.verdicts.level_comparison import ComparedPoint
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.system import Metric
from headroom.experiment.runner.interrupt import Interrupt
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.runner import run_plan
from headroom.experiment.runner.selection import Selection
from headroom.gate.arms import AGAIN, PROCESSOR, Arms, Place, analysed_rows, counted
from headroom.gate.judging import MOST_BLOCKS, row_of_points
from headroom.gate.question import Question
from headroom.gate.result import Arm, Noise, Row
from headroom.gate.threshold import noise_of

Stopped = Literal["sure", "planned", "max_runs", "max_time", "interrupted"]
FEWEST_BLOCKS = 8
"""Blocks of the first look: with fewer, three metrics have no corrected verdict."""
_SHARE_OF_EFFECT = 0.1
"""A large difference is sure enough when its interval is a tenth of it."""
_PROCESSOR_PARTS = ("user_s", "system_s")


@dataclass(slots=True, kw_only=True)
class Measuring:
    """Arms under measurement: rounds of blocks, and what they show.

    Parameters
    ----------
    arms, journal
        What runs, and where the rows go.
    new_progress
        Called for each round.
    jobs
        Simulations in parallel.
    """

    arms: Arms
    journal: Journal
    new_progress: Callable[[], Progress]
    jobs: int = 1
    blocks: int = 0
    notes: list[str] = field(default_factory=list)
    is_interrupted: bool = False
    is_late: bool = False
    start_s: float = field(default_factory=monotonic)

    def run(self, question: Question) -> Stopped:
        """Measure until sure; return why it stopped."""
        if question.runs is not None:
            self.extend(question.runs, self.left_s(question))
            return self.why_stopped() or "planned"
        for look in looks(minimum=min(FEWEST_BLOCKS, question.max_runs), maximum=question.max_runs):
            self.extend(look, self.left_s(question))
            if stopped := self.why_stopped():
                return stopped
            if all(_is_sure(row, question.half_width) for one in self.look() for row in one.rows()):
                return "sure"
            if question.max_time_s is None and monotonic() - self.start_s > question.patience_s:
                return "max_time"
        return "max_runs"

    def left_s(self, question: Question) -> float | None:
        """Return the time (s) that is left, None without a limit."""
        if question.max_time_s is None:
            return None
        return max(question.max_time_s - (monotonic() - self.start_s), 0.0)

    def why_stopped(self) -> Stopped | None:
        """Return why the last round was cut off, None if it was not."""
        if self.is_interrupted:
            return "interrupted"
        return "max_time" if self.is_late else None

    def extend(
        self, blocks: int, left_s: float | None = None, places: Sequence[Place] | None = None
    ) -> None:
        """Run what is lacking up to a number of blocks, within some time (s)."""
        interrupt = Interrupt()
        progress = self.new_progress()
        progress.has_warned = self.blocks > 0
        clock = threading.Timer(left_s or 0.0, self._end, [interrupt])
        clock.daemon = True
        if left_s is not None:
            clock.start()
        try:
            outcome = run_plan(
                self.arms.with_blocks(blocks, places),
                self.journal,
                stopping=IntervalRule(),
                jobs=self.jobs,
                progress=progress,
                interrupt=interrupt,
            )
        finally:
            clock.cancel()
        self.is_interrupted = outcome.interrupted and not self.is_late
        self.is_late = self.is_late and outcome.interrupted
        if not self.blocks:  # Later rounds always find the blocks of this one done.
            self.notes += outcome.notes
        self.blocks = max(self.blocks, blocks)

    def _end(self, interrupt: Interrupt) -> None:
        self.is_late = True
        interrupt.request()

    def look(
        self, blocks: range | None = None, places: Sequence[Place] | None = None
    ) -> list["Seen"]:
        """Return the analysed points of every arm.

        Parameters
        ----------
        blocks
            Blocks that count; None: all.
        places
            Places to look at; None: all.
        """
        selection = Selection(self.arms.with_blocks(max(self.blocks, 1)), self.journal)
        return [
            Seen(place, {name: _analysed(place, name, selection, blocks) for name in place.points})
            for place in (self.arms.places if places is None else places)
        ]


@dataclass(frozen=True, slots=True)
class Seen:
    """The measured point of each arm at a place."""

    place: Place
    points: Mapping[str, ComparedPoint]

    def row(self, metric: Metric, *, base: str, other: str) -> Row:
        """Return the row of one metric of two arms, not yet judged."""
        like = Row(
            arm=other,
            base=base,
            experiment=self.place.experiment,
            levels=dict(self.place.levels),
            metric=metric.name,
            unit=metric.unit,
            better=metric.better,
        )
        column = self.place.points[base][0].system.column
        return row_of_points(
            self.points[base], self.points[other], metric, column=column, like=like
        )

    def rows(self) -> list[Row]:
        """Return the rows of every arm against the base, not yet judged."""
        base, *others = (name for name in self.points if not name.endswith(AGAIN))
        return [
            self.row(metric, base=base, other=other)
            for other in others
            for metric in self.place.metrics
        ]

    def noise(self) -> list[Noise]:
        """Return the base against itself, if it ran twice in each block."""
        base = next(iter(self.points))
        again = base + AGAIN
        if again not in self.points:
            return []
        return [
            noise_of(
                self.row(metric, base=base, other=again),
                scatter=_scatter(metric.name, self.points[base], self.points[again]),
            )
            for metric in self.place.metrics
        ]


def described(arms: Arms, seen: Sequence[Seen]) -> list[Arm]:
    """Return each arm with its runs and disturbances."""
    found = {
        arm.name: [one.points[arm.name] for one in seen if arm.name in one.points]
        for arm in arms.arms
    }
    return [
        Arm(
            name=arm.name,
            label=arm.label,
            about=dict(arm.about),
            done=sum(point.result.done for point in found[arm.name]),
            failed=sum(point.result.failed for point in found[arm.name]),
            disturbances=_together(found[arm.name]),
            times_s=_times_s(found[arm.name]),
        )
        for arm in arms.arms
    ]


def errors_of(seen: Sequence[Seen]) -> list[str]:
    """Return the first error of each point that has no run."""
    points = (point for one in seen for point in one.points.values())
    return [
        point.result.errors[0] for point in points if not point.result.done and point.result.errors
    ]


def _is_sure(row: Row, until: float) -> bool:
    """Return whether the interval of a row is narrow enough, or nothing can narrow it."""
    if row.doubt in {"not_positive", "missing", "unbounded"}:
        return True
    if row.ratio is None or row.low is None or row.high is None or row.low <= 0.0:
        return False
    reach = math.log(row.high / row.low) / 2.0
    return reach <= max(math.log1p(until), _SHARE_OF_EFFECT * abs(math.log(row.ratio)))


def _analysed(place: Place, name: str, selection: Selection, blocks: range | None) -> ComparedPoint:
    experiment, point = place.points[name]
    metrics = [metric.name for metric in place.metrics]
    rows = [
        row
        for row in selection.rows(counted(experiment, MOST_BLOCKS), point)
        if blocks is None or row.replication in blocks
    ]
    found = analysed_rows(experiment, point, rows, [*metrics, *_PROCESSOR_PARTS])
    return _with_processor_time(found) if PROCESSOR.name in metrics else found


def _with_processor_time(point: ComparedPoint) -> ComparedPoint:
    """Return a point of a command with the sum of both processor times."""
    runs = [
        replace(
            run,
            values={
                **run.values,
                PROCESSOR.name: sum(run.values[name] for name in _PROCESSOR_PARTS),
            },
        )
        for run in point.runs
        if all(name in run.values for name in _PROCESSOR_PARTS)
    ]
    if not runs:
        return point
    values = np.array([run.values[PROCESSOR.name] for run in runs])
    samples = {**point.samples, PROCESSOR.name: Sample(values=values, centre="median")}
    return replace(point, runs=runs, samples=samples)


def _together(points: Sequence[ComparedPoint]) -> list[Disturbance]:
    worst: dict[str, Disturbance] = {}
    for point in points:
        for one in point.result.disturbances:
            known = worst.get(one.kind)
            worst[one.kind] = one if known is None or one.share > known.share else known
    return list(worst.values())


def _times_s(points: Sequence[ComparedPoint]) -> list[float]:
    """Return the wall times of the first point that has any."""
    for point in points[:1]:
        return [run.values["wall_s"] for run in point.runs if "wall_s" in run.values]
    return []


def _scatter(metric: str, base: ComparedPoint, again: ComparedPoint) -> float | None:
    """Return the standard deviation of the logarithm of one run, from blocks that have both."""
    others = {run.replication: run.values.get(metric, 0.0) for run in again.runs}
    pairs = [(run.values.get(metric, 0.0), others.get(run.replication, 0.0)) for run in base.runs]
    gaps = [math.log(one / other) for one, other in pairs if min(one, other) > 0.0]
    return float(np.std(gaps, ddof=1)) / math.sqrt(2.0) if len(gaps) > 1 else None
