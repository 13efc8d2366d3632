"""Coordinated omission: requests that a stalled generator did not send, and so did not record.

While a system stalls, a closed generator has only as many requests as clients; each records one
long response, where arrivals at the mean rate would have met many. A response of an arrival in a
stall of length M is uniform on (0, M): with f the share of the run in the stall, arrivals have the
percentile p at M (1 - (1 - p) / f) at least.

Source: Tene, *How NOT to Measure Latency* (2013); Poisson arrivals see time averages, Wolff (1982).
"""

import math

import numpy as np

from headroom.audit.result import Checked, Finding, Level, Log, Result, Unchecked

LONG_STALL = 0.02
"""Share of the run from which one stall decides p99."""
FAR_ABOVE = 10.0
"""How far the stall must be above the stated percentile, so that omission misleads."""
SHORTFALL = 0.02
ERRORS = 5.0
_CURE = "use a generator with a schedule that counts from the due time (wrk2 -R, pgbench -R, k6 arrival rate)"


def shortfall(result: Result) -> Checked:
    """Hold the completions of a fixed rate against rate x time.

    In a run of length T, rate x T requests are due. The completed ones may be fewer by those in
    flight and by five standard errors of random arrivals; the rest was left out or lost.
    """
    dropped = int(result.settings.get("dropped", "0"))
    if dropped and result.count is not None:
        due = result.count + dropped
        return [_missing(result, f"{dropped} of {due} iterations were due and not started")]
    if result.loop != "open":
        return None
    rate, t, count = result.offered, result.duration_s, result.count
    if rate is None:
        return Unchecked(
            check="offered load", result=result.name, missing="scheduled rate (--rate)"
        )
    if t is None or count is None:
        x = result.throughput
        if x is None:
            return Unchecked(check="offered load", result=result.name, missing="throughput")
        if x.high >= (1.0 - SHORTFALL) * rate:
            return []
        return [_missing(result, f"{x.value:g}/s of {rate:g}/s")]
    due = rate * t.low
    if count >= due * (1.0 - SHORTFALL) - ERRORS * math.sqrt(due) - (result.clients or 0.0):
        return []
    return [_missing(result, f"{count} requests completed of {due:.0f} due at {rate:g}/s")]


def _missing(result: Result, figure: str) -> Finding:
    return Finding(
        level=Level.DOUBTFUL, check="offered load", result=result.name, figure=figure,
        law="requests due = rate × time; those that were not sent are in no percentile",
        cure="give the generator more clients, or report the rate that was reached as the system's limit",
    )  # fmt: skip


def stall(result: Result) -> Checked:
    """Hold percentiles against a stall that few responses recorded.

    Silent if responses count from a schedule or the tool adds the missing ones. From a summary it
    is a stall only if the responses near the maximum are about as many as the clients; if these
    are not known, at least two, and fewer than a fifth of the arrivals that it would have met.
    """
    if result.from_schedule or result.fills_in or result.runs_s.size:
        return None
    if result.log is not None and result.log.ends_s.size > 1:
        return _in_log(result, result.log)
    m, t, n, x = result.high, result.duration_s, result.sample_count, result.throughput
    typical = result.percentiles.get(0.5)
    if m is None or t is None or n is None or typical is None or x is None or result.mean is None:
        missing = {"median": typical, "maximum": m, "duration": t, "responses": n}
        absent = [name for name, one in missing.items() if one is None] or ["throughput"]
        return Unchecked(check="omission", result=result.name, missing=", ".join(absent))
    share = m.low / t.high
    if m.low <= 0.0 or share < LONG_STALL:
        return []
    excess = (result.mean.value - typical.value) * n
    if result.stdev is not None:
        excess = result.stdev.value**2 * n / m.value
    stalled, arrivals = excess / m.value, x.value * m.value
    clients = result.clients
    is_stall = 0.5 * clients <= stalled <= 2.0 * clients if clients is not None else 2.0 <= stalled
    if not is_stall or stalled > 0.2 * arrivals:
        return []
    return _stalled(result, m.value, share, stalled)


def _in_log(result: Result, log: Log) -> list[Finding]:
    """Return whether completions pause for so long that arrivals must have been left out."""
    starts_s = log.ends_s - log.response_s
    gaps_s = np.diff(log.ends_s)
    place = int(np.argmax(gaps_s))
    gap_s, span_s = float(gaps_s[place]), float(log.ends_s[-1] - log.ends_s[0])
    if span_s <= 0.0 or gap_s / span_s < LONG_STALL:
        return []
    since_s = log.ends_s[place]
    sent = int(np.sum((starts_s > since_s) & (starts_s < since_s + gap_s)))
    expected = log.ends_s.size / (span_s - gap_s) * gap_s
    # An open load goes on sending while the system stalls: its requests are in the log.
    if sent > expected / 2.0 or expected < ERRORS**2:
        return []
    return _stalled(result, gap_s, gap_s / span_s, max(sent, 1))


def _stalled(result: Result, stall_s: float, share: float, stalled: float) -> list[Finding]:
    known = [one for one in result.percentiles.items() if 1.0 - one[0] < share]
    misled = [(p, stated.value, stall_s * (1.0 - (1.0 - p) / share)) for p, stated in sorted(known)]
    worst = next((one for one in misled if one[2] > FAR_ABOVE * one[1]), None)
    if worst is None:
        return []
    p, stated_s, met_s = worst
    return [
        Finding(
            level=Level.DOUBTFUL, check="omission", result=result.name,
            figure=f"a stall of {stall_s:.3g} s, {share:.0%} of the run, is in about {stalled:.0f} responses; "
            f"p{100 * p:g} is stated as {stated_s * 1e3:.4g} ms, arrivals at the mean rate have {met_s:.3g} s or more",
            law="coordinated omission: who waits for replies sends nothing while the system stalls",
            cure=_CURE,
        )
    ]  # fmt: skip
