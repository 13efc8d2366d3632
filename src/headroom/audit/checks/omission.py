"""Coordinated omission: requests that a stalled generator did not send, and so did not record.

While a system stalls, a closed generator has only as many requests as clients; each records one
long response, where arrivals at the mean rate would have met many. The response of an arrival in a
stall of length M is uniform on (0, M): with f the share of the run in the stall, arrivals have the
percentile p at M (1 - (1 - p) / f) at least.

Source: Tene, *How NOT to Measure Latency* (2013); Poisson arrivals see time averages, Wolff (1982).
"""

import math
from collections.abc import Callable

import numpy as np

from headroom.audit.result import (
    Checked,
    Finding,
    Log,
    Result,
    Stated,
    Unchecked,
    doubt,
    in_words,
    lacking,
    misleading,
    rate_in_words,
)

LONG_STALL = 0.02
"""Share of the run from which one stall decides p99."""
FAR_ABOVE = 4.0
"""How far the stall must be above the stated percentile, so that omission misleads."""
FEW = 0.2
"""Responses that record a stall, of the arrivals that it would have met."""
PROVES = 0.1
"""Share of a pause that may pass before the request was sent that lasts until its end."""
SHORTFALL = 0.02
ERRORS = 5.0


def shortfall(result: Result) -> Checked:
    """Hold the completions of a fixed rate against rate x time.

    In a run of length T, rate x T requests are due. The completed ones may be fewer by those in
    flight and by five standard errors of random arrivals; the rest was left out or lost.
    """
    dropped, rate, count = int(result.settings.get("dropped", "0")), result.offered, result.count
    if dropped and count is not None:
        return [_missing(f"{dropped} of {count + dropped} iterations were due and not started")]
    if result.loop != "open":
        return None
    if rate is None:
        return Unchecked(missing="scheduled rate (--rate)")
    if result.duration_s is None or count is None:
        return _by_rate(result.throughput, rate)
    due = rate * result.duration_s.low
    allowed = SHORTFALL * due + ERRORS * math.sqrt(due) + (result.clients or 0.0)
    if count >= due - allowed:
        return []
    return [_missing(f"{count} requests completed of {due:.0f} due at {rate_in_words(rate)}")]


def _by_rate(reached: Stated | None, rate: float) -> Checked:
    if reached is None:
        return Unchecked(missing="throughput")
    is_enough = reached.high >= (1.0 - SHORTFALL) * rate
    return (
        [] if is_enough else [_missing(f"{rate_in_words(reached.value)} of {rate_in_words(rate)}")]
    )


def _missing(figure: str) -> Finding:
    law = "requests due = rate x time; those that were not sent are in no percentile"
    return misleading(figure, law, "give the generator more clients, or state the rate it reached")


def stall(result: Result) -> Checked:
    """Hold percentiles against a stall that few responses recorded.

    Silent if responses count from a schedule or the tool adds the missing ones. In a summary, a
    stall is known by as many responses near the maximum as there are clients; if these are not
    known, by two at least, and by fewer than a fifth of the arrivals that it would have met.
    """
    if result.from_schedule or result.fills_in or result.runs_s.size:
        return None
    if result.log is not None and result.log.ends_s.size > 1:
        return _in_log(result, result.log)
    m, t, n, x = result.high, result.duration_s, result.sample_count, result.throughput
    typical, mean = result.percentiles.get(0.5), result.mean
    if m is None or t is None or n is None or typical is None or x is None or mean is None:
        numbers = {"median": typical, "maximum": m, "duration": t, "responses": n, "throughput": x}
        return lacking({**numbers, "mean response time": mean})
    if m.low <= LONG_STALL * t.high or t.high <= 0.0:
        return []
    excess = (mean.value - typical.value) * n / m.value
    stalled = excess if result.stdev is None else (result.stdev.value / m.value) ** 2 * n
    least, most = 2.0, FEW * x.value * m.value
    if result.clients is not None:
        least, most = 0.5 * result.clients, min(2.0 * result.clients, most)
    return (
        _stalled(result, m.value, m.low / t.high, stalled, doubt)
        if least <= stalled <= most
        else []
    )


def _in_log(result: Result, log: Log) -> list[Finding]:
    """Return whether completions pause for so long that arrivals must have been left out."""
    gaps_s = np.diff(log.ends_s)
    place = int(np.argmax(gaps_s))
    gap_s, span_s = float(gaps_s[place]), float(log.ends_s[-1] - log.ends_s[0])
    if gap_s < LONG_STALL * span_s or gap_s >= span_s:
        return []
    waited_s = log.ends_s - log.response_s - log.ends_s[place]
    sent = int(np.sum((waited_s > 0.0) & (waited_s < gap_s)))
    expected = log.ends_s.size / (span_s - gap_s) * gap_s
    # An open load goes on sending while the system stalls: its requests are in the log.
    if sent > FEW * expected or expected < ERRORS**2:
        return []
    stalled = int(np.sum(log.response_s > gap_s / 2.0))
    # A response as long as the pause proves that the system, not the load, paused.
    spans = (waited_s < PROVES * gap_s) & (log.ends_s > log.ends_s[place])
    level = misleading if np.any(spans) else doubt
    return _stalled(result, gap_s, gap_s / span_s, max(sent, stalled), level)


def _stalled(
    result: Result,
    stall_s: float,
    share: float,
    stalled: float,
    level: Callable[[str, str, str], Finding],
) -> list[Finding]:
    for p, stated in sorted(result.percentiles.items()):
        met_s = stall_s * (1.0 - (1.0 - p) / share)
        if met_s > FAR_ABOVE * stated.value:
            break
    else:
        return []
    figure = (
        f"a stall of {in_words(stall_s)}, {share:.0%} of the run, is in {stalled:.0f} responses"
    )
    figure += f": p{100 * p:g} {in_words(stated)} is {in_words(met_s)} or more for steady arrivals"
    law = "coordinated omission: who waits for replies sends nothing while the system stalls"
    cure = "use a schedule, and count from the due time: wrk2, pgbench --rate, k6 arrival rate"
    return [level(figure, law, cure)]
