"""Operational laws: they hold for every run of every system, whatever its distributions.

Sources: Little, *A Proof for the Queuing Formula L = lambda W* (1961), in the operational form of
Denning and Buzen, *The Operational Analysis of Queueing Network Models* (1978).
"""

import math
from collections.abc import Iterator

from headroom.audit.result import (
    Checked,
    Finding,
    Result,
    Stated,
    Unchecked,
    contradiction,
    doubt,
    in_words,
    lacking,
    misleading,
    rate_in_words,
)

UNKNOWN_RUN = 0.05
"""Tolerance of Little's law if the length of the run is unknown: end effects are largest response
over length, and no run is worth a table that is shorter than twenty of its responses."""
IDLE_CLIENTS = 0.8
"""Share of the clients' time in requests below which the generator itself costs too much."""
ALWAYS_BUSY = 0.98
FAILURES_MATTER = 0.01
SPREAD_OF_PAUSES = 4.0
"""Standard errors that the mean pause of a run may differ from the stated one."""
LONG_PAUSE = 10.0
"""Longest pause, or response if no maximum is stated, in means: 1 in 22,000 exponential ones."""
_LESS = 1.0 - 1e-9
_LITTLE = "N = X (R + Z): clients = throughput x (response time + think time)"


def completions(result: Result) -> Checked:
    """Hold the number of completions against throughput x time."""
    x, t, count = result.throughput, result.duration_s, result.count
    if x is None or t is None or count is None:
        return lacking({"throughput": x, "duration": t, "number of completed requests": count})
    if x.low * t.low - 1.0 <= count <= x.high * t.high + 1.0:
        return []
    figure = f"{count} requests in {t.value:g} s at {rate_in_words(x.value)}"
    figure += f", which makes {x.value * t.value:.0f}"
    law = "requests completed = throughput x time"
    cure = "find the interval or the requests that the throughput leaves out"
    return [contradiction(figure, law, cure)]


def failures(result: Result) -> Checked:
    """Hold what failed against what was asked for: the run, its requests, its connections."""
    is_told = result.failed is not None or result.failed_share is not None
    if not is_told and not (result.error or result.lost or result.refused):
        return Unchecked(missing="number of failed requests")
    return [*_failed_run(result), *_failed_requests(result), *_refused(result)]


def whole_failures(result: Result) -> Checked:
    """Hold a stated share of failures against the number of requests: failures are whole."""
    share, count = result.failed_share, result.count
    if share is None or not count:
        return None
    least, most = math.ceil(share.low * count * _LESS), math.floor(share.high * count / _LESS)
    if least <= most:
        return []
    near = round(share.value * count)
    figure = f"{share.value:.6g} of {count:,} requests failed, but {near:,} are {near / count:.6g}"
    law = "a share of failures is a fraction of whole numbers"
    cure = "state the number of failures, and the count that the share is of"
    return [contradiction(figure, law, cure)]


def _failed_run(result: Result) -> Iterator[Finding]:
    if result.error:
        law = "a run that failed did not do the work that was asked for"
        yield misleading(result.error, law, "fix the cause and run it again")


def _failed_requests(result: Result) -> Iterator[Finding]:
    law = "an error is not the work that was asked for; it is often the quicker answer"
    cure = "fix the cause, or state throughput and times of successes"
    share = result.failed_share
    if share is not None and not result.count and share.value >= FAILURES_MATTER:
        yield misleading(f"{share.value:.1%} of the requests failed", law, cure)
    failed = (result.failed or 0.0) + result.lost
    asked = (result.count or 0) + result.lost
    if not asked or failed / asked < FAILURES_MATTER:
        return
    what = "runs" if result.runs_s.size else "requests"
    codes = result.settings.get("errors", "")
    about = f" ({codes})" if codes else ""
    figure = f"{failed:,.0f} of {asked:,.0f} {what} failed, {failed / asked:.1%}{about}"
    figure += ", and their times are in the figures" if result.failed else ""
    yield misleading(figure, law, cure)


def _refused(result: Result) -> Iterator[Finding]:
    if not result.refused or not result.clients:
        return
    made = max(result.clients - result.refused, 0.0)
    figure = f"{result.refused:,.0f} of {result.clients:,.0f} connections could not be made"
    law = f"the load was that of {made:,.0f} connections"
    cure = "raise the limits of open files and of the server's backlog, or ask for fewer"
    yield misleading(figure, law, cure)


