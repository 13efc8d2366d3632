"""The fit method `storage.device`: a device model from one measured micro sweep.

Typical times are read off distributions (times at depth 1, of lone requests), limits are searched
in the closed loops (`limits`), and wake-ups and stalls come from open points (`waking`,
`observations`). Points to be predicted take no part.

Invariant: the same points give the same device; simulations have fixed seeds.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec
import numpy as np

from headroom.experiment.protocol.fit_method import (
    FittedParameter,
    Found,
    PublishedError,
    Residual,
    SourcePoint,
    Target,
    options_as,
)
from headroom.experiment.protocol.system import Value
from headroom.simulation import simulate
from headroom.systems.storage.fit.device import fitted_device
from headroom.systems.storage.fit.laws import Quantiles
from headroom.systems.storage.fit.limits import SHAPE, Limits, Loops, limits_of
from headroom.systems.storage.fit.network import Floats
from headroom.systems.storage.fit.observations import (
    Closed,
    Lone,
    alone_of,
    closed_points,
    flush_s_of,
    host_s_of,
    lone_points,
)
from headroom.systems.storage.fit.parameters import DEVICE
from headroom.systems.storage.fit.stalls import Stalls, processor_use, stalls_of
from headroom.systems.storage.fit.waking import Waking, lone_median_s, waking_of, weight_of

Kind: TypeAlias = Literal["read", "write"]
_ROUNDS = 2
"""Rounds of the mapping: a third one moves nothing to speak of."""
_COMPLETIONS = 2000
_CLOSED_LOOP = ("depth", "block_bytes", "read_share")
_STALLING = {"stalls_per_s", "busy_stalls_per_s"}
"""Parameters without which nothing ever stalls."""
_BUSY = 0.05
"""Share of stalled time from which the reader is warned."""


class DeviceOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `storage.device`."""

    kinds: Annotated[tuple[Kind, ...], msgspec.Meta(min_length=1, max_length=2)] = ("read", "write")
    """Kinds of requests to fit; the parameters of the other kind keep their values."""
    flush: bool = False
    """Fit the time of a flush too, from points that flush."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Values read off the measurements directly, before the search."""

    closed: Sequence[Closed]
    lone: Sequence[Lone]
    base_bytes: int
    host_s: float
    alone: Mapping[str, Quantiles]
    waking: Mapping[str, Waking]
    idle_weight: float
    is_weight_known: bool
    idle_most_s: float
    stalls: Stalls

    def values(self, limits: Limits) -> dict[str, float | int]:
        """Return the parameters of the device."""
        values: dict[str, float | int] = {
            "base_bytes": self.base_bytes,
            "host_s": self.host_s,
            "units": limits.units,
            "idle_weight": self.idle_weight,
            "idle_most_s": self.idle_most_s,
            "stalls_per_s": self.stalls.per_s,
            "stall_s": self.stalls.mean_s,
            "busy_stalls_per_s": self.stalls.busy_per_s,
            "busy_stall_s": self.stalls.busy_s,
            "busy_use": self.stalls.busy_use,
            "wake_cpu_s": self.stalls.wake_cpu_s,
        }
        for kind, times in self.alone.items():
            waking = self.waking[kind]
            own = dict(zip(SHAPE, limits.shapes[kind], strict=True))
            own |= {"s_p10": times.p10, "s_p50": times.p50, "s_p90": times.p90}
            own |= {
                "wake_s": waking.wake_s * math.sqrt(1.0 + waking.cv**2),
                "wake_exponent": waking.exponent,
                "wake_cv": waking.cv,
            }
            values |= {f"{kind}_{name}": value for name, value in own.items()}
        return values


