"""The fit method `storage.device`: a device model from one measured micro sweep.

Throughput at depths and sizes is fitted by least squares of logarithms. The closed network with
exponential times answers at once; how far the simulated device, with its true laws, is from that
network is found at every point by simulation and taken into account in the next round (output
space mapping), so that the device that is simulated is the one that fits.

Invariant: the same points give the same device; simulations have fixed seeds.

Sources: Bandler and others, *Space Mapping: the State of the Art*, IEEE Transactions on Microwave
Theory and Techniques 52 (2004), for the output mapping; Huber's loss against single bad points.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec
import numpy as np

from headroom.experiment.fit_method import (
    FittedParameter,
    Found,
    Residual,
    SourcePoint,
    Target,
)
from headroom.simulation import simulate
from headroom.systems.storage.fit.device import fitted_device
from headroom.systems.storage.fit.network import Floats, closed_throughput
from headroom.systems.storage.fit.observations import (
    Scatter,
    Speed,
    flush_s_of,
    host_s_of,
    scatter_of,
    speeds_of,
)
from headroom.systems.storage.fit.parameters import DEVICE

Kind: TypeAlias = Literal["read", "write"]
_SHAPE = ("unit_s", "unit_s_per_byte", "shared_s", "shared_s_per_byte")
_LOWEST = (1e-7, 1e-14, 1e-8, 1e-14)
_HIGHEST = (10.0, 1e-3, 1.0, 1e-3)
"""Ends of the search, in s and s/B."""
_UNITS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of units that are tried first; then those between the neighbours of the best."""
_BETWEEN = {2: (3,), 4: (3, 5, 6), 8: (6, 10, 12), 16: (12, 20, 24), 32: (24, 48), 64: (48, 96)}
_EVALUATIONS = 25
_ROUNDS = 2
"""Rounds of the mapping: the second one moves little."""
_COMPLETIONS = 6000
_BAD = 0.1
"""Errors of more than this (in logarithms) count linearly, not squared."""
_PULL = 0.003
"""Weak pull towards the start, where the sweep says nothing of a parameter."""


class DeviceOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `storage.device`."""

    kinds: Annotated[tuple[Kind, ...], msgspec.Meta(min_length=1, max_length=2)] = ("read", "write")
    """Kinds of requests to fit; the parameters of the other kind keep their values."""
    flush: bool = False
    """Fit the time of a flush too, from points that flush."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is read off the measurements directly, before the search."""

    host_s: float
    scatters: Mapping[str, Scatter]

    @property
    def stall_share(self) -> float:
        return float(np.mean([one.stall_share for one in self.scatters.values()]))

    @property
    def stall_s(self) -> float:
        weights = [one.stall_share for one in self.scatters.values()]
        times = [one.stall_s for one in self.scatters.values()]
        mean = np.average(times, weights=weights) if sum(weights) > 0.0 else np.mean(times)
        return max(float(mean), 1e-9)


_Shapes: TypeAlias = dict[str, tuple[float, float, float, float]]
"""For each kind: times at a unit and at the shared part, of a request and of its byte."""


