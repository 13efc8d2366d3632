"""The time intervals for which the runs of a model keep statistics.

A run with a natural end is analysed interval by interval: its horizon is divided evenly, and the
windows of the study divide it further. Other runs keep only the windows.

Invariant: the intervals follow from model, stopping rule and study; they are part of the
fingerprint of a point, because runs without them cannot answer for them.
"""

import math
from dataclasses import dataclass

import numpy as np

from headroom.errors import StudyError
from headroom.experiment.study.windows import TimeWindows
from headroom.simulation import Model
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.systems.model.nature import why_terminating, why_work_ends

INTERVALS = 96
"""Equal intervals of a run with a natural end: quarters of an hour, for a day."""
FEWEST_INTERVALS = 12
_ROUNDING = 1e-9
VALUES_AT_MOST = 100_000
"""Values of one column that a run keeps: intervals times stations, pools and classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalPlan:
    """Ends (s) of the intervals of a run; whether it ends by nature, and the model's reason.

    If `is_complete`, it ends when all work is done.
    """

    ends_s: tuple[float, ...] = ()
    ends_because: str = ""
    is_terminating: bool = False
    is_complete: bool = False


def interval_plan(
    model: Model, windows: TimeWindows, *, time_s: float | None, completions: int | None
) -> IntervalPlan:
    """Return the intervals of a run of `model`.

    Parameters
    ----------
    model
        The model.
    windows
        Windows of the study, and how its runs are analysed.
    time_s
        Simulated time (s) after which a run ends, instead of the model's own; None for none.
    completions
        Completions after which it ends instead; None for none.

    Raises
    ------
    StudyError
        A window ends after the run.
    """
    horizon_s = _horizon_s(model, time_s, completions=completions)
    why = why_terminating(model, horizon_s)
    most = completions or model.stop_completions
    is_timed = time_s is not None or (completions is None and model.stop_time is not None)
    ends = "" if is_timed or most is None else why_work_ends(model, most)
    why = why or ends
    _check(windows, horizon_s)
    is_terminating = windows.analysis == "terminating" or (
        windows.analysis == "automatic" and bool(why)
    )
    ends_s = set(windows.edges_s)
    if is_terminating and horizon_s is not None:
        count = _interval_count(model)
        ends_s |= {horizon_s * place / count for place in range(1, count + 1)}
    return IntervalPlan(
        ends_s=_apart(ends_s),
        ends_because=why,
        is_terminating=is_terminating and (horizon_s is not None or bool(ends)),
        is_complete=bool(ends),
    )


def _horizon_s(model: Model, time_s: float | None, *, completions: int | None) -> float | None:
    """Return when a run ends for sure; None if it ends by completions."""
    if time_s is not None:
        return time_s
    if completions or model.stop_time is None or model.stop_completions is not None:
        return None
    return model.stop_time * SECONDS_PER_UNIT[model.time_unit]


def _check(windows: TimeWindows, horizon_s: float | None) -> None:
    for window in windows.windows:
        if horizon_s is not None and window.to_s > horizon_s * (1.0 + np.finfo(float).eps):
            raise StudyError(
                f"window {window.name!r} ends at {window.to_s:g} s, but a run ends at "
                f"{horizon_s:g} s",
                cure="give the window an earlier end, or the run a later one",
            )


def unreached_remark(windows: TimeWindows, end_s: float) -> str:
    """Return which windows a run that ended at `end_s` (s) did not reach the end of; mostly none.

    Only runs that end by completions have some: of all others it is known before they start.

    Examples
    --------
    >>> from headroom.experiment.study.windows import Window
    >>> peak = Window(name="peak", from_s=60, to_s=120)
    >>> unreached_remark(TimeWindows(windows=(peak,)), 100.0)
    "window 'peak' ends at 120 s, but the run ended by its completions before: it has no results"
    >>> unreached_remark(TimeWindows(windows=(peak,)), 120.0)
    ''
    """
    for window in windows.windows:
        if window.to_s > end_s * (1.0 + _ROUNDING):
            return (
                f"window {window.name!r} ends at {window.to_s:g} s, but the run ended by its "
                "completions before: it has no results"
            )
    return ""


def _interval_count(model: Model) -> int:
    places = len(model.station_rows()) + len(model.pool_rows()) + len(model.classes)
    return max(FEWEST_INTERVALS, min(INTERVALS, VALUES_AT_MOST // max(places, 1)))


def _apart(ends_s: set[float]) -> tuple[float, ...]:
    """Return the ends in order, those that differ by rounding alone once."""
    kept: list[float] = []
    for end_s in sorted(ends_s):
        if not kept or not math.isclose(end_s, kept[-1], rel_tol=1e-12):
            kept.append(end_s)
    return tuple(kept)
