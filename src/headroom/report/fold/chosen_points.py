"""Points that a terminal shows: the first, and the best and worst by the first response.

Invariant: up to `ROWS_AT_MOST` points all are shown, in the order of the study.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headroom.analysis.results import ExperimentResult, PointResult
from headroom.report.words import count_noun, label_metric

ROWS_AT_MOST = 60
"""Points up to which a terminal shows all."""
_FIRST = 20
_EACH_END = 10
MESSAGES_AT_MOST = 10
"""Points whose messages are shown where not all points are."""


@dataclass(frozen=True, slots=True)
class PointGroup:
    """Some points under a heading; all of them need none."""

    heading: str
    points: Sequence[PointResult]


def point_groups(experiment: ExperimentResult) -> list[PointGroup]:
    """Return the points to show, in groups."""
    points = experiment.points
    if len(points) <= ROWS_AT_MOST:
        return [PointGroup("", points)] if points else []
    groups = [PointGroup(f"The first {_FIRST} of {len(points):,} points", points[:_FIRST])]
    metric = next(iter(experiment.responses), "")
    known = [point for point in points if metric in point.estimates]
    if len(known) <= 2 * _EACH_END:
        return groups
    ordered = sorted(known, key=lambda point: point.estimates[metric].value)
    low, high = ordered[:_EACH_END], ordered[: -_EACH_END - 1 : -1]
    words, better = label_metric(metric), known[0].estimates[metric].better
    lowest = PointGroup(f"The {_EACH_END} with the lowest {words}{_is(better, 'low')}", low)
    highest = PointGroup(f"The {_EACH_END} with the highest {words}{_is(better, 'high')}", high)
    return [*groups, *((lowest, highest) if better == "low" else (highest, lowest))]


def _is(better: str, end: str) -> str:
    if better == "none":
        return ""
    return " (best)" if better == end else " (worst)"


def rest_words(experiment: ExperimentResult, folder: str, results: str) -> str:
    """Return where the points are that a terminal leaves out; empty if it shows all.

    Parameters
    ----------
    experiment
        An experiment of any size.
    folder, results
        The folder of the study, and its results.json.
    """
    if len(experiment.points) <= ROWS_AT_MOST:
        return ""
    shown = {point.key for group in point_groups(experiment) for point in group.points}
    more = count_noun(len(experiment.points) - len(shown), "more point")
    return f"... and {more}: headroom export {folder}, or {results}"