class DeviceFit:
    """Fits `fitted_device` to a micro sweep of the system `storage`."""

    name: ClassVar[str] = "storage.device"
    options_type: ClassVar[type[msgspec.Struct]] = DeviceOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:
        """Return the parameters of the device that the options ask for."""
        wanted = _typed(options)
        return tuple(
            one.name
            for one in DEVICE
            if (one.name != "flush_s" or wanted.flush) and _kind_of(one.name) in {"", *wanted.kinds}
        )

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the device that answers the sweep best."""
        wanted = _typed(options)
        speeds = speeds_of(points, wanted.kinds)
        known = _Known(
            host_s=host_s_of(speeds),
            scatters={kind: scatter_of(speeds, kind) for kind in wanted.kinds},
        )
        units, shapes = _searched(speeds, known, np.ones(len(speeds)), _candidates(target))
        simulated = np.array([speed.throughput for speed in speeds])
        if not target.is_replicate:
            for _ in range(_ROUNDS):
                values = _values(known, units, shapes)
                simulated = np.array([_simulated(speed, values) for speed in speeds])
                ratios = simulated / _network(speeds, known, units, shapes)
                units, shapes = _searched(speeds, known, ratios, (units,))
            values = _values(known, units, shapes)
            simulated = np.array([_simulated(speed, values) for speed in speeds])
        values = _values(known, units, shapes)
        if wanted.flush:
            values["flush_s"] = flush_s_of(points)
        declared = target.parameters
        return Found(
            parameters=tuple(
                FittedParameter(name=name, value=values[name], unit=declared[name].unit)
                for name in self.parameter_names(options)
            ),
            residuals=tuple(_residuals(speeds, simulated)),
            notes=tuple(_notes(speeds, known, simulated)),
        )


def _typed(options: msgspec.Struct) -> DeviceOptions:
    if not isinstance(options, DeviceOptions):
        raise TypeError(f"DeviceOptions are needed, not {type(options).__name__}")
    return options


def _kind_of(name: str) -> str:
    return next((kind for kind in ("read", "write") if name.startswith(f"{kind}_")), "")


def _candidates(target: Target) -> tuple[int, ...]:
    return (int(target.config["units"]),) if target.is_replicate else _UNITS


def _searched(
    speeds: Sequence[Speed], known: _Known, ratios: Floats, candidates: Sequence[int]
) -> tuple[int, _Shapes]:
    """Return the number of units and the times that answer best; `ratios` correct the network."""
    found = _tried(speeds, known, ratios, candidates)
    best = min(found, key=lambda one: (one[0], one[1]))[1]
    if len(candidates) > 1:
        found += _tried(speeds, known, ratios, _BETWEEN.get(best, ()))
    _, units, shapes = min(found, key=lambda one: (one[0], one[1]))
    return units, shapes


def _tried(
    speeds: Sequence[Speed], known: _Known, ratios: Floats, candidates: Sequence[int]
) -> list[tuple[float, int, _Shapes]]:
    """Return cost, number and times for each number of units."""
    found: list[tuple[float, int, _Shapes]] = []
    for units in candidates:
        cost, shapes = 0.0, {}
        for kind in known.scatters:
            places = [place for place, speed in enumerate(speeds) if speed.kind == kind]
            own = [speeds[place] for place in places]
            one, shape = _searched_kind(own, known, units, ratios[places])
            cost += one
            shapes[kind] = shape
        found.append((cost, units, shapes))
    return found


def _searched_kind(
    speeds: Sequence[Speed], known: _Known, units: int, ratios: Floats
) -> tuple[float, tuple[float, float, float, float]]:
    from scipy import optimize  # noqa: PLC0415 - slow to import, few commands need it

    observed = np.log([speed.throughput for speed in speeds]) - np.log(ratios)
    start = np.log(_first_guess(speeds, known))
    lowest, highest = np.log(_LOWEST), np.log(_HIGHEST)
    start = np.clip(start, lowest + 1e-6, highest - 1e-6)

    def errors(place: Floats) -> Floats:
        shape = tuple(np.exp(place))
        found = [_throughput(speed, known, units, shape) for speed in speeds]
        return np.concatenate([np.log(found) - observed, _PULL * (place - start)])

    found = optimize.least_squares(
        errors,
        start,
        bounds=(lowest, highest),
        loss="huber",
        f_scale=_BAD,
        diff_step=1e-4,
        ftol=1e-6,
        xtol=1e-6,
        max_nfev=_EVALUATIONS,
    )
    first, per_byte, shared, shared_per_byte = (float(x) for x in np.exp(found.x))
    return float(found.cost), (first, per_byte, shared, shared_per_byte)


def _first_guess(speeds: Sequence[Speed], known: _Known) -> tuple[float, float, float, float]:
    """Return times that the ends of the sweep suggest: depth 1, and the largest throughputs."""
    alone = sorted((s.size, 1.0 / s.throughput) for s in speeds if s.population == 1)
    (small, first_s), (large, last_s) = alone[0], alone[-1]
    per_byte = max(last_s - first_s, 1e-9) / max(large - small, 1)
    most_per_s = max(speed.throughput for speed in speeds)
    most_bytes_per_s = max(speed.throughput * speed.size for speed in speeds)
    unit_s = max(first_s - known.host_s - per_byte * small, 0.1 * first_s)
    return unit_s, per_byte, 0.3 / most_per_s, 0.5 / most_bytes_per_s


def _throughput(speed: Speed, known: _Known, units: int, shape: Sequence[float]) -> float:
    unit_s, per_byte, shared_s, shared_per_byte = shape
    stalls_s = known.stall_share * known.stall_s
    return closed_throughput(
        [
            (known.host_s, 1),
            (unit_s + speed.size * per_byte + stalls_s, units),
            (shared_s + speed.size * shared_per_byte, 1),
        ],
        speed.population,
    )


def _network(speeds: Sequence[Speed], known: _Known, units: int, shapes: _Shapes) -> Floats:
    return np.array([_throughput(speed, known, units, shapes[speed.kind]) for speed in speeds])


def _values(known: _Known, units: int, shapes: _Shapes) -> dict[str, float | int]:
    """Return the parameters of the device."""
    values: dict[str, float | int] = {
        "host_s": known.host_s,
        "units": units,
        "stall_share": known.stall_share,
        "stall_s": known.stall_s,
    }
    for kind, shape in shapes.items():
        values |= {f"{kind}_{name}": value for name, value in zip(_SHAPE, shape, strict=True)}
        unit_s = shape[0] + shape[1] * 4096
        values[f"{kind}_cv"] = min(known.scatters[kind].deviation_s / unit_s, 20.0)
    return values


def _simulated(speed: Speed, values: Mapping[str, float | int]) -> float:
    """Return the simulated throughput (1/s) of a point, without its first quarter."""
    model = fitted_device(
        **values,
        block_bytes=speed.size,
        read_share=1.0 if speed.kind == "read" else 0.0,
        depth=speed.population,
    )
    result = simulate(model, seed=1, completions=_COMPLETIONS + 40 * speed.population)
    done = result.classes.columns["completion_count"].sum(axis=1)
    first = int(np.searchsorted(done, 0.25 * done[-1]))
    times_s = result.snapshot_times_s
    return float((done[-1] - done[first]) / (times_s[-1] - times_s[first]))


def _residuals(speeds: Sequence[Speed], simulated: Floats) -> Iterator[Residual]:
    for speed, fitted in zip(speeds, simulated, strict=True):
        seen = speed.point.observed["throughput"]
        yield Residual(
            experiment=speed.point.experiment,
            levels=dict(speed.point.levels),
            metric="throughput",
            unit="1/s",
            observed=seen.value,
            low=seen.low,
            high=seen.high,
            fitted=float(fitted),
        )


def _notes(speeds: Sequence[Speed], known: _Known, simulated: Floats) -> Iterator[str]:
    errors = np.abs(np.log(simulated / [speed.throughput for speed in speeds]))
    yield (
        f"{len(speeds)} points of a micro sweep; the simulated device is within "
        f"{100 * math.expm1(float(np.median(errors))):.2g} % at half of them"
    )
    for kind in known.scatters:
        deep = {s.size for s in speeds if s.kind == kind and s.population > 1}
        if len(deep) < 2:  # noqa: PLR2004 - one size tells nothing of bytes
            yield (
                f"{kind}s deeper than 1 have one size only: whether bytes take the time of a unit "
                "or of what all share is not known"
            )
