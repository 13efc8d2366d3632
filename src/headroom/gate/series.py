"""Histories: the results of a study over sessions, dates and commits, and where they changed.

The journal of a study keeps what `run --fresh` measured again and what earlier versions of its
files gave; rows of one version between two marks are one result. A folder of `results.json` files,
one for each commit, is a history too.

Invariant: all results of a series come from one machine; each other one has series of its own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from headroom.analysis.results import Estimate, StudyResult
from headroom.analysis.results_file import read_results
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.system import Column, Direction, Value
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.gate.arms import analysed_rows
from headroom.gate.changes import (
    LEVEL,
    Change,
    Outside,
    Spread,
    changes_of,
    fewest_results,
    outside_of,
    results_after,
    spread_of,
)
from headroom.gate.permuted import FINEST
from headroom.gate.sessions import (
    Machines,
    Session,
    changed_facts,
    commit_in,
    machine_name,
    sessions_of,
)
from headroom.version import version

_MAIN_RESPONSES = 3


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a series."""

    date: str
    commit: str
    value: float
    low: float | None
    high: float | None
    count: int


class HistorySeries(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one point over time."""

    experiment: str
    levels: dict[str, Value]
    metric: str
    unit: str
    better: Direction
    results: list[Found]
    machine: str = ""
    """Of another machine than the last result: its name in `HistoryResult.machines`."""
    changes: list[Change] = []
    spread: Spread | None = None
    outside: list[Outside] = []
    """Results outside the others, and too few to be a change."""
    results_after: int | None = None
    """Results that a change needs after it to be found among those since the last one; None: they
    are too few for any."""


class HistoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """All series of a study: what `headroom history --json` prints."""

    study: str
    title: str
    series: list[HistorySeries]
    level: float
    """Probability that any series without a change shows one."""
    series_level: float
    """The same of each series: Bonferroni."""
    fewest: int
    """Results that a series needs before a change can be found."""
    machines: dict[str, str] = {}
    """Name of each other machine, and how it differs from that of the last result."""
    command: str = ""
    headroom_version: str = ""


@dataclass(frozen=True, slots=True)
class _Observation:
    """One value before it has its place in a series."""

    key: tuple[str, str, str, int]
    """Experiment, levels, metric, and number of the machine."""
    levels: Mapping[str, Value]
    unit: str
    better: Direction
    found: Found
    facts: Mapping[str, Any]


def history_of_study(plan: Plan, journal: Journal, *, metrics: Sequence[str] = ()) -> HistoryResult:
    """Return the history of the measured points of a study from its journal.

    Parameters
    ----------
    plan, journal
        The study as it is now, and its journal with what was measured before.
    metrics
        Metrics to follow; none: the responses of each experiment.

    Raises
    ------
    StudyError
        The study measures nothing: a simulation has no history.
    """
    measured = [one for one in plan.experiments if one.system.column is Column.MEASURE]
    if not measured:
        raise StudyError(
            f"study {plan.study.name!r} only simulates: the same model gives the same results",
            cure="compare two versions of it: headroom compare --rev OLD --rev NEW STUDY",
        )
    sessions = [
        (experiment, point, session)
        for experiment in measured
        for point in experiment.points
        for session in sessions_of(journal, experiment.spec.name, point.key)
    ]
    newest = max((one[2] for one in sessions), key=lambda one: one.started_at, default=None)
    machines = Machines(newest.facts if newest else {})
    observations = [
        observation
        for experiment, point, session in sessions
        for observation in _of_session(experiment, point, session, metrics, machines)
    ]
    return _history(plan.study.name, plan.study.heading, observations, machines)


def _of_session(
    experiment: PlannedExperiment,
    point: Point,
    session: Session,
    metrics: Sequence[str],
    machines: Machines,
) -> Iterator[_Observation]:
    declared = [metric.name for metric in experiment.system.metrics(point.config)]
    wanted = list(metrics or experiment.spec.responses or declared[:_MAIN_RESPONSES])
    estimates = analysed_rows(experiment, point, session.rows, wanted).result.estimates
    where = (experiment.spec.name, machines.number(session.facts))
    yield from _observed(
        where, point.levels, estimates, wanted, date=session.started_at, facts=session.facts
    )


def _observed(
    where: tuple[str, int],
    levels: Mapping[str, Value],
    estimates: Mapping[str, Estimate],
    metrics: Iterable[str],
    *,
    date: str,
    facts: Mapping[str, Any],
) -> Iterator[_Observation]:
    """Yield the values of one point of an experiment on a machine, at a date."""
    for metric in metrics:
        if (one := estimates.get(metric)) is not None:
            found = Found(
                date=date, commit=commit_in(facts), value=one.value, low=one.low, high=one.high,
                count=one.count,
            )  # fmt: skip
            key = (where[0], repr(sorted(levels.items())), metric, where[1])
            yield _Observation(key, levels, one.unit, one.better, found, facts)


def history_of_files(paths: Sequence[Path], *, metrics: Sequence[str] = ()) -> HistoryResult:
    """Return the history in `results.json` files, in the order of their dates.

    Parameters
    ----------
    paths
        Files, or folders of files.
    metrics
        Metrics to follow; none: the responses of each experiment.

    Raises
    ------
    StudyError
        The files are of several studies, or there are none.
    """
    results = sorted(_read(paths), key=_date)
    names = Counter((result.name, result.is_quick) for result in results)
    if len(names) > 1:
        said = ", ".join(f"{name}{' (quick)' if quick else ''}" for name, quick in names)
        raise StudyError(f"the files are of several studies: {said}", cure="name one study's files")
    machines = Machines(_facts(results[-1]))
    observations = [one for result in results for one in _of_result(result, metrics, machines)]
    return _history(results[-1].name, results[-1].title, observations, machines)


def _read(paths: Sequence[Path]) -> list[StudyResult]:
    """Return the results in files and folders; in a folder, other documents are passed over."""
    found = [read_results(path) for path in paths if not path.is_dir()]
    for folder in (path for path in paths if path.is_dir()):
        for path in sorted(folder.rglob("*.json")):
            try:
                found.append(read_results(path))
            except HeadroomError:
                continue
    if not found:
        raise StudyError(
            f"there are no results in {', '.join(map(str, paths))}",
            cure="name a study, or results.json files, or a folder of them",
        )
    return found


def _of_result(
    result: StudyResult, metrics: Sequence[str], machines: Machines
) -> Iterator[_Observation]:
    facts = _facts(result)
    number = machines.number(facts)
    for experiment in result.experiments:
        for point in experiment.points:
            wanted = metrics or experiment.responses or list(point.estimates)[:_MAIN_RESPONSES]
            where = (experiment.name, number)
            yield from _observed(
                where, point.levels, point.estimates, wanted, date=_date(result), facts=facts
            )


def _facts(result: StudyResult) -> Mapping[str, Any]:
    return result.environments[-1] if result.environments else {}


def _date(result: StudyResult) -> str:
    """Return when a result was measured, or else written."""
    dates = [one.measured.newest for one in result.experiments if one.measured is not None]
    return max(dates, default=result.generated)


def _history(
    study: str, title: str, observations: Iterable[_Observation], machines: Machines
) -> HistoryResult:
    by_key: dict[tuple[str, str, str, int], list[_Observation]] = {}
    for one in observations:
        by_key.setdefault(one.key, []).append(one)
    if not by_key:
        raise StudyError(
            f"study {study!r} has no results of these metrics", cure="run the study first"
        )
    level = max(LEVEL / len(by_key), FINEST)
    has_names = len({experiment for experiment, *_ in by_key}) > 1
    return HistoryResult(
        study=study,
        title=title,
        series=[_series(group, level, has_names=has_names) for group in by_key.values()],
        level=max(LEVEL, FINEST * len(by_key)),
        series_level=level,
        fewest=fewest_results(level),
        machines=machines.differences(),
        headroom_version=version(),
    )


def _series(
    observations: Sequence[_Observation], level: float, *, has_names: bool
) -> HistorySeries:
    dated = sorted(observations, key=lambda one: one.found.date)
    first, ordered = observations[0], [one.found for one in dated]
    values, weekdays = [found.value for found in ordered], _weekdays(ordered)
    changes = [
        msgspec.structs.replace(change, beside=_beside(dated, change.place))
        for change in changes_of(values, level=level, weekdays=weekdays)
    ]
    places = [change.place for change in changes]
    after = results_after(len(values), places, level=level)
    return HistorySeries(
        experiment=first.key[0] if has_names else "",
        levels=dict(first.levels),
        metric=first.key[2],
        unit=first.unit,
        better=first.better,
        results=ordered,
        machine=machine_name(first.key[3]),
        changes=changes,
        spread=spread_of(values, changes, level=level, weekdays=weekdays),
        outside=outside_of(values, places, after),
        results_after=after,
    )


def _weekdays(results: Sequence[Found]) -> list[int] | None:
    """Return the weekdays of results, None if a date cannot be read."""
    try:
        return [datetime.fromisoformat(found.date).weekday() for found in results]
    except ValueError:
        return None


def _beside(dated: Sequence[_Observation], place: int) -> list[str]:
    """Return what else changed between a result and the one before."""
    return changed_facts(dated[place - 1].facts, dated[place].facts)
