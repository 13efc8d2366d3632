"""Figures that follow from the stated ones, and stated ones that these show to be something else.

N clients that wait for replies leave N / X for a request and the pause behind it, so no mean of the
responses is longer. What is missing in a file is often implied so by what is there.

Source: Little's law in the form of Denning and Buzen (1978), see `headroom.audit.checks.laws`.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from headroom.audit.checks.distribution import mean_bounds
from headroom.audit.checks.laws import IDLE_CLIENTS, UNKNOWN_RUN
from headroom.audit.result import (
    Checked,
    Result,
    Stated,
    Unchecked,
    doubt,
    in_words,
    misleading,
    rate_in_words,
)

_BUSY = 0.95
"""Share of the clients in requests from which nothing is worth saying."""
_TOP = 0.5
"""Percentile below which the rest of the responses says little about the mean."""


def filled(result: Result) -> Result:
    """Return a result with the throughput that its count and time imply, if it states none."""
    count, time = result.count, result.duration_s
    if result.throughput is not None or not count or time is None or time.low <= 0.0:
        return result
    low, high = (count - 1.0) / time.high, (count + 1.0) / time.low
    return replace(result, throughput=Stated((low + high) / 2.0, (high - low) / 2.0))


def time_of_a_request(result: Result) -> float | None:
    """Return N / X (s) of clients that wait for replies; None if that is not known."""
    x, n = result.throughput, result.clients
    if x is None or not n or x.low <= 0.0 or result.loop == "open" or result.from_schedule:
        return None
    return n / x.low


def longest_mean(result: Result) -> Checked:
    """Hold a mean that is not of the requests, and percentiles alone, against N / X."""
    most_s = time_of_a_request(result)
    if not result.fills_in and not result.mean_is_derived and result.mean is not None:
        return None
    if most_s is None:
        return None
    if result.fills_in and result.mean is not None:
        return _filled_in(result, result.mean, most_s)
    return _of_percentiles(result, most_s)


def _filled_in(result: Result, mean: Stated, most_s: float) -> Checked:
    if mean.low <= most_s * (1.0 + UNKNOWN_RUN):
        return []
    n, x = result.clients or 0.0, result.throughput or Stated(0.0)
    figure = (
        f"mean {in_words(mean)}, but {n:,.0f} connection{'s' if n > 1.0 else ''} at "
        f"{rate_in_words(x.value)} leave {in_words(most_s)} for a request"
    )
    law = f"N = X (R + Z); {result.tool} adds responses that it did not see to those that it saw"
    return [misleading(figure, law, "state N / X, or measure with a schedule: wrk2 -R")]


def _of_percentiles(result: Result, most_s: float) -> Checked:
    """Hold N / X against the largest mean that percentiles allow: more is spent elsewhere."""
    if not result.percentiles or max(result.percentiles) < _TOP:
        return Unchecked(missing="percentiles")
    x, n = result.throughput, result.clients
    least_s = (n or 0.0) / x.high - (result.think_s or 0.0) if x is not None else 0.0
    share, top = max(result.percentiles.items())
    _, most_mean_s = mean_bounds(result)
    name = f"p{100 * share:g}"
    figure = f"{in_words(most_s)} for a request (N / X) is above {name} {in_words(top)}"
    law = "N = X (R + Z): what no response takes, the clients spend elsewhere"
    cure = "give the generator more processors, state the think time (--think), or check N and X"
    if result.think_s is None or least_s <= top.high:
        return []
    if math.isfinite(most_mean_s):
        if most_mean_s >= IDLE_CLIENTS * least_s:
            return []
        figure += f": they spend {1.0 - most_mean_s / least_s:.0%} of their time elsewhere, or more"
    else:
        rest_s = (least_s - share * top.high) / (1.0 - share)
        figure += f": the others take {in_words(rest_s)} on average, or clients wait elsewhere"
    return [doubt(figure, law, cure)]


def derived(result: Result) -> Iterator[str]:
    """Yield what follows from the figures of a result, as phrases.

    Examples
    --------
    >>> one = Result(tool="", source="", name="", loop="closed", clients=400.0, count=1000,
    ...              throughput=Stated(10_000.0), mean=Stated(0.0038), failed=100)
    >>> list(derived(one))
    ['38 of 400 clients were waiting for a reply on average', 'without failures 9,000/s']
    """
    x, r, n = result.throughput, result.mean, result.clients
    is_measured = r is not None and not result.mean_is_derived and not result.fills_in
    if x is not None and r is not None and n and is_measured and not result.from_schedule:
        flight = x.value * (r if result.residence is None else result.residence).value
        if flight < _BUSY * n and not result.clients_vary:
            clients = "client was" if n == 1.0 else "clients were"
            yield f"{flight:,.3g} of {n:,.0f} {clients} waiting for a reply on average"
    most_s = time_of_a_request(result)
    if not is_measured and most_s is not None and not result.view:
        yield f"the mean response time is at most {in_words(most_s)} (N / X)"
    if result.failed and result.count and x is not None:
        good = x.value * max(1.0 - result.failed / result.count, 0.0)
        yield f"without failures {rate_in_words(good)}"
