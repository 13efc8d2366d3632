"""Compare commands or revisions: measure, judge, and decide on regressions.

The functions of this module are what `headroom compare` and Python call. They print nothing; the
caller brings the progress.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from headroom.errors import ExitCode, HeadroomError, StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.fresh import mark_fresh
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.paths import journal_path
from headroom.gate.arms import Arms, Command, Place, arms_of_commands
from headroom.gate.judging import judged
from headroom.gate.measuring import Effort, Measuring, Seen, described, errors_of
from headroom.gate.result import ComparisonResult, Ranked, Row
from headroom.gate.threshold import AGAIN_TIMES, BLOCKS, MeasureAgain, fewest_blocks, gate_of
from headroom.version import version

SAME_WITHIN = 0.02
"""Difference that does not matter, unless the user names another."""
_SURE = 0.05


class RunsFailedError(HeadroomError):
    """Something that is compared has no successful run."""

    exit_code = ExitCode.POINTS_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to find out about arms.

    Parameters
    ----------
    effort
        How long to measure.
    same_within
        Difference (share) that does not matter.
    threshold
        Slowdown (share) that counts as a regression; None: no gate.
    fresh
        Measure again what a kept folder has already. A gate always does.
    jobs
        Simulations in parallel.
    """

    effort: Effort = field(default_factory=Effort)
    same_within: float = SAME_WITHIN
    threshold: float | None = None
    fresh: bool = False
    jobs: int = 1

    def checked(self) -> "Question":
        """Return the question with the defaults of a gate, if it is one."""
        if self.threshold is None:
            return self
        if self.threshold <= 0.0:
            raise StudyError(
                f"a regression of {self.threshold:.3g} is none",
                cure="give a share above 0, e.g. --fail-on-regression 3%",
            )
        return replace(self, effort=replace(self.effort, runs=self.effort.runs or BLOCKS))


def compare_commands(
    commands: Sequence[Command],
    folder: Path,
    *,
    question: Question | None = None,
    new_progress: Callable[[], Progress] | None = None,
    **options: object,
) -> ComparisonResult:
    """Run commands in blocks, in random order, and compare each with the first.

    Parameters
    ----------
    commands
        Two or more.
    folder
        Folder for study, journal and page.
    question
        What to find out, and how long to measure.
    new_progress
        Returns the progress of a round; None: silent.
    options
        Those of `arms_of_commands`: `metrics`, `warm_up`, `time_limit_s`, `ignore_failure`.

    Raises
    ------
    RunsFailedError
        A command never succeeded.
    """
    asked = (question or Question()).checked()
    arms = arms_of_commands(commands, folder, is_twice=asked.threshold is not None, **options)  # type: ignore[arg-type]  # as documented
    progress = new_progress or _silent
    return compare_arms(arms, folder, question=asked, new_progress=progress, kind="commands")


def _silent() -> Progress:
    from rich.console import Console  # noqa: PLC0415 - takes long to load; programs alone need it

    return Progress(Console(stderr=True), is_quiet=True)


def compare_arms(
    arms: Arms,
    folder: Path,
    *,
    question: Question,
    new_progress: Callable[[], Progress],
    kind: str,
) -> ComparisonResult:
    """Measure arms with a journal in `folder`, and compare each with the first."""
    asked = question.checked()
    if asked.threshold is not None:
        _check_blocks(arms, asked)
    with Journal.open(journal_path(folder, False), create=True) as journal, kept_workers():  # noqa: FBT003 - no variant
        if asked.fresh or asked.threshold is not None:
            mark_fresh(arms.plan, journal)
        measuring = Measuring(
            arms=arms, journal=journal, new_progress=new_progress, jobs=asked.jobs
        )
        stopped = measuring.run(asked.effort)
        looked = range(asked.effort.runs) if asked.effort.runs else None
        seen = measuring.look(looked)
        if stopped in {"planned", "sure", "max_runs"}:
            _check_runs(seen)
        rows = judged([row for one in seen for row in one.rows()], same_within=asked.same_within)
        gate = None
        if asked.threshold is not None and stopped != "interrupted":
            again = _again(measuring, asked) if stopped == "planned" else None
            missing = [*arms.missing, *_lacking(arms, seen)]
            missing += [] if again else ["blocks that --max-time cut off"]
            gate = gate_of(rows, threshold=asked.threshold, again=again, missing=missing)
            if measuring.is_interrupted:
                stopped, gate = "interrupted", None
        return ComparisonResult(
            kind=kind,  # type: ignore[arg-type]  # one of its two
            title=" against ".join(arm.label for arm in reversed(arms.arms)),
            arms=described(arms, seen),
            rows=rows,
            same_within=asked.same_within,
            stopped=stopped,
            blocks=max((row.pairs or row.count for row in rows), default=0),
            until=None if asked.effort.runs else asked.effort.until,
            seed=arms.plan.seed,
            ranking=ranking(seen),
            noise=[noise for one in seen for noise in one.noise()],
            gate=gate,
            left_out=list(arms.left_out),
            cautions=measuring.notes,
            generated=datetime.now(UTC).isoformat(timespec="seconds"),
            headroom_version=version(),
        )