class _Error(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of `published_errors.toml`."""

    log_error: float
    count: int
    source: str


def published_errors() -> tuple[PublishedError, ...]:
    """Return the errors of this method's predictions, as far as they could be checked.

    Examples
    --------
    >>> [one.metric for one in published_errors()]
    ['throughput', 'response_s_p50', 'response_s_mean']
    """
    text = (files("headroom.systems.storage.fit") / "published_errors.toml").read_text("utf-8")
    tables = msgspec.toml.decode(text, type=dict[str, _Error])
    return tuple(
        PublishedError(
            metric=metric, log_error=error.log_error, count=error.count, source=error.source
        )
        for metric, error in tables.items()
    )


class DeviceFit:
    """Fits `fitted_device` to a micro sweep of the system `storage`."""

    name: ClassVar[str] = "storage.device"
    options_type: ClassVar[type[msgspec.Struct]] = DeviceOptions
    published_errors: ClassVar[tuple[PublishedError, ...]] = published_errors()

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the parameters of the device that the options request."""
        wanted = options_as(DeviceOptions, options)
        return tuple(
            parameter.name
            for parameter in DEVICE
            if (parameter.name != "flush_s" or wanted.flush)
            and _kind_of(parameter.name) in {"", *wanted.kinds}
        )

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the device that answers the sweep best."""
        wanted = options_as(DeviceOptions, options)
        seen = _seen(points, wanted.kinds)
        loops = Loops(
            closed=seen.closed,
            alone=seen.alone,
            base_bytes=seen.base_bytes,
            host_s=seen.host_s,
            ratios=np.ones(len(seen.closed)),
        )
        if target.is_replicate:
            known = _known(target, seen.alone)
            loops = replace(loops, ratios=_ratios(loops, target.config, known))
            limits = limits_of(loops, known)
        else:
            limits = limits_of(loops)
            for _ in range(_ROUNDS):
                loops = replace(loops, ratios=_ratios(loops, seen.values(limits), limits))
                limits = replace(limits_of(loops, limits), bounds=limits.bounds)
        values: dict[str, Value] = dict(seen.values(limits))
        if wanted.flush:
            values["flush_s"] = flush_s_of(points)
        names = self.parameter_names(options)
        if target.is_replicate:
            return Found(parameters=tuple(_parameters(names, values, target, limits)))
        return Found(
            parameters=tuple(_parameters(names, values, target, limits)),
            residuals=tuple(_residuals(seen, seen.values(limits))),
            notes=tuple(_notes(seen, limits)),
        )


def _kind_of(name: str) -> str:
    return next((kind for kind in ("read", "write") if name.startswith(f"{kind}_")), "")


def _seen(points: Sequence[SourcePoint], kinds: Sequence[str]) -> _Seen:
    closed = closed_points(points, kinds)
    base = min(loop.size for loop in closed if loop.population == 1)
    lone = lone_points(points, kinds, base)
    alone = {kind: alone_of(closed, kind, base) for kind in kinds}
    waking = {
        kind: waking_of([lone_point for lone_point in lone if lone_point.kind == kind], alone[kind])
        for kind in kinds
    }
    most_s = max((lone_point.idle_s for lone_point in lone if lone_point.is_regular), default=1e-3)
    weight, is_known = weight_of(lone, alone, waking, most_s)
    host_s = host_s_of(closed)
    return _Seen(
        closed=closed,
        lone=lone,
        base_bytes=base,
        host_s=host_s,
        alone=alone,
        waking=waking,
        idle_weight=weight,
        is_weight_known=is_known,
        idle_most_s=most_s,
        stalls=stalls_of(lone, closed, host_s),
    )


def _known(target: Target, kinds: Mapping[str, Quantiles]) -> Limits:
    """Return the target's earlier results."""
    config = target.config
    shapes = {}
    for kind in kinds:
        per_byte, shared_s, shared_per_byte, batch_s = (
            float(config[f"{kind}_{name}"]) for name in SHAPE
        )
        shapes[kind] = (per_byte, shared_s, shared_per_byte, batch_s)
    return Limits(units=int(config["units"]), shapes=shapes, bounds={}, misfit=0.0)


def _ratios(loops: Loops, values: Mapping[str, Value], limits: Limits) -> Floats:
    """Return the throughput of the simulated device over that of the network, at all points."""
    declared = {parameter.name for parameter in DEVICE} - _STALLING
    calm = {name: value for name, value in values.items() if name in declared}
    simulated = [_simulated(tuple(sorted(calm.items())), _load_of(loop)) for loop in loops.closed]
    # The network of the very values that were simulated, whatever the points say by themselves.
    same = replace(
        loops,
        host_s=float(calm["host_s"]),
        alone={
            kind: Quantiles(*(float(calm[f"{kind}_s_p{percent}"]) for percent in (10, 50, 90)))
            for kind in loops.alone
        },
    )
    return np.array(simulated) / same.network(limits.units, limits.shapes)


def _load_of(loop: Closed) -> tuple[int, int, float]:
    return loop.population, loop.size, 1.0 if loop.kind == "read" else 0.0


@lru_cache(maxsize=4096)
def _simulated(values: tuple[tuple[str, Value], ...], load: tuple[int, int, float]) -> float:
    """Return the simulated throughput (1/s) of a closed loop, without its first quarter."""
    model = fitted_device(**dict(values), **dict(zip(_CLOSED_LOOP, load, strict=True)))
    result = simulate(model, seed=1, completions=_COMPLETIONS + 30 * load[0])
    done = result.classes.columns["completion_count"].sum(axis=1)
    first = int(np.searchsorted(done, 0.25 * done[-1]))
    times_s = result.snapshot_times_s
    return float((done[-1] - done[first]) / (times_s[-1] - times_s[first]))


def _parameters(
    names: Sequence[str], values: Mapping[str, Value], target: Target, limits: Limits
) -> Iterator[FittedParameter]:
    declared = target.parameters
    for name in names:
        low, high = limits.bounds.get(name, (None, None))
        if high is not None and not math.isfinite(high):
            most = declared[name].high
            high = None if most is None else float(most)
        yield FittedParameter(
            name=name,
            value=values[name],
            unit=declared[name].unit,
            low=low,
            high=high,
            note="" if name not in limits.bounds else "not determined by the sweep: a bound",
            is_determined=name not in limits.bounds,
        )


def _residuals(seen: _Seen, values: Mapping[str, Value]) -> Iterator[Residual]:
    fixed = tuple(sorted((name, value) for name, value in values.items() if name not in _STALLING))
    for loop in seen.closed:
        loss = 1.0 - seen.stalls.share_at(processor_use(loop))
        yield _residual(loop.point, "throughput", "1/s", loss * _simulated(fixed, _load_of(loop)))
    for lone in seen.lone:
        median_s = lone_median_s(
            lone,
            seen.alone[lone.kind],
            seen.waking[lone.kind],
            seen.idle_weight,
            seen.idle_most_s,
        )
        if "response_s_p50" in lone.point.observed:
            yield _residual(lone.point, "response_s_p50", "s", median_s)


def _residual(point: SourcePoint, metric: str, unit: str, fitted: float) -> Residual:
    seen = point.observed[metric]
    return Residual(
        experiment=point.experiment,
        levels=dict(point.levels),
        metric=metric,
        unit=unit,
        observed=seen.value,
        low=seen.low,
        high=seen.high,
        fitted=fitted,
    )


def _notes(seen: _Seen, limits: Limits) -> Iterator[str]:
    if limits.bounds:
        words = ", ".join(limits.bounds)
        yield f"not determined by the sweep, and without effect in the model: {words}"
    if not seen.lone:
        yield (
            "no open load of single requests (load = open, law = constant): what waking up takes "
            "is not known, and stalls are those that a closed loop sees"
        )
    for kind, waking in seen.waking.items():
        if seen.lone and waking.wake_s > 0.0 and not waking.is_exponent_known:
            yield f"{kind}s came alone after one idle time: how waking up grows is assumed"
    if seen.lone and not seen.is_weight_known:
        yield (
            "no open load at random (law = poisson): that the last idle time alone counts for "
            "waking up is assumed"
        )
    if seen.stalls.share > _BUSY:
        yield (
            f"all threads stalled for {seen.stalls.share:.0%} of the time: the machine did other "
            "work, and predictions hold only while it does"
        )
    if seen.stalls.busy_per_s > 0.0:
        lost = seen.stalls.share_at(1.0) - seen.stalls.share
        yield (
            f"threads that compute all the time lose another {lost:.0%} of it: other programs "
            "use the processors"
        )
    for kind in seen.alone:
        deep = {loop.size for loop in seen.closed if loop.kind == kind and loop.population > 1}
        if len(deep) < 2:  # noqa: PLR2004 - one size gives no time per byte
            yield (
                f"{kind}s deeper than 1 have one size only: whether bytes take the time of a unit "
                "or of what all share is not known"
            )
