"""Arrivals of open classes: how many a second, how variable, and whether they are Poisson."""

import math
from dataclasses import dataclass

import numpy as np

from headroom.solvers.closed import FloatArray
from headroom.solvers.moments import Moments, is_exponential, law_of, moments_of
from headroom.solvers.tree import Data


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Arrivals per unit of time, c2 of the time between them, and why they are not Poisson."""

    rate: float
    c2: float
    reason: str = ""


def arrivals_of(data: Data) -> Arrivals:
    """Return what is known of the arrivals of an open class, from its data.

    Examples
    --------
    >>> arrivals_of({"interarrival": {"kind": "erlang", "mean": 0.5, "stages": 4}})
    Arrivals(rate=2.0, c2=0.25, reason='times between arrivals are erlang, not exponential')
    """
    found = _single(data)
    if data.get("batch") is None:
        return found
    size = moments_of(data["batch"], {})
    return _batched(found, size)


def _single(data: Data) -> Arrivals:
    process = data.get("arrivals")
    if process is not None:
        return _of_process(process)
    law = law_of(data["interarrival"])
    reason = (
        "" if is_exponential(law) else f"times between arrivals are {law.kind}, not exponential"
    )
    return Arrivals(rate=1.0 / law.mean, c2=law.c2, reason=reason)


def _batched(single: Arrivals, size: Moments) -> Arrivals:
    """Return arrivals in batches: c2 of the flow is E[B] (c2 of the batches' times + c2 of B)."""
    return Arrivals(
        rate=single.rate * size.mean,
        c2=size.mean * (single.c2 + size.c2),
        reason="jobs arrive in batches",
    )


def _of_process(process: Data) -> Arrivals:
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


def _mean_rate(process: Data) -> float:
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
