"""Observations of a micro sweep on a device: closed loops, lone requests, processor time, flushes.

A closed loop hides stalls: it sends no further request during a stall, so a long stall is one slow
request of many. Requests with their own due times meet stalls in proportion to their length, as all
arrivals do that do not look first (Wolff, *Poisson Arrivals See Time Averages*, 1982). So typical
times are read off both kinds of points, stalls off open points if there are any.

Invariant: the observations of a point are a function of its merged distribution and its estimates;
times beyond `STALL_FACTOR` medians are stalls, and do not count as typical.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headroom.experiment.protocol.fit_method import Counted, FitError, SourcePoint
from headroom.systems.storage.fit.laws import Quantiles, quantile_of, quantiles_of

STALL_FACTOR = 5.0
"""A time of more than this number of medians is a stall."""
_MANY = 8
"""Outstanding requests from which the processor time per request is that of a busy host."""
_LEAST_ERROR = 0.03
"""Relative error of a throughput below which no point is trusted, whatever its interval."""
_NORMAL_P975 = 1.96
_MOST_CALM = 2.0
"""Ratio of the throughput without stalls to the observed one beyond which they are not stalls."""
_LIGHT = {"poisson": 3.0, "constant": 1.5}
"""Gaps between requests, in medians of their time, from which a request is alone, by their law.

Under other laws requests come in bursts, and are not alone however slow their rate is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """One closed micro point of reads or writes alone.

    Parameters
    ----------
    point, kind, population, size
        The point, ``"read"`` or ``"write"``, requests outstanding, length of a request (B).
    usual
        Distribution of the times without stalls, None if the runs keep none.
    throughput
        Requests per second without stalls; as observed if the runs keep no distribution.
    error
        Relative standard error of it.
    """

    point: SourcePoint
    kind: str
    population: int
    size: int
    usual: Counted | None
    throughput: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lone:
    """One open point at which hardly a request finds another one.

    Parameters
    ----------
    point, kind, size
        As in `Closed`.
    idle_s
        How long nothing has happened when a request comes; the mean if it varies.
    is_regular
        Whether it is always the same.
    times
        Quantiles of the response times without stalls.
    stalled_count, count
        Requests that met a stall, and all.
    excess_s
        Sum of what the stalled ones took longer than the others.
    typical_excess_s
        What a request took longer on average for stalls, in the replication in the middle.
    """

    point: SourcePoint
    kind: str
    size: int
    idle_s: float
    is_regular: bool
    times: Quantiles
    stalled_count: float
    count: float
    excess_s: float
    typical_excess_s: float


def closed_points(points: Sequence[SourcePoint], kinds: Sequence[str]) -> list[Closed]:
    """Return the closed points that identify a device; mixed ones, for example, are left out.

    Raises
    ------
    FitError
        Too few depths or sizes to distinguish the parts of the device.
    """
    loops = [closed for point in points for closed in _closed(point) if closed.kind in kinds]
    for kind in kinds:
        own = [closed for closed in loops if closed.kind == kind]
        share = 1.0 if kind == "read" else 0.0
        where = f"points with read_share = {share:g} and sync = never"
        depths = {closed.population for closed in own}
        if len(depths) < 3 or 1 not in depths:  # noqa: PLR2004 - as in the message
            raise FitError(
                f"the sweep has {len(depths)} depths of {kind}s; units and limits need 3 or more, "
                "1 among them",
                cure=f"add {where}: factors.depth = [1, 2, 4, 8, 16, 32, 64, 128]",
            )
        if len({closed.size for closed in own}) < 2:  # noqa: PLR2004 - as in the message
            raise FitError(
                f"the sweep has one size of {kind}s only, so the time per byte is unknown",
                cure=f"add {where}: factors.block_bytes = [4096, 65536, 1048576] at depths 1 and "
                "32",
            )
    return loops


def lone_points(points: Sequence[SourcePoint], kinds: Sequence[str], size: int) -> list[Lone]:
    """Return the open points of requests of `size` B that come one by one."""
    all_lone = [lone for point in points for lone in _lone(point)]
    return [lone for lone in all_lone if lone.kind in kinds and lone.size == size]


def alone_of(closed: Sequence[Closed], kind: str, size: int) -> Quantiles:
    """Return the usual times of requests of `size` B at depth 1.

    Raises
    ------
    FitError
        There is no such point, or its runs keep no distribution.
    """
    for loop in closed:
        if (
            loop.kind == kind
            and loop.population == 1
            and loop.size == size
            and loop.usual is not None
        ):
            return quantiles_of(loop.usual)
    raise FitError(
        f"the runs of {kind}s of {size} B at depth 1 keep no distribution of their times",
        cure="fit from runs of the system `storage`, or of a model with one class of requests, at "
        f"depth 1 and block_bytes = {size}",
    )


def host_s_of(closed: Sequence[Closed]) -> float:
    """Return the processor time (s) of a small request on a busy host.

    It never exceeds the capacity of one processor at the highest observed throughput.
    """
    smallest = min(loop.size for loop in closed)
    small = [loop for loop in closed if loop.size == smallest]
    busy = [loop for loop in small if loop.population >= _MANY] or small
    seen = [cost for loop in busy if (cost := _processor_s(loop)) is not None]
    most = 0.95 / max(loop.throughput for loop in small)
    return min(float(np.median(seen)), most) if seen else 0.1 * most


