"""Operational laws: they hold for every run of every system, whatever its distributions.

Sources: Little, *A Proof for the Queuing Formula L = lambda W* (1961), in the operational form of
Denning and Buzen, *The Operational Analysis of Queueing Network Models* (1978).
"""

import math

from headroom.audit.result import Checked, Finding, Level, Result, Unchecked

UNKNOWN_RUN = 0.05
"""Tolerance of Little's law if the length of the run is unknown: end effects are largest response
over length, and no run is worth a table that is shorter than twenty of its responses."""
IDLE_CLIENTS = 0.8
"""Share of the clients' time in requests below which the generator itself costs too much."""
ALWAYS_BUSY = 0.98
SPREAD_OF_PAUSES = 4.0
"""Standard errors that the mean pause of a run may differ from the stated one."""


def completions(result: Result) -> Checked:
    """Hold the number of completions against throughput x time."""
    x, t, count = result.throughput, result.duration_s, result.count
    if x is None or t is None or count is None:
        missing = {"throughput": x, "duration": t, "number of completed requests": count}
        return Unchecked(check="completions", result=result.name, missing=_missing(missing))
    if x.low * t.low - 1.0 <= count <= x.high * t.high + 1.0:
        return []
    return [
        Finding(
            level=Level.CONTRADICTION, check="completions", result=result.name,
            figure=f"{count} requests in {t.value:g} s at {x.value:g}/s, which makes "
            f"{x.value * t.value:.0f}",
            law="requests completed = throughput × time",
            cure="find out which interval or which requests the throughput leaves out",
        )
    ]  # fmt: skip


def population(result: Result) -> Checked:
    """Hold X (R + Z) against the number of clients N.

    A client has one request at most, so the responses that end in a run of T last N (T + R_max) in
    all at most: an exact bound, whatever the distribution. Without T or R_max it is 5% above N. A
    stated pause is a mean; that of C pauses differs from it by four standard errors at most.
    The lower side is no law: the generator needs time too. Below 80% it is doubtful.
    """
    x, n = result.throughput, result.clients
    r = result.mean if result.residence is None else result.residence
    if result.mean_is_derived or result.fills_in:
        reason = "from Little's law itself (pgbench: add --progress=1)" if result.mean_is_derived else (
            "with responses added that it did not observe"
        )  # fmt: skip
        return Unchecked(
            check="Little's law", result=result.name,
            missing=f"mean of observed responses: {result.tool} computes it {reason}",
        )  # fmt: skip
    if x is None or r is None or n is None:
        missing = {"throughput": x, "mean response time": r, "number of clients (--clients)": n}
        return Unchecked(check="Little's law", result=result.name, missing=_missing(missing))
    z = result.think_s or 0.0
    low, high = x.low * (r.low + z), x.high * (r.high + z)
    figure = f"{x.value:.4g}/s × {_seconds(r.value + z)} = {x.value * (r.value + z):.3g} in flight"
    if result.from_schedule:
        return [_behind(result, figure, n)] if low > n * (1.0 + UNKNOWN_RUN) else []
    if low > n * (1.0 + _end_effect(result, r.value, z)):
        return [_too_many(result, figure, n)]
    is_full = result.think_s is not None and not result.clients_vary
    if result.loop != "open" and is_full and high < IDLE_CLIENTS * n:
        return [_idle(result, figure, n, high / n)]
    return []


def _end_effect(result: Result, response_s: float, think_s: float) -> float:
    """Return by how much, relative to N, the ends of the run may raise X (R + Z)."""
    t = result.duration_s
    if t is None or t.low <= 0.0 or (result.high is None and think_s == 0.0):
        return UNKNOWN_RUN
    longest = result.high.high if result.high is not None else 10.0 * response_s
    pauses = SPREAD_OF_PAUSES / math.sqrt(max(result.count or 1, 1)) if think_s else 0.0
    return (longest + 10.0 * think_s) / t.low + pauses + t.error / t.low


def _too_many(result: Result, figure: str, clients: float) -> Finding:
    return Finding(
        level=Level.CONTRADICTION, check="Little's law", result=result.name,
        figure=f"{figure}, but {clients:g} clients can have {clients:g} at most",
        law="N = X (R + Z): clients = throughput × (response time + think time)",
        cure="check clients, units and the interval of each figure: one of the three is of another run",
    )  # fmt: skip


def _behind(result: Result, figure: str, clients: float) -> Finding:
    return Finding(
        level=Level.DOUBTFUL, check="Little's law", result=result.name,
        figure=f"{figure}, with {clients:g} connections: requests waited in the generator",
        law="N = X R counts requests that are due; only N connections can send them",
        cure="give more connections, or a lower rate; until then the wait is partly the generator's",
    )  # fmt: skip


def _idle(result: Result, figure: str, clients: float, share: float) -> Finding:
    return Finding(
        level=Level.DOUBTFUL, check="Little's law", result=result.name,
        figure=f"{figure} of {clients:g} clients: they spend {1.0 - share:.0%} of their time elsewhere",
        law="N = X (R + Z): clients without think time always have a request in flight",
        cure="give the generator more processors or threads, or state the think time (--think)",
    )  # fmt: skip


def open_loop(result: Result) -> Checked:
    """Hold an open load against its limit of connections: all busy means that it is closed."""
    x, r, n = result.throughput, result.mean, result.clients
    if result.loop != "open":
        return None
    if result.from_schedule:
        return []
    if x is None or r is None or n is None:
        missing = {"throughput": x, "mean response time": r, "limit of connections (--clients)": n}
        return Unchecked(check="open loop", result=result.name, missing=_missing(missing))
    busy = x.value * r.value / n
    if busy < ALWAYS_BUSY:
        return []
    return [
        Finding(
            level=Level.DOUBTFUL, check="open loop", result=result.name,
            figure=f"{x.value * r.value:.3g} of {n:g} connections in use on average, {busy:.0%}",
            law="an open load sends at its times; if all connections are busy, replies set the pace",
            cure="call it a closed load, or raise the limit of connections far above throughput × response time",
        )
    ]  # fmt: skip


def utilization(result: Result) -> Checked:
    """Hold processor time against processors x time."""
    if result.busy is None or result.cpus is None:
        missing = {"processor time": result.busy, "number of processors (--cpus)": result.cpus}
        return Unchecked(check="utilization", result=result.name, missing=_missing(missing))
    if result.busy.low <= result.cpus * 1.001:
        return []
    return [
        Finding(
            level=Level.CONTRADICTION, check="utilization", result=result.name,
            figure=f"{result.busy.value:.3g} processors busy on average, of {result.cpus:g}",
            law="U = busy time / (processors × time) is at most 1",
            cure="check the number of processors, and whether both times are of the same interval",
        )
    ]  # fmt: skip


def _missing(numbers: dict[str, object]) -> str:
    return ", ".join(name for name, number in numbers.items() if number is None)


def _seconds(value: float) -> str:
    return f"{value:.4g} s" if value >= 1.0 else f"{value * 1e3:.4g} ms"
