"""What a micro sweep says of a device: requests per second, processor time, scatter, stalls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headroom.experiment.fit_method import Counted, FitError, SourcePoint

STALL_FACTOR = 10.0
"""A service of more than so many medians is a stall."""
_MANY = 8
"""Outstanding requests from which the processor time per request is that of a busy host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """One closed micro point of reads or writes alone."""

    point: SourcePoint
    kind: str
    population: int
    size: int
    throughput: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """How the services of one kind scatter at depth 1: standard deviation (s), and stalls."""

    deviation_s: float
    stall_share: float
    stall_s: float


def speeds_of(points: Sequence[SourcePoint], kinds: Sequence[str]) -> list[Speed]:
    """Return the points that identify a device; others, such as mixed ones, are left out.

    Raises
    ------
    FitError
        Depths or sizes are too few to tell the parts of the device apart.
    """
    found = [speed for point in points for speed in _speed(point) if speed.kind in kinds]
    for kind in kinds:
        own = [speed for speed in found if speed.kind == kind]
        share = 1.0 if kind == "read" else 0.0
        where = f"points with read_share = {share:g} and sync = never"
        depths = {speed.population for speed in own}
        if len(depths) < 3 or 1 not in depths:  # noqa: PLR2004 - as the message says
            raise FitError(
                f"the sweep has {len(depths)} depths of {kind}s; units and limits need 3 or more, "
                "1 among them",
                cure=f"add {where}: factors.depth = [1, 2, 4, 8, 16, 32, 64, 128]",
            )
        if len({speed.size for speed in own}) < 2:  # noqa: PLR2004 - as the message says
            raise FitError(
                f"the sweep has one size of {kind}s only, which tells nothing of a byte's time",
                cure=f"add {where}: factors.block_bytes = [4096, 65536, 1048576] at depths 1 and "
                "32",
            )
    return found


def _speed(point: SourcePoint) -> list[Speed]:
    config, share = point.config, float(point.config.get("read_share", 1.0))
    is_closed = config.get("load", "closed") == "closed"
    is_plain = config.get("workload") == "micro" and config.get("sync", "never") == "never"
    throughput = point.observed.get("throughput")
    if not (is_closed and is_plain and share in {0.0, 1.0}) or throughput is None:
        return []
    speed = Speed(
        point=point,
        kind="read" if share else "write",
        population=int(config.get("depth", 1)) * int(config.get("streams", 1)),
        size=int(config["block_bytes"]),
        throughput=throughput.value,
    )
    return [speed] if speed.throughput > 0.0 else []


def host_s_of(speeds: Sequence[Speed]) -> float:
    """Return the processor time (s) of a small request on a busy host.

    It never exceeds what one processor can do at the highest throughput that was seen.
    """
    smallest = min(speed.size for speed in speeds)
    small = [speed for speed in speeds if speed.size == smallest]
    busy = [speed for speed in small if speed.population >= _MANY] or small
    seen = [cost for speed in busy if (cost := _processor_s(speed)) is not None]
    most = 0.95 / max(speed.throughput for speed in small)
    return min(float(np.median(seen)), most) if seen else 0.1 * most


def _processor_s(speed: Speed) -> float | None:
    """Return the processor time (s) of a request: measured, or that of a simulated host."""
    observed = speed.point.observed
    if "cpu_s_per_request" in observed:
        return observed["cpu_s_per_request"].value
    if "station.host.utilization" in observed:
        return observed["station.host.utilization"].value / speed.throughput
    return None


def flush_s_of(points: Sequence[SourcePoint]) -> float:
    """Return the mean time (s) of a flush, from points that flush.

    Raises
    ------
    FitError
        No point flushes.
    """
    found = [
        point.observed["class.sync.service_s_mean"].value
        for point in points
        if "class.sync.service_s_mean" in point.observed and point.config.get("sync") != "never"
    ]
    if not found:
        raise FitError(
            "no point of the sweep flushes",
            cure='add one with read_share = 0, sync = "fsync" and sync_every, or set '
            "options.flush = false",
        )
    return float(np.median(found))


def scatter_of(speeds: Sequence[Speed], kind: str) -> Scatter:
    """Return the scatter of the services of one kind: those of its smallest request at depth 1."""
    own = [speed for speed in speeds if speed.kind == kind and speed.population == 1]
    point = min(own, key=lambda speed: speed.size).point
    for name in (f"class.{kind}.service_s", "service_s", f"class.{kind}.response_s", "response_s"):
        if name in point.distributions:
            return _scatter(point.distributions[name])
    raise FitError(
        f"the runs of {kind}s at depth 1 keep no distribution of their service times",
        cure="fit from runs of the system `storage`, or of a model with one class of requests",
    )


def _scatter(bins: Counted) -> Scatter:
    middle = (bins.low + bins.high) / 2.0
    counts = bins.counts / bins.counts.sum()
    median = float(middle[np.searchsorted(np.cumsum(counts), 0.5)])
    is_stall = middle > STALL_FACTOR * median
    body, stalls = counts * ~is_stall, counts * is_stall
    mean = float((body * middle).sum() / body.sum())
    variance = float((body * (middle - mean) ** 2).sum() / body.sum())
    share = float(stalls.sum())
    stall_s = float((stalls * middle).sum() / share) - mean if share > 0.0 else median
    return Scatter(deviation_s=variance**0.5, stall_share=share, stall_s=stall_s)