def population(result: Result) -> Checked:
    """Hold X (R + Z) against the number of clients N.

    A client has one request at most, so the responses that end in a run of T last N (T + R_max) in
    all at most: an exact bound, whatever the distribution. Without T or R_max it is 5% above N. A
    stated pause is a mean; that of C pauses differs from it by four standard errors at most.
    The lower side is no law: the generator needs time too. Below 80% it is doubtful.
    """
    x, n = result.throughput, result.clients
    r = result.mean if result.residence is None else result.residence
    if result.mean_is_derived:
        return Unchecked(missing="measured mean (pgbench derives it: add --progress=1)")
    if result.fills_in:
        return Unchecked(missing=f"mean of observed responses ({result.tool} adds others)")
    if x is None or r is None or not n:
        return lacking({"throughput": x, "mean response time": r, "clients (--clients)": n or None})
    z = result.think_s or 0.0
    low, high = x.low * (r.low + z), x.high * (r.high + z)
    flight = x.value * (r.value + z)
    about = f"{flight:.3g}" if flight < 1000.0 else f"{flight:,.0f}"  # noqa: PLR2004 - digits
    figure = f"{rate_in_words(x.value)} x {in_words(r.value + z)} = {about} in flight"
    return [*_in_flight(result, figure, low / n, high / n, r)]


def _in_flight(
    result: Result, figure: str, low: float, high: float, response: Stated
) -> Iterator[Finding]:
    """Yield what is wrong with requests in flight of `low` to `high` times the clients."""
    n = result.clients or 0.0
    if result.from_schedule:
        if low > 1.0 + UNKNOWN_RUN:
            law = "X R counts the requests that are due; N connections can send N of them"
            figure += f", with {n:g} connections: requests waited in the generator"
            yield doubt(figure, law, "give more connections, or lower the rate")
    elif low > 1.0 + _end_effect(result, response, result.think_s or 0.0):
        cure = "check clients, units and intervals: one of the three is of another run"
        if result.tool == "hammerdb":
            cure = (
                "take `jobs ID timing VU`: HammerDB up to 5.0 counts each call of its summary twice"
            )
        yield contradiction(f"{figure}, but {n:g} clients can have {n:g} at most", _LITTLE, cure)
    elif result.think_s is None or result.clients_vary or result.loop == "open":
        return
    elif high < IDLE_CLIENTS:
        figure += f" of {n:g} clients: they spend {1.0 - high:.0%} of their time elsewhere"
        cure = "give the generator more processors or threads, or state the think time (--think)"
        yield doubt(figure, _LITTLE, cure)


def _end_effect(result: Result, response: Stated, think_s: float) -> float:
    """Return by how much, relative to N, the ends of the run may raise X (R + Z)."""
    t = result.duration_s
    if t is None or t.low <= 0.0 or (result.high is None and think_s == 0.0):
        return UNKNOWN_RUN
    longest = LONG_PAUSE * response.high if result.high is None else result.high.high
    pauses = SPREAD_OF_PAUSES / math.sqrt(max(result.count or 1, 1)) if think_s else 0.0
    return (longest + LONG_PAUSE * think_s + t.error) / t.low + pauses


def open_loop(result: Result) -> Checked:
    """Hold an open load against its limit of connections: all busy means that it is closed."""
    x, r, n = result.throughput, result.mean, result.clients
    if result.loop != "open" or result.from_schedule:
        return None if result.loop != "open" else []
    if x is None or r is None or not n:
        named = {"throughput": x, "mean response time": r, "connections (--clients)": n or None}
        return lacking(named)
    busy = x.value * r.value / n
    if busy < ALWAYS_BUSY:
        return []
    figure = f"{busy * n:.3g} of {n:g} connections in use on average, {busy:.0%}"
    law = "an open load sends at its times; with all connections busy, replies set the pace"
    cure = "call it a closed load, or allow far more connections than throughput x response time"
    return [doubt(figure, law, cure)]


def utilization(result: Result) -> Checked:
    """Hold processor time against processors x time."""
    if result.busy is None:
        return Unchecked(missing="processor time")
    if result.cpus is None:
        return Unchecked(missing="number of processors (--cpus)")
    if result.busy.low <= result.cpus * 1.001:
        return []
    figure = f"{result.busy.value:.3g} processors busy on average, of {result.cpus:g}"
    law = "U = busy time / (processors x time) is at most 1"
    cure = "check the number of processors, and whether both times are of the same interval"
    return [contradiction(figure, law, cure)]
