"""Circumstances of measurements in sentences: when, on which disk, what disturbed them.

Invariant: restates fields of the results.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from headroom.analysis.results import DiskFigure, ExperimentResult, PointResult
from headroom.report.words import count_noun, join_words

_CAUSES: Mapping[str, str] = {
    "others": "other programs used up to {} of the processors",
    "steal": "the host took up to {} of the processor time",
    "throttling": "the processor quota was exhausted in up to {} of its periods",
    "swapping": "swapping took up to {} of the time",
    "slower": "processor or memory were up to {} slower than at their fastest",
}
_GROWING = {
    "media_errors": "media errors",
    "reallocated_sectors": "reallocated sectors",
    "pending_sectors": "pending sectors",
    "uncorrectable_sectors": "uncorrectable sectors",
    "crc_errors": "transfer errors",
    "throttle_count": "heat throttles",
    "too_hot_minutes": "minutes too hot",
}


def measured_sentences(experiment: ExperimentResult) -> list[str]:
    """Return when the oldest and the newest replication was measured, and how many are reused."""
    measured = experiment.measured
    if measured is None:
        return []
    when = moment(measured.oldest)
    if moment(measured.newest) != when:
        when = f"{when} to {moment(measured.newest)}"
    session = "in one session"
    if measured.reused:
        session = f"{measured.reused:,} of them reused from earlier sessions"
    return [f"{count_noun(measured.count, 'replication')}, {when}; {session}."]


def moment(text: str) -> str:
    """Return an ISO time to the minute, any other text as it is.

    Examples
    --------
    >>> moment("2026-01-02T03:04:05.6Z")
    '2026-01-02 03:04 UTC'
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{found:%Y-%m-%d %H:%M} {found.tzname() or ''}".strip()


def disturbance_cautions(point: PointResult) -> list[str]:
    """Return the disturbances of the replications of one point, as one sentence."""
    if not point.disturbances:
        return []
    count = _concerned(point)
    return [f"{count} of {count_noun(point.done, 'replication')} disturbed: {causes_of([point])}."]


def disturbance_sentences(experiment: ExperimentResult) -> list[str]:
    """Return how much of a measured experiment was disturbed, by what, and what to do."""
    disturbed = [point for point in experiment.points if point.disturbances]
    if not disturbed:
        return []
    count = sum(_concerned(point) for point in disturbed)
    done = sum(point.done for point in experiment.points)
    where = f", at {len(disturbed)} of {count_noun(len(experiment.points), 'point')}"
    return [
        f"{count:,} of {count_noun(done, 'replication')} ({count / done:.0%}) ran on a disturbed "
        f"machine{where if len(experiment.points) > 1 else ''}: {causes_of(disturbed)}. Intervals "
        "may be wider, and times longer, than on an idle machine: stop what disturbs, then run "
        "again with --fresh."
    ]


def _concerned(point: PointResult) -> int:
    return len(
        {number for disturbance in point.disturbances for number in disturbance.replications}
    )


def causes_of(points: Sequence[PointResult]) -> str:
    """Return the causes at some points, each with its largest share, as a clause."""
    found: dict[str, float] = {}
    for one in (one for point in points for one in point.disturbances):
        found[one.kind] = max(found.get(one.kind, 0.0), one.share)
    return join_words([_CAUSES[kind].format(f"{share:.0%}") for kind, share in found.items()])


def disk_health_sentences(experiment: ExperimentResult) -> list[str]:
    """Return one sentence for the disk of each target that tells how it is."""
    by_target: dict[str, list[PointResult]] = {}
    for point in experiment.points:
        if point.disk_health:
            by_target.setdefault(str(point.levels.get("target", "")), []).append(point)
    return [_of_disk(target, points) for target, points in by_target.items()]


def _of_disk(target: str, points: Sequence[PointResult]) -> str:
    figures = [point.disk_health for point in points]
    whose = f"Disk of target {target}" if target else "The disk"
    parts = [*_heat(figures), *_wear(figures), _errors(figures)]
    return f"{whose}: {', '.join(filter(None, parts))}."


def _heat(figures: Sequence[Mapping[str, DiskFigure]]) -> list[str]:
    found = [figure["temperature_c"] for figure in figures if "temperature_c" in figure]
    if not found:
        return []
    lowest = min(min(one.first, one.last) for one in found)
    highest = max(one.highest for one in found)
    span = f"{lowest:g} to {highest:g} °C" if highest > lowest else f"{highest:g} °C"
    limits = [
        figure["temperature_limit_c"].last for figure in figures if "temperature_limit_c" in figure
    ]
    return [f"{span} (limit {limits[-1]:g} °C)" if limits else span]


def _wear(figures: Sequence[Mapping[str, DiskFigure]]) -> list[str]:
    found = [figure["percentage_used"].last for figure in figures if "percentage_used" in figure]
    return [f"{max(found):g}% of its life used"] if found else []


def _errors(figures: Sequence[Mapping[str, DiskFigure]]) -> str:
    """Return which counters of errors grew from the first run to the last."""
    grown = []
    known = {name for figure in figures for name in figure} & _GROWING.keys()
    for name, words in _GROWING.items():
        found = [figure[name] for figure in figures if name in figure]
        more = max((one.highest for one in found), default=0.0) - min(
            (one.first for one in found), default=0.0
        )
        grown += [f"{more:g} more {words}"] if more > 0.0 else []
    if grown:
        return " and ".join(grown) + " after than before"
    return "no count of errors grew" if known else ""
