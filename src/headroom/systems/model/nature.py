"""Determine from a model's data whether its run has a natural end.

Arrivals, servers, speeds and tokens that follow a curve up to a given time have no steady state:
the hour of the day matters. If a curve repeats and a run holds many periods, its mean over a period
is a steady state, and the result is reported as one of whole periods.

Invariant: the answer follows only from the model and the end of a run; no result is examined.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headroom.quantities import format_given, format_level, format_moment
from headroom.simulation import Model
from headroom.simulation.language.classes import JobClass
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.simulation.laws.arrivals import ArrivalProcess

PERIODS = 10
"""Periods of a repeating curve from which on a run is a sample of a steady state: as many batches
as an interval is made of at least (`headroom.analysis.statistics.spread.FEWEST_BATCHES`)."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """A number that changes at known times (s); `verb` is what the words of `what` take."""

    what: str
    verb: str
    times_s: Sequence[float]
    values: Sequence[float]
    period_s: float | None

    def changes_before(self, end_s: float) -> bool:
        """Return whether the number changes within the first `end_s` seconds."""
        pairs = zip(self.times_s, self.values, strict=True)
        return len({value for time_s, value in pairs if time_s < end_s}) > 1

    def is_periodic(self, end_s: float) -> bool:
        """Return whether `end_s` seconds hold enough periods that their mean is a steady state."""
        return self.period_s is not None and end_s >= PERIODS * self.period_s * (1.0 - _ROUNDING)


def why_terminating(model: Model, horizon_s: float | None) -> str:
    """Return why runs of `model` up to `horizon_s` (s) have a natural end; empty if they do not.

    Examples
    --------
    >>> from headroom.simulation import changing_rate
    >>> model = Model("day", time_unit="s")
    >>> program = model.program("visit")
    >>> program.use(model.station("server"), 1)
    >>> arrivals = changing_rate(times=[0, 60], rates=[0.1, 0.5])
    >>> model.open_class("users", program, interarrival=arrivals)
    >>> why_terminating(model, 120.0)
    'the arrival rate of class users changes up to the end of the run at 120 s'
    >>> why_terminating(model, None)
    ''
    """
    if horizon_s is None:
        return ""
    curve = _unsettled(model, horizon_s)
    if curve is None:
        return ""
    return f"{curve.what} {curve.verb} up to the end of the run at {format_moment(horizon_s)}"


def why_work_ends(model: Model, completions: int) -> str:
    """Return why runs of up to `completions` jobs end with the last job; empty if they do not.

    Examples
    --------
    >>> from headroom.simulation import trace
    >>> model = Model("batch", time_unit="s")
    >>> program = model.program("job")
    >>> program.use(model.station("workers", servers=4), 600)
    >>> model.open_class("jobs", program, interarrival=trace([0]), batch=10)
    >>> why_work_ends(model, 20_000)
    'all 10 jobs are done at the end of the run'
    >>> why_work_ends(model, 5)
    ''
    """
    count = sum(_most_jobs(one) for one in model.classes.values())
    return f"all {count:,.0f} jobs are done at the end of the run" if count <= completions else ""


def _most_jobs(job_class: JobClass) -> float:
    """Return how many jobs of a class come at most; infinite if that is not known."""
    process, batch = job_class.process, job_class.batch
    if not isinstance(process, ArrivalProcess) or process.kind != "trace":
        return math.inf
    if batch is not None and batch.c2 > 0.0:
        return math.inf
    times = dict(process.parameters)["times"]
    arrivals = len(times) if isinstance(times, tuple) else math.inf
    return job_class.initial + arrivals * (1.0 if batch is None else batch.mean)


def periodic_note(model: Model, end_s: float) -> str:
    """Return the scope of a mean if a curve repeats throughout a run of `end_s` (s).

    Examples
    --------
    >>> from headroom.simulation import exponential, schedule
    >>> model = Model("shifts", time_unit="s")
    >>> program = model.program("visit")
    >>> program.use(model.station("desk", servers=schedule([(0, 2), (40, 1)], period=60)), 1)
    >>> model.open_class("users", program, interarrival=exponential(4))
    >>> print(periodic_note(model, 900.0))  # doctest: +NORMALIZE_WHITESPACE
    The servers of station desk repeat every 60 s: figures are means over 15 periods, not those of
    any moment of a period; analysis = "terminating" shows the moments
    >>> periodic_note(model, 300.0)
    ''
    """
    if _unsettled(model, end_s) is not None:
        return ""
    for curve in _curves(model):
        if curve.period_s is not None and curve.changes_before(end_s):
            count = format_level(float(f"{end_s / curve.period_s:.3g}"))
            verb = "repeats" if curve.verb == "changes" else "repeat"
            what = f"{curve.what[:1].upper()}{curve.what[1:]}"
            return (
                f"{what} {verb} every {format_given(curve.period_s, 's')}: figures are means over "
                f"{count} periods, not those of any moment of a period; "
                'analysis = "terminating" shows the moments'
            )
    return ""


def unsettled_remark(model: Model, end_s: float, early: str = "") -> str:
    """Return that a run that ended by completions at `end_s` (s) has no steady state.

    If it ended before the first change, `early` says of what.

    When such a run ends is only known afterwards, so it cannot be planned as one with a natural
    end. Empty if nothing changes, or if the changes repeat often enough.
    """
    curve = _unsettled(model, end_s)
    if curve is None and early:
        return f"{early}, but this one ended by its completions before: let it end by time_s"
    if curve is None:
        return ""
    return (
        f"{curve.what} {curve.verb} during the run, which ends by completions: there is no steady "
        "state, so means depend on its length; let it end by time_s, then each run is one "
        "observation"
    )


def missing_end(model: Model, completions: int | None) -> str:
    """Return what changes in runs that end by completions; empty if they hold many periods of it.

    Such a run may be over before the first change, and nothing in its results tells.

    Examples
    --------
    >>> from headroom.simulation import changing_rate
    >>> model = Model("day", time_unit="h")
    >>> program = model.program("visit")
    >>> program.use(model.station("server"), 0.001)
    >>> arrivals = changing_rate(times=[0, 12], rates=[100, 300], period=24)
    >>> model.open_class("users", program, interarrival=arrivals)
    >>> missing_end(model, 20_000)
    'the arrival rate of class users changes during a run'
    >>> missing_end(model, 50_000), missing_end(model, None)
    ('', 'the arrival rate of class users changes during a run')
    """
    if completions is None:
        if model.stop_completions is None:
            return ""
        completions = model.stop_completions
    rate = math.fsum(one.arrival_rate for one in model.classes.values())
    end_s = SECONDS_PER_UNIT[model.time_unit] * completions / rate if rate > 0.0 else math.inf
    for curve in _curves(model):
        if curve.changes_before(math.inf) and not curve.is_periodic(end_s):
            return f"{curve.what} {curve.verb} during a run"
    return ""


def is_before_last_change(model: Model, end_s: float) -> bool:
    """Return whether a run of `end_s` (s) ends before all numbers have their mean in the long run.

    It is their last value, or the mean of the first period.
    """
    return any(
        end_s <= (curve.times_s[-1] if curve.period_s is None else curve.period_s)
        for curve in _curves(model)
    )


def _unsettled(model: Model, end_s: float) -> _Curve | None:
    return next(
        (
            curve
            for curve in _curves(model)
            if curve.changes_before(end_s) and not curve.is_periodic(end_s)
        ),
        None,
    )


def _curves(model: Model) -> Iterator[_Curve]:
    """Yield the numbers of a model that change at known times."""
    unit_s = SECONDS_PER_UNIT[model.time_unit]
    for name, job_class in model.classes.items():
        curve = _rate(name, job_class.process, unit_s)
        if curve is not None:
            yield curve
    for word, parts in (("station", model.stations), ("pool", model.pools)):
        for name, part in parts.items():
            for kind, timed in part.schedules.items():
                yield _Curve(
                    what=f"the {kind} of {word} {name}",
                    verb="changes" if kind == "speed" else "change",
                    times_s=[time * unit_s for time in timed.times],
                    values=timed.values,
                    period_s=None if timed.period is None else timed.period * unit_s,
                )


def _rate(name: str, process: object, unit_s: float) -> _Curve | None:
    if not isinstance(process, ArrivalProcess) or process.kind != "changing_rate":
        return None
    parameters = dict(process.parameters)
    times, rates, period = (parameters.get(name) for name in ("times", "rates", "period"))
    if not isinstance(times, tuple) or not isinstance(rates, tuple):
        raise TypeError(f"a changing rate has times and rates, not {parameters}")
    return _Curve(
        what=f"the arrival rate of class {name}",
        verb="changes",
        times_s=[time * unit_s for time in times],
        values=rates,
        period_s=period * unit_s if isinstance(period, float) else None,
    )
