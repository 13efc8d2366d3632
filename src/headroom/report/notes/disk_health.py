"""Health of the disk before and after an experiment, in sentences.

Invariant: restates `PointResult.disk_health`.
"""

from collections.abc import Mapping, Sequence

from headroom.analysis.results import DiskFigure, ExperimentResult, PointResult

_GROWING = {
    "media_errors": "media errors",
    "reallocated_sectors": "reallocated sectors",
    "pending_sectors": "pending sectors",
    "uncorrectable_sectors": "uncorrectable sectors",
    "crc_errors": "transfer errors",
    "throttle_count": "heat throttles",
    "too_hot_minutes": "minutes too hot",
}


def disk_health_sentences(experiment: ExperimentResult) -> list[str]:
    """Return one sentence for the disk of each target that tells how it is."""
    by_target: dict[str, list[PointResult]] = {}
    for point in experiment.points:
        if point.disk_health:
            by_target.setdefault(str(point.levels.get("target", "")), []).append(point)
    return [_sentence(target, points) for target, points in by_target.items()]


def _sentence(target: str, points: Sequence[PointResult]) -> str:
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
