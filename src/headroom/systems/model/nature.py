"""Whether a run of a model has a natural end, as the model's data say.

Arrivals that follow a curve up to a given time have no steady state: the hour of the day decides.
A curve that repeats is another matter where a run holds many periods, because then its mean over a
period is a steady state.

Invariant: the answer follows from the model and the stopping rule alone; no run is looked at.
"""

from headroom.quantities import format_moment
from headroom.simulation import Model
from headroom.simulation.arrivals import ArrivalProcess
from headroom.simulation.model import SECONDS_PER_UNIT

PERIODS = 10
"""Periods of a repeating curve from which on a run is a sample of a steady state: as many batches
as an interval is made of at least (`headroom.analysis.spread.FEWEST_BATCHES`)."""


def why_terminating(model: Model, horizon_s: float | None) -> str:
    """Return why runs of `model` up to `horizon_s` (s) have a natural end; empty where they do not.

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
    unit_s = SECONDS_PER_UNIT[model.time_unit]
    for name, one in model.classes.items():
        if _changes(one.process, horizon_s / unit_s):
            end = format_moment(horizon_s)
            return f"the arrival rate of class {name} changes up to the end of the run at {end}"
    return ""


def _changes(process: object, horizon: float) -> bool:
    """Return whether a rate changes within the run, and does not just repeat."""
    if not isinstance(process, ArrivalProcess) or process.kind != "changing_rate":
        return False
    parameters = dict(process.parameters)
    times, rates, period = (parameters.get(name) for name in ("times", "rates", "period"))
    if not isinstance(times, tuple) or not isinstance(rates, tuple):
        raise TypeError(f"a changing rate has times and rates, not {parameters}")
    if len({rate for time, rate in zip(times, rates, strict=True) if time < horizon}) < 2:  # noqa: PLR2004 - one does not change
        return False
    return not isinstance(period, float) or horizon < PERIODS * period
