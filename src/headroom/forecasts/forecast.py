"""The results of the solvers for a model, as a forecast.

Invariant: a model that no solver knows gets an empty forecast, never an error; an open load that
a station cannot carry is found without any solver.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headroom.errors import HeadroomError
from headroom.forecasts.rows import by_rows
from headroom.simulation import Model
from headroom.simulation.checks.capacity import overloaded_station
from headroom.simulation.checks.existence import endless
from headroom.simulation.checks.remarks import cut_normals
from headroom.simulation.checks.visits import least_visits
from headroom.simulation.language.model import SECONDS_PER_UNIT

_OF_THE_WHOLE = ("throughput", "response_s_mean")
"""Metrics that a simpler model shares with the model that it replaces."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headroom.solvers import Bounds, Solution


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits that one class of jobs cannot exceed, for any distribution of its times.

    Parameters
    ----------
    class_name
        Name of the class.
    throughput_low, throughput_high
        Lowest and highest throughput (1/s).
    response_s_low, response_s_high
        Lowest and highest mean response time (s); infinite without a bound.
    knee
        Population at which the asymptotes cross; None for open loads and several classes.
    resource
        What sets the highest throughput, empty if nothing does.
    kind
        Kind of the bounds, as text.
    notes
        Why a bound is wider than it may look, or absent.
    alone_s
        Least mean time (s) of a job that never waits; 0 if nothing is sure.
    alone_parts
        What that time is made of: station and time (s) there, the longest first.
    """

    class_name: str
    throughput_low: float
    throughput_high: float
    response_s_low: float
    response_s_high: float
    knee: float | None
    resource: str
    kind: str
    notes: tuple[str, ...] = ()
    alone_s: float = 0.0
    alone_parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Results of formulas for a point, without a run.

    Parameters
    ----------
    values
        Metric to its value in the base unit, as far as formulas go.
    is_exact
        True if theory gives exactly these values for exactly this system.
    method
        How they were found, as text.
    highest
        Metric to a value that it cannot exceed by the operational laws.
    overload
        Why there is no steady state; empty if nothing speaks against one.
    reasons
        Why the values are no exact ones, or why there are none; each with its place.
    limits
        Bounds of each class of jobs.
    refused
        Those of the reasons for which values are withheld: an estimate could be far off.
    known_error
        How far off estimates of this kind were on random models, as text; empty if exact.
    cautions
        Which means do not exist, or are not those that were written, and why.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    is_exact: bool = False
    method: str = ""
    highest: Mapping[str, float] = field(default_factory=dict)
    overload: str = ""
    reasons: tuple[str, ...] = ()
    limits: tuple[Limits, ...] = ()
    refused: tuple[str, ...] = ()
    known_error: str = ""
    cautions: tuple[str, ...] = ()


def forecast_of(model: Model) -> Forecast:
    """Return the forecast of `model`.

    Examples
    --------
    >>> from headroom.systems.model import library
    >>> found = forecast_of(library.mmc(servers=2, utilization=0.8, service_s=1.0))
    >>> round(found.values["response_s_mean"], 4), found.is_exact
    (2.7778, True)
    """
    if model.counted is not None:
        per_s = model.counted.highest_throughput / SECONDS_PER_UNIT[model.time_unit]
        highest = {"throughput": per_s} if math.isfinite(per_s) else {}
        return Forecast(highest=highest, reasons=(model.counted.why,))
    try:
        full = overloaded_station(model)
    except HeadroomError as error:
        return Forecast(reasons=(error.message,))
    if full is not None and model.stop_time is None:
        name, shares = full
        load = math.fsum(shares.values())
        return Forecast(
            overload=f"open arrivals offer each server of {name} a load of {load:.3g}: no steady "
            "state"
        )
    cautions = [one.text for one in endless(model)]
    cautions += [f"{location}: {what}" for location, what in cut_normals(model)]
    return replace(_solved(model), cautions=tuple(cautions))


def of_stand_in(model: Model, errors: tuple[str, ...]) -> Forecast:
    """Return what formulas predict for a simpler model in place of another: totals only, no parts.

    Parameters
    ----------
    model
        The simpler model.
    errors
        Its known error, sentences without a full stop.
    """
    forecast = forecast_of(model)
    values = {name: forecast.values[name] for name in _OF_THE_WHOLE if name in forecast.values}
    if not values:
        return Forecast()
    return Forecast(values=values, method=f"{forecast.method} of {model.name}", reasons=errors)


def _solved(model: Model) -> Forecast:
    from headroom.solvers import NoSteadyStateError, solve  # noqa: PLC0415 - few need them

    try:
        return _from(model, solve(model))
    except NoSteadyStateError as error:
        limits = _limits_of(model)
        if model.stop_time is None and all(class_.is_endless for class_ in model.classes.values()):
            return replace(limits, overload=error.message)
        return replace(limits, reasons=(error.message,))
    except HeadroomError as error:
        return replace(_limits_of(model), reasons=(error.message,))


def _limits_of(model: Model) -> Forecast:
    """Return the bounds of a model alone."""
    from headroom.solvers import bounds  # noqa: PLC0415 - few commands need the solvers

    try:
        return _bounded(model, bounds(model))
    except HeadroomError:
        return Forecast()


def _bounded(model: Model, bounds: "Sequence[Bounds]") -> Forecast:
    highest = math.fsum(bound.throughput_per_s_high for bound in bounds)
    is_bounded = bool(bounds) and math.isfinite(highest)
    rows = {station.name: station.row for station in model.stations.values()}
    rows |= {f"pool {pool.name}": f"pool {pool.row}" for pool in model.pools.values()}
    return Forecast(
        highest={"throughput": highest} if is_bounded else {},
        limits=tuple(
            _alone(model, _limits(bound, rows.get(bound.station, bound.station)))
            for bound in bounds
        ),
    )


def _alone(model: Model, limits: Limits) -> Limits:
    """Return the limits of a class with the time that one of its jobs needs alone."""
    least = least_visits(model)
    if limits.class_name not in least.times or least.may_be_lost[limits.class_name]:
        return limits
    unit_s = SECONDS_PER_UNIT[model.time_unit]
    stations = model.stations
    parts = [
        (name, demand * unit_s / stations[name].fastest)
        for name, demand in least.demands[limits.class_name].items()
        if name in stations and demand > 0
    ]
    return replace(
        limits,
        alone_s=least.times[limits.class_name] * unit_s,
        alone_parts=tuple(sorted(parts, key=lambda part: -part[1])),
    )


def error_text(key: str) -> str:
    """Return how far off a kind of estimate was on random models, empty for what is exact."""
    from headroom.solvers.known_errors import known_errors  # noqa: PLC0415 - as above

    found = known_errors().get(key)
    if found is not None:
        return found.text
    return "not measured for this kind" if key else ""


def _from(model: Model, solution: "Solution") -> Forecast:
    return replace(
        _bounded(model, solution.bounds),
        values=by_rows(model, solution).metrics(),
        is_exact=solution.is_exact,
        method=solution.label,
        reasons=solution.reasons,
        refused=solution.refused,
        known_error="" if solution.refused else error_text(solution.error_key),
    )


def _limits(bounds: "Bounds", resource: str) -> Limits:
    return Limits(
        class_name=bounds.class_name,
        throughput_low=bounds.throughput_per_s_low,
        throughput_high=bounds.throughput_per_s_high,
        response_s_low=bounds.response_s_low,
        response_s_high=bounds.response_s_high,
        knee=bounds.knee,
        resource=resource,
        kind=bounds.kind,
        notes=bounds.notes,
    )
