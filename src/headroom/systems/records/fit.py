"""The fit method `records.machine`: this machine, from a probe of its memory and from timed cells.

The method `memory.machine` finds caches, TLBs and their latencies in the points of a memory probe.
With those, a simulation counts what each timed cell meets; its time is then linear in what is left
to find: the costs of work, and the inverse of each overlap. They minimise the logarithms of
predicted over measured times within their bounds (Branch, Coleman, Li, SIAM Journal on Scientific
Computing 21, 1999), so that half and double weigh the same; large ones weigh less than by squares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from scipy.optimize import least_squares, lsq_linear

from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    Observed,
    Residual,
    SourcePoint,
    Target,
    find_method,
    options_as,
)
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Value
from headroom.systems.records.machine_file import CACHES, FIELDS, OVERLAPS, TLBS, WORK
from headroom.systems.records.model import (
    WORK_COUNTS,
    RecordsModel,
    overlap,
    time_of,
    waits,
)

_PROBE = "memory.machine"
_MOST_OVERLAP = 64.0
_USUAL_ERROR = 0.2
"""Errors (of a logarithm) beyond which a cell weighs less than by squares."""
_PULL = 0.02
"""Pull of costs towards zero, in the largest share of a cell's time that each has."""
_LEAST_RATIO, _INSIDE = 1e-12, 1e-12
_SEED = 1
"""Places of the nodes of simulated cells: a fit is a function of its points."""


class MachineOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `records.machine`."""

    cells: Annotated[int, msgspec.Meta(ge=8)] = 12
    """Timed cells that the costs need at least."""


class RecordsMachine:
    """Caches and TLBs of a probe, costs of work and overlaps of timed cells."""

    name: ClassVar[str] = "records.machine"
    options_type: ClassVar[type[msgspec.Struct]] = MachineOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:  # noqa: ARG002
        """Return all parameters that are fitted."""
        steps = [f"cache{number}_{what}" for number in CACHES for what in ("bytes", "step_s")]
        reach = [f"tlb{number}_{what}" for number in TLBS for what in ("bytes", "step_s")]
        return ("parallel", *steps, *reach, *WORK, *OVERLAPS)

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the machine.

        Raises
        ------
        FitError
            The probe does not show the caches, or there are too few cells.
        """
        wanted = options_as(MachineOptions, options)
        cells = [point for point in points if "records" in point.config]
        if len(cells) < wanted.cells or not isinstance(target.system, RecordsModel):
            raise FitError(
                f"{len(cells)} timed cells do not show the costs of work, "
                f"{wanted.cells} are needed",
                cure="name an experiment of the system records in `from`, and let the system of "
                "this one be records_model",
            )
        probed = [point for point in points if "records" not in point.config]
        memory = machine_of_probe(probed, target)
        values = {one.name: one.value for one in memory}
        config = {**target.config, **values}
        costs = _costs(cells, target.system, config)
        parameters = (*memory, *costs)
        fitted = {**config, **{one.name: one.value for one in costs}}
        residuals = tuple(_residual(point, target.system, fitted) for point in cells)
        return Found(parameters=tuple(parameters), residuals=residuals, notes=(_NOTE,))


_NOTE = (
    "The ways of caches are those of the machine file; what the processor fetches ahead by itself "
    "is in the overlaps."
)


def machine_of_probe(points: Sequence[SourcePoint], target: Target) -> list[FittedParameter]:
    """Return the machine of a probe; a level more than the model has joins the last one."""
    method = find_method(_PROBE)
    options = method.options_type()
    config = {**dict.fromkeys(method.parameter_names(options), 0.0), **target.config}
    found = method.fit(points, replace(target, config=config), options)
    parameters = {one.name: one for one in found.parameters}
    kept = [parameters["parallel"]]
    for kind, numbers in (("cache", CACHES), ("tlb", TLBS)):
        for number in numbers[:-1]:
            kept += [parameters[f"{kind}{number}_bytes"], parameters[f"{kind}{number}_step_s"]]
        kept += _last(parameters, kind, numbers[-1])
    return [_settled(one, target) for one in kept]


def _settled(one: FittedParameter, target: Target) -> FittedParameter:
    """Return a capacity as it was fitted to all replications, if some are left out.

    The cells then count the same, and need not be simulated again.
    """
    if target.is_replicate and one.name.endswith("_bytes") and one.name in target.config:
        return replace(one, value=float(target.config[one.name]))
    return one