def flush_s_of(points: Sequence[SourcePoint]) -> float:
    """Return the mean time (s) of a flush, from points that flush.

    Raises
    ------
    FitError
        No point flushes.
    """
    flushes_s = [
        point.observed["class.sync.service_s_mean"].value
        for point in points
        if "class.sync.service_s_mean" in point.observed and point.config.get("sync") != "never"
    ]
    if not flushes_s:
        raise FitError(
            "no point of the sweep flushes",
            cure='add one with read_share = 0, sync = "fsync" and sync_every, or set '
            "options.flush = false",
        )
    return float(np.median(flushes_s))


def usual_of(bins: Counted) -> Counted:
    """Return a distribution without its stalls.

    Examples
    --------
    >>> values = np.array([1.0, 9.0])
    >>> times = Counted(low=values, high=values, counts=np.array([9, 1]))
    >>> usual_of(times).counts.tolist()
    [9]
    """
    is_usual = (bins.low + bins.high) / 2.0 <= STALL_FACTOR * quantile_of(bins, 0.5)
    return Counted(low=bins.low[is_usual], high=bins.high[is_usual], counts=bins.counts[is_usual])


def _stalled(bins: Counted) -> tuple[float, float]:
    """Return how many times are stalls, and by how much (s) they exceed the mean of the others."""
    usual = usual_of(bins)
    count = float(bins.counts.sum() - usual.counts.sum())
    return count, bins.mean * float(bins.counts.sum()) - usual.mean * float(
        usual.counts.sum() + count
    )


def _kind_of(point: SourcePoint) -> str:
    """Return the kind of a plain micro point, empty for a mix or another workload."""
    config = point.config
    is_plain = config.get("workload") == "micro" and config.get("sync", "never") == "never"
    share = float(config.get("read_share", 1.0))
    if not is_plain or share not in {0.0, 1.0}:
        return ""
    return "read" if share else "write"


def times_of(point: SourcePoint, kind: str, quantities: Sequence[str]) -> Counted | None:
    """Return the times of a kind of requests: the first quantity that the runs keep."""
    for quantity in quantities:
        for name in (f"class.{kind}.{quantity}", quantity):
            if name in point.distributions:
                return typical(point, name)
    return None


def typical(point: SourcePoint, metric: str) -> Counted:
    """Return the distribution of a metric over all replications, moved to the typical one.

    Replications may differ, even by ten times: merged, the fast ones of a closed loop have most of
    the requests. So the times are scaled to the median that the results print, which is that of the
    replication in the middle; if the replications agree, nothing changes.
    """
    bins = point.distributions[metric]
    seen = point.observed.get(f"{metric}_p50")
    if seen is None or seen.value <= 0.0:
        return bins
    factor = seen.value / quantile_of(bins, 0.5)
    return Counted(low=bins.low * factor, high=bins.high * factor, counts=bins.counts)


def _closed(point: SourcePoint) -> Iterator[Closed]:
    config, kind = point.config, _kind_of(point)
    seen = point.observed.get("throughput")
    if not kind or config.get("load", "closed") != "closed" or seen is None or seen.value <= 0.0:
        return
    population = int(config.get("depth", 1)) * int(config.get("streams", 1))
    times = times_of(point, kind, ("service_s", "response_s"))
    usual = None if times is None else usual_of(times)
    half = 0.0 if seen.low is None or seen.high is None else (seen.high - seen.low) / 2.0
    yield Closed(
        point=point,
        kind=kind,
        population=population,
        size=int(config["block_bytes"]),
        usual=usual,
        throughput=seen.value * _calm_factor(times, usual),
        error=max(half / seen.value / _NORMAL_P975, _LEAST_ERROR),
    )


def _calm_factor(times: Counted | None, usual: Counted | None) -> float:
    """Return how much more is done without stalls: as many requests, each for a shorter time.

    In memory most of many threads wait for a processor, with a request in their hands: most of the
    time is that of the few that had to wait, which is not a stall but the way the work is shared.
    """
    if times is None or usual is None:
        return 1.0
    factor = times.mean / usual.mean
    return factor if factor <= _MOST_CALM else 1.0


def _lone(point: SourcePoint) -> Iterator[Lone]:
    config, kind = point.config, _kind_of(point)
    times = times_of(point, kind, ("response_s",))
    if not kind or config.get("load") != "open" or times is None:
        return
    usual = usual_of(times)
    quantiles = quantiles_of(usual)
    gap_s = int(config.get("streams", 1)) / float(config["rate"])
    law = str(config.get("law", "poisson"))
    if law not in _LIGHT or gap_s < _LIGHT[law] * quantiles.p50:
        return
    stalled, excess_s = _stalled(times)
    mean = point.observed.get("response_s_mean")
    mean_s = times.mean if mean is None else mean.value
    yield Lone(
        point=point,
        kind=kind,
        size=int(config["block_bytes"]),
        idle_s=gap_s - quantiles.p50,
        is_regular=law == "constant",
        times=quantiles,
        stalled_count=stalled,
        count=float(times.counts.sum()),
        excess_s=excess_s,
        typical_excess_s=max(mean_s - usual.mean, 0.0),
    )


def _processor_s(closed: Closed) -> float | None:
    """Return the processor time (s) of a request: measured, or that of a simulated host."""
    observed = closed.point.observed
    if "cpu_s_per_request" in observed:
        return observed["cpu_s_per_request"].value
    if "station.host.utilization" in observed:
        return observed["station.host.utilization"].value / observed["throughput"].value
    return None
