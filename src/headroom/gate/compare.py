"""Compare commands or revisions: measure, judge, and decide on regressions.

The functions of this module are what `headroom compare` and Python call. They print nothing; the
caller brings the progress.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from headroom.errors import HINT, ExitCode, HeadroomError, StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.progress import Progress
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.paths import journal_path
from headroom.gate.arms import PROCESSOR, Arms, Command, Place, arms_of_commands
from headroom.gate.judging import judged
from headroom.gate.measuring import Measuring, Seen, Stopped, described, errors_of
from headroom.gate.question import Question
from headroom.gate.result import ComparisonResult, Gate, Noise, Row, Sight
from headroom.gate.sight import PILOT, expectation, expected, sights_of
from headroom.gate.threshold import (
    AGAIN_TIMES,
    MeasureAgain,
    blocks_again,
    fewest_blocks,
    gate_of,
    is_hidden,
)
from headroom.version import version


class RunsFailedError(HeadroomError):
    """Something that is compared has no successful run."""

    exit_code = ExitCode.POINTS_FAILED


def compare_commands(
    commands: Sequence[Command],
    folder: Path,
    *,
    question: Question,
    new_progress: Callable[[], Progress] | None = None,
) -> ComparisonResult:
    """Run commands in blocks, in random order, and compare each with the first.

    Parameters
    ----------
    commands
        Two or more.
    folder
        Empty folder for study and journal.
    question
        What to find out, and how long to measure.
    new_progress
        Returns the progress of a round; None: silent.

    Raises
    ------
    RunsFailedError
        A command never succeeded.
    """
    arms = arms_of_commands(commands, folder, question)
    return compare_arms(
        arms, folder, question=question, new_progress=new_progress or silent, kind="commands"
    )


def silent() -> Progress:
    """Return a progress that shows nothing."""
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
    threshold = question.fail_on_regression
    if threshold is not None:
        _check_blocks(arms, question)
    with Journal.open(journal_path(folder, False), create=True) as journal, kept_workers():  # noqa: FBT003 - no variant
        measuring = Measuring(
            arms=arms, journal=journal, new_progress=new_progress, jobs=question.jobs
        )
        foreseen: list[Sight] = []
        if threshold is None:
            stopped, blocks = measuring.run(question), None
        else:
            foreseen = _pilot(measuring, question)
            stopped, blocks = _first_looks(measuring, question, threshold)
        seen = measuring.look(range(blocks) if blocks else None)
        if stopped in {"planned", "sure", "max_runs"}:
            _check_runs(seen)
        rows = judged(rows_of(seen), same_within=question.same_within)
        gate = None
        if threshold is not None and stopped != "interrupted":
            missing = [*arms.missing, *_lacking(arms, seen)]
            missing += [] if blocks else ["blocks that --max-time cut off"]
            gate = gate_of(
                rows,
                threshold=threshold,
                looks=len(question.looks),
                again=_again(measuring, question) if blocks else None,
                missing=missing,
                named=bool(question.metrics),
            )
            gate = msgspec.structs.replace(
                gate, expected=foreseen, elsewhere=_elsewhere(measuring, gate) if blocks else []
            )
            if measuring.is_interrupted:
                stopped, gate = "interrupted", None
        return ComparisonResult(
            kind=kind,  # type: ignore[arg-type]  # one of its two
            title=" against ".join(arm.label for arm in reversed(arms.arms)),
            arms=described(arms, seen),
            rows=rows,
            same_within=question.same_within,
            stopped=stopped,
            blocks=max((row.pairs or row.count for row in rows), default=0),
            until=None if question.runs else question.half_width,
            seed=arms.plan.seed,
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
    needed, planned = fewest_blocks(count), asked.looks[-1]
    if planned < needed:
        raise StudyError(
            f"{planned} blocks can never show a regression",
            cure=f"{count} rows need --runs {needed} or more; with 25, 9 of 10 slowdowns as large "
            "as the scatter of a run are found",
        )


def _check_runs(seen: Sequence[Seen]) -> None:
    errors = errors_of(seen)
    if errors:
        raise RunsFailedError(
            errors[0].partition(HINT)[0],
            cure="run the command by hand; --ignore-failure accepts every exit code",
        )


def _pilot(measuring: Measuring, question: Question) -> list[Sight]:
    """Measure some blocks, and say what the gate will see; they count, and decide nothing."""
    if question.looks[0] <= PILOT:
        return []
    measuring.extend(PILOT, measuring.left_s(question))
    if measuring.why_stopped():
        return []
    noise = [noise for one in measuring.look(range(PILOT)) for noise in one.noise()]
    foreseen = expected(noise, question.looks)
    if foreseen:
        measuring.new_progress().note(expectation(foreseen, question.looks, question.label))
    return foreseen


def _elsewhere(measuring: Measuring, gate: Gate) -> list[Sight]:
    """Return what the other times of commands see where a gate is blind."""
    if not gate.blind or len(measuring.arms.places) > 1 or measuring.arms.places[0].experiment:
        return []
    place = measuring.arms.places[0]
    declared = {one.name: one for one in next(iter(place.points.values()))[0].system.metrics({})}
    known = {one.name for one in place.metrics}
    others = [one for one in (declared.get("wall_s"), PROCESSOR) if one and one.name not in known]
    is_command = {"user_s", "system_s"} <= declared.keys()
    if not others or not is_command:
        return []
    looked = measuring.look(places=[replace(place, metrics=others)])
    sights = sights_of(rows_of(looked), [], gate.threshold)
    return [one for one in sights if not one.is_blind]


def _first_looks(measuring: Measuring, question: Question, threshold: float) -> tuple[Stopped, int]:
    """Measure until no row can hide a regression; return why it stopped, and the whole blocks.

    When to stop may depend on anything: the level of the new runs counts every look.
    """
    whole, places = 0, measuring.arms.places
    for look in question.looks:
        measuring.extend(look, measuring.left_s(question), places)
        if stopped := measuring.why_stopped():
            return stopped, whole
        whole = look
        places = tuple(
            one.place
            for one in measuring.look(places=places)
            if any(is_hidden(row, threshold) for row in one.rows())
        )
        if not places:
            break
    return "planned", whole


def _again(measuring: Measuring, question: Question) -> MeasureAgain:
    """Return the function that measures suspected rows again, in new blocks."""

    def again(suspected: Sequence[Row], level: float) -> list[tuple[Row, Noise | None]]:
        found: dict[tuple[str, str], tuple[Row, Noise | None]] = {}
        for first in question.looks:
            rows = [row for row in suspected if _look_of(row, question) == first]
            if rows:
                new = range(first, first + new_blocks(rows, level, question, first=first))
                looked = look_again(measuring, rows, new, question)
                found |= dict(zip(map(row_key, rows), looked, strict=True))
        return [found[row_key(row)] for row in suspected]

    return again


def _look_of(row: Row, question: Question) -> int:
    """Return the blocks that the first looks at a row took."""
    return next(look for look in question.looks if look >= (row.pairs or row.count))


def new_blocks(rows: Sequence[Row], level: float, question: Question, *, first: int) -> int:
    """Return the number of new blocks for suspected rows, after a first look of so many."""
    least, most = AGAIN_TIMES * first, AGAIN_TIMES * question.looks[-1]
    threshold = question.fail_on_regression or 0.0
    return max(blocks_again(row, level, threshold, least=least, most=most) for row in rows)


def look_again(
    measuring: Measuring, suspected: Sequence[Row], blocks: range, question: Question
) -> list[tuple[Row, Noise | None]]:
    """Measure the places of suspected rows in new blocks; see `MeasureAgain`.

    Rows whose blocks were cut off have no figures: they neither pass nor fail.
    """
    places = places_of(measuring.arms, suspected)
    measuring.extend(blocks.stop, measuring.left_s(question), places)
    seen = measuring.look(blocks, places)
    rows = (
        [] if measuring.why_stopped() else judged(rows_of(seen), same_within=question.same_within)
    )
    found = {row_key(row): row for row in rows}
    noise = {place_key(one): one for part in seen for one in part.noise()}
    return [
        (found.get(row_key(row)) or _without_figures(row), noise.get(place_key(row)))
        for row in suspected
    ]


def rows_of(seen: Sequence[Seen]) -> list[Row]:
    """Return the rows of all places, not yet judged."""
    return [row for one in seen for row in one.rows()]


def place_key(row: Row | Noise) -> str:
    """Return the identity of a metric at a place."""
    return repr((row.experiment, sorted(row.levels.items()), row.metric))


def row_key(row: Row) -> tuple[str, str]:
    """Return the identity of a row."""
    return row.arm, place_key(row)


def places_of(arms: Arms, rows: Sequence[Row]) -> list[Place]:
    """Return the places that rows are about."""
    wanted = {(row.experiment, repr(sorted(row.levels.items()))) for row in rows}
    return [
        place
        for place in arms.places
        if (place.experiment, repr(sorted(place.levels.items()))) in wanted
    ]


def _without_figures(row: Row) -> Row:
    return Row(
        arm=row.arm, base=row.base, experiment=row.experiment, levels=row.levels,
        metric=row.metric, unit=row.unit, better=row.better, doubt="missing",
    )  # fmt: skip