def _last(
    parameters: Mapping[str, FittedParameter], kind: str, number: int
) -> list[FittedParameter]:
    """Return the last level of the model: its step is that of all levels from there on."""
    steps = [one for one in (number, number + 1) if f"{kind}{one}_step_s" in parameters]
    total = sum(float(parameters[f"{kind}{one}_step_s"].value) for one in steps)
    tallest = max(steps, key=lambda one: float(parameters[f"{kind}{one}_step_s"].value))
    return [
        replace(parameters[f"{kind}{tallest}_bytes"], name=f"{kind}{number}_bytes"),
        replace(parameters[f"{kind}{number}_step_s"], value=total),
    ]


def _costs(
    cells: Sequence[SourcePoint], model: RecordsModel, config: Mapping[str, Value]
) -> list[FittedParameter]:
    """Return costs and overlaps of timed cells."""
    rows = []
    for point in cells:
        asked = {**config, **_query_of(point, model)}
        found = model.counts(asked, _SEED)
        rows.append(cost_row(asked, found, _observed(point).value * float(found["visits"])))
    return fitted_costs(np.array(rows))


def fitted_costs(rows: FloatArray) -> list[FittedParameter]:
    """Return costs and overlaps: the time of a cell is linear in them and in their inverses.

    Parameters
    ----------
    rows
        `cost_row` of each cell.
    """
    is_met = [bool(column.max() > 0.0) for column in rows[:, len(WORK) :].T]
    low = np.array([0.0] * len(WORK) + [1.0 / _MOST_OVERLAP] * len(OVERLAPS))
    high = np.array([np.inf] * len(WORK) + [1.0] * len(OVERLAPS))
    found = _least_logarithms(rows, low, high)
    costs = [
        FittedParameter(name=name, value=float(value), unit="s")
        for name, value in zip(WORK, found, strict=False)
    ]
    overlaps = [
        FittedParameter(
            name=name, value=1.0 / float(value), unit="1", is_determined=met,
            note="" if met else "unknown: no timed cell has such misses",
        )
        for name, value, met in zip(OVERLAPS, found[len(WORK) :], is_met, strict=True)
    ]  # fmt: skip
    return [*costs, *overlaps]


def _least_logarithms(rows: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the costs that bring the product of each row nearest to 1, as a ratio."""
    largest = rows.max(axis=0)
    scale = np.where(largest > 0.0, largest, 1.0)
    scaled, (low, high) = rows / scale, (low * scale, high * scale)
    start = lsq_linear(scaled, np.ones(len(rows)), bounds=(low, high)).x

    def times(found: FloatArray) -> FloatArray:
        return np.maximum(scaled @ found, _LEAST_RATIO)

    # Costs that no cell can distinguish share a time: without a pull, chance would divide it.
    pull = _PULL * np.eye(start.size)
    found = least_squares(
        lambda found: np.concatenate([np.log(times(found)), pull @ found]),
        np.clip(start, low + _INSIDE, high - _INSIDE),
        jac=lambda found: np.vstack([scaled / times(found)[:, np.newaxis], pull]),
        bounds=(low, high),
        loss="soft_l1",
        f_scale=_USUAL_ERROR,
        x_scale="jac",
    ).x
    return np.asarray(found / scale, dtype=np.float64)


def cost_row(config: Mapping[str, Value], found: Mapping[str, Any], run_s: float) -> list[float]:
    """Return how the relative time of a run changes with each cost and inverse overlap.

    Parameters
    ----------
    config
        Table, query and machine.
    found
        What a simulated run of it counts.
    run_s
        Measured time (s) of the run.
    """
    work = [float(found[name]) for name in WORK_COUNTS]
    waiting = dict.fromkeys(OVERLAPS, 0.0)
    for wait in waits(config, found):
        others = overlap({**config, wait.overlap: 1.0}, wait.overlap)
        waiting[wait.overlap] += wait.alone_s / others
    return [part / run_s for part in (*work, *waiting.values())]


def _query_of(point: SourcePoint, model: RecordsModel) -> dict[str, Value]:
    """Return table and query of a timed cell, which both columns know by the same names."""
    known = {one.name for one in model.parameters()} - set(FIELDS)
    return {name: value for name, value in point.config.items() if name in known}


def _observed(point: SourcePoint) -> Observed:
    return point.observed["record_s"]


def _residual(point: SourcePoint, model: RecordsModel, config: Mapping[str, Value]) -> Residual:
    asked = {**config, **_query_of(point, model)}
    found = model.counts(asked, _SEED)
    known = _observed(point)
    return Residual(
        experiment=point.experiment, levels=dict(point.levels), metric="record_s", unit="s",
        observed=known.value, low=known.low, high=known.high,
        fitted=time_of(asked, found).total / float(found["visits"]),
    )  # fmt: skip
