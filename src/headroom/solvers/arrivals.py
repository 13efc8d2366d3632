"""Arrivals of open classes: their rate, their variability, and whether they are Poisson."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headroom.simulation import ComputedArrivals, Distribution
from headroom.simulation.language.classes import JobClass
from headroom.simulation.laws.arrivals import ArrivalProcess
from headroom.solvers.errors import SolverError
from headroom.solvers.exact.closed import FloatArray
from headroom.solvers.moments import Moments, is_exponential, moments_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Arrivals per unit of time, c2 of the time between them, and why they are not Poisson."""

    rate: float
    c2: float
    reason: str = ""
    is_renewal: bool = True
    """Whether times between arrivals are independent, one by one."""
    law: Distribution | None = None
    """Law of the time between arrivals, or of batches, in the unit of the model."""
    process: ArrivalProcess | None = None
    batch: Distribution | None = None
    """Jobs of a batch."""


def arrivals_of(one: JobClass) -> Arrivals:
    """Return what is known about the arrivals of a class; none for a closed one.

    Examples
    --------
    >>> from headroom.simulation import Model, erlang
    >>> model = Model("queue", time_unit="s")
    >>> job = model.program("job")
    >>> job.delay(1)
    >>> model.open_class("jobs", job, interarrival=erlang(0.5, 4))
    >>> one = arrivals_of(model.classes["jobs"])
    >>> one.rate, one.c2, one.reason
    (2.0, 0.25, 'times between arrivals are erlang, not exponential')
    """
    if one.population is not None:
        return Arrivals(rate=0.0, c2=1.0)
    if isinstance(one.process, ComputedArrivals):
        return _computed(one, one.process)
    if one.process is not None:
        known = _of_process(one.process.to_data())
        found = replace(known, is_renewal=False, process=one.process)
    else:
        found = _of_law(one.law) if one.law is not None else Arrivals(rate=0.0, c2=1.0)
    found = replace(found, law=one.law, batch=one.batch)
    return found if one.batch is None else _batched(found, moments_of(one.batch, {}))


def _computed(one: JobClass, process: ComputedArrivals) -> Arrivals:
    if math.isnan(process.mean_rate):
        raise SolverError(
            f"{one.location}: the arrivals of class {one.name!r} are computed, so that their rate "
            "is not known",
            cure="give computed_arrivals(..., mean_rate=...)",
        )
    reason = "arrivals are computed by the model"
    return Arrivals(rate=one.arrival_rate, c2=1.0, reason=reason, is_renewal=False)


def _of_law(law: Distribution) -> Arrivals:
    reason = (
        "" if is_exponential(law) else f"times between arrivals are {law.kind}, not exponential"
    )
    return Arrivals(rate=1.0 / law.mean, c2=law.c2, reason=reason)


def _batched(single: Arrivals, size: Moments) -> Arrivals:
    """Return arrivals in batches: c2 of the flow is E[B] (c2 of the batches' times + c2 of B)."""
    return replace(
        single,
        rate=single.rate * size.mean,
        c2=size.mean * (single.c2 + size.c2),
        reason="jobs arrive in batches",
        is_renewal=False,
    )


def _of_process(process: Mapping[str, Any]) -> Arrivals:
    match process["kind"]:
        case "mmpp":
            return _mmpp(
                np.array(process["rates"], float), np.array(process["switch_rates"], float)
            )
        case "changing_rate":
            rate = _mean_rate(process)
            return Arrivals(rate=rate, c2=1.0, reason="the arrival rate changes with time")
        case "trace":
            times = np.asarray(process["times"], dtype=np.float64)
            gaps = np.diff(times, prepend=0.0)
            mean = float(gaps.mean())
            return Arrivals(
                rate=1.0 / mean if mean > 0 else math.nan,
                c2=float(gaps.var()) / mean**2 if mean > 0 else math.nan,
                reason="arrivals are replayed from a trace",
            )
        case other:
            return Arrivals(
                rate=math.nan, c2=math.nan, reason=f"arrivals of the kind {other!r} are not known"
            )


def _mean_rate(process: Mapping[str, Any]) -> float:
    """Return the mean over the period; without one, the rate of the last piece, which stays."""
    starts, rates, period = process["times"], process["rates"], process.get("period")
    if period is None:
        return float(rates[-1])
    ends = [*starts[1:], period]
    total = math.fsum(r * (b - a) for r, a, b in zip(rates, starts, ends, strict=True))
    return total / float(period)


def _mmpp(rates: FloatArray, switch_rates: FloatArray) -> Arrivals:
    """Return rate and c2 of a Markov-modulated Poisson process (Fischer, Meier-Hellstern 1993).

    The time between arrivals is of phase type: with D0 = Q - L and the phase just after an
    arrival distributed as pi L / rate, E[T^2] = 2 phi (-D0)^-2 1.
    """
    generator = switch_rates - np.diag(np.diag(switch_rates))
    generator -= np.diag(generator.sum(axis=1))
    system = np.vstack([generator.T, np.ones(len(rates))])
    stationary = np.linalg.lstsq(system, np.append(np.zeros(len(rates)), 1.0), rcond=None)[0]
    rate = float(stationary @ rates)
    inverse = np.linalg.inv(np.diag(rates) - generator)
    after = stationary * rates / rate
    second = 2.0 * float(after @ inverse @ inverse @ np.ones(len(rates)))
    return Arrivals(
        rate=rate, c2=second * rate**2 - 1.0, reason="arrivals are bursty (Markov modulated)"
    )