def _lacking(arms: Arms, seen: Sequence[Seen]) -> list[str]:
    """Return the arms with failed runs: a gate does not pass without them."""
    return [
        f'{arm.failed} failed runs of "{arm.label}"' for arm in described(arms, seen) if arm.failed
    ]


def _check_blocks(arms: Arms, asked: Question) -> None:
    """Refuse a gate that could find nothing, however slow anything became."""
    count = sum(len(place.metrics) for place in arms.places) * (len(arms.arms) - 1)
    needed = fewest_blocks(count)
    if (asked.effort.runs or BLOCKS) < needed:
        raise StudyError(
            f"--runs {asked.effort.runs} can never show a regression",
            cure=f"{count} rows need {needed} blocks or more; with 25, 9 of 10 slowdowns as large "
            "as the scatter of a run are found",
        )


def _check_runs(seen: Sequence[Seen]) -> None:
    errors = errors_of(seen)
    if errors:
        raise RunsFailedError(
            errors[0].partition("\n  hint:")[0],
            cure="run the command by hand; --ignore-failure accepts every exit code",
        )


def _again(measuring: Measuring, asked: Question) -> MeasureAgain:
    """Return the function that measures suspected rows again, in new blocks."""
    count = asked.effort.runs or BLOCKS

    def again(suspected: Sequence[Row]) -> list[Row]:
        places = places_of(measuring.arms, suspected)
        new = range(count, (1 + AGAIN_TIMES) * count)
        measuring.extend(new.stop, measuring.left_s(asked.effort), places)
        rows = [row for one in measuring.look(new, places) for row in one.rows()]
        return matched(suspected, judged(rows, same_within=asked.same_within))

    return again


def places_of(arms: Arms, rows: Sequence[Row]) -> list[Place]:
    """Return the places that rows are about."""
    wanted = {(row.experiment, repr(sorted(row.levels.items()))) for row in rows}
    return [
        place
        for place in arms.places
        if (place.experiment, repr(sorted(place.levels.items()))) in wanted
    ]


def matched(wanted: Sequence[Row], found: Sequence[Row]) -> list[Row]:
    """Return the found row for each wanted one; a missing one is empty."""

    def key(row: Row) -> str:
        return repr((row.arm, row.experiment, sorted(row.levels.items()), row.metric))

    known = {key(row): row for row in found}
    return [known.get(key(row)) or _without_figures(row) for row in wanted]


def _without_figures(row: Row) -> Row:
    return Row(
        arm=row.arm, base=row.base, experiment=row.experiment, levels=row.levels,
        metric=row.metric, unit=row.unit, better=row.better, doubt="missing",
    )  # fmt: skip


def ranking(seen: Sequence[Seen]) -> list[Ranked]:
    """Return the order of three or more arms by the first metric of the only place."""
    if len(seen) != 1 or len(seen[0].rows()) < 2 * len(seen[0].place.metrics):
        return []
    one, metric = seen[0], seen[0].place.metrics[0]
    base = next(iter(one.points))
    rows = [row for row in one.rows() if row.metric == metric.name and row.ratio is not None]
    times = {base: 1.0, **{row.arm: row.ratio or 1.0 for row in rows}}
    order = sorted(times, key=lambda name: times[name], reverse=metric.better == "high")
    found = [Ranked(place=1, arm=order[0], ratio=1.0, low=1.0, high=1.0)]
    against = [one.row(metric, base=order[0], other=name) for name in order[1:]]
    steps = [one.row(metric, base=first, other=name) for first, name in pairwise(order)]
    for number, (row, step) in enumerate(
        zip(against, judged(steps, same_within=0.0), strict=True), start=2
    ):
        is_tied = step.adjusted is None or step.adjusted > _SURE
        place = found[-1].place if is_tied else number
        found.append(
            Ranked(place=place, arm=row.arm, ratio=row.ratio or 1.0, low=row.low, high=row.high)
        )
    return found
