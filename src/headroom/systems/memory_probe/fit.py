"""The fit method `memory.machine`: caches and TLBs from chases over many sizes.

The curve with huge pages, which hardly miss TLBs, gives the caches. The extra time of small pages
gives the TLBs and the walks behind them. Chases at once, at the largest size, give the loads in
parallel.

Invariant: intervals of capacities are the measured sizes around the step: finer sizes narrow them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import msgspec

from headroom.experiment.protocol.fit_method import (
    FitError,
    FittedParameter,
    Found,
    Residual,
    SourcePoint,
    Target,
    options_as,
)
from headroom.experiment.protocol.system import Value
from headroom.systems.memory_probe.levels import Curve, fit_curve, heights_at
from headroom.systems.memory_probe.model import CACHES, LINE_BYTES, TLBS, latency_s

FEWEST_SIZES = 8
_ALL = 0.9
"""Share of the chains that are in flight at once from which more may fit."""
_JOINED = 0.9
"""Share of the memory in huge pages from which a curve counts as one with huge pages."""


class MachineOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `memory.machine`."""

    sizes: Annotated[int, msgspec.Meta(ge=4)] = FEWEST_SIZES
    """Sizes that the curve needs at least."""


class MachineFit:
    """Caches, TLBs and loads in parallel of a probed machine."""

    name: ClassVar[str] = "memory.machine"
    options_type: ClassVar[type[msgspec.Struct]] = MachineOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:  # noqa: ARG002
        """Return all parameters of the machine."""
        steps = [name for pair in (*CACHES, *TLBS) for name in pair]
        return ("first_s", *steps, "parallel")

    def fit(self, points: Sequence[SourcePoint], target: Target, options: msgspec.Struct) -> Found:
        """Return the machine.

        Raises
        ------
        FitError
            Too few sizes, or more levels than the model has.
        """
        wanted = options_as(MachineOptions, options)
        small, joined = curve_points(points, huge=False), curve_points(points, huge=True)
        base = joined if len(joined) >= wanted.sizes else small
        if len(base) < wanted.sizes:
            raise FitError(
                f"{len(base)} sizes of a chase do not show the caches; {wanted.sizes} are needed",
                cure="measure one chain with stride_bytes = 64 over more sizes, from 4 KiB to four "
                "times the largest cache",
            )
        if target.is_replicate:
            return Found(parameters=tuple(_again(points, target, base)))
        caches = fit_curve(list(base), list(base.values()))
        tlbs = tlb_curve(small, joined) if base is joined else None
        parameters = [_plain("first_s", caches.first)]
        parameters += _steps(caches, CACHES, "no such cache was found")
        parameters += _steps(tlbs, TLBS, "no such TLB was found")
        parameters.append(_parallel(points, base))
        notes = () if tlbs else (_NO_HUGE_PAGES,)
        return Found(
            parameters=tuple(parameters),
            residuals=tuple(_residuals(points, {one.name: one.value for one in parameters})),
            notes=notes,
        )


_NO_HUGE_PAGES = (
    "The machine gave no huge pages to compare with, so the steps of TLBs count as those of caches."
)


def curve_points(points: Sequence[SourcePoint], *, huge: bool) -> dict[float, float]:
    """Return size (B) to latency (s) of one chain, line by line, ascending."""
    found = {}
    for point in points:
        config = point.config
        is_plain = config.get("kind", "chase") == "chase" and config["chains"] == 1
        share = point.observed.get("huge_share")
        is_joined = share is not None and share.value >= _JOINED
        is_dense = config["stride_bytes"] == LINE_BYTES and "load_s" in point.observed
        is_wanted = is_joined == huge and (huge or config["pages"] == "small")
        if is_plain and is_dense and is_wanted:
            found[float(config["bytes"])] = point.observed["load_s"].value
    return dict(sorted(found.items()))


def tlb_curve(small: Mapping[float, float], joined: Mapping[float, float]) -> Curve | None:
    """Return the steps of what small pages take longer; None with too few common sizes."""
    common = [size for size in small if size in joined]
    if len(common) < FEWEST_SIZES:
        return None
    first = min(small.values())
    extra = [first + max(small[size] - joined[size], 0.0) for size in common]
    return fit_curve(common, extra, scale=[small[size] for size in common])


def _plain(name: str, value: float, unit: str = "s") -> FittedParameter:
    return FittedParameter(name=name, value=value, unit=unit)


def _steps(
    curve: Curve | None, names: Sequence[tuple[str, str]], none: str
) -> list[FittedParameter]:
    steps = curve.steps if curve else ()
    if len(steps) > len(names):
        raise FitError(
            f"the curve has {len(steps)} steps, more than the model's {len(names)}",
            cure="measure again on a quieter machine, with more replications",
        )
    found = []
    for (size, height), step in zip(names, steps, strict=False):
        is_open = step.high == float("inf")
        found.append(
            FittedParameter(
                name=size, value=step.bytes, unit="B", low=step.low, high=step.high,
                is_determined=not is_open,
                note="behind the largest size" if is_open else "between two measured sizes",
            )
        )  # fmt: skip
        found.append(_plain(height, step.height))
    for size, height in names[len(steps) :]:
        note = none if curve else "unknown without huge pages"
        for name, unit in ((size, "B"), (height, "s")):
            found.append(
                FittedParameter(
                    name=name, value=0.0, unit=unit, low=0.0, high=0.0, note=note,
                    is_determined=curve is not None,
                )
            )  # fmt: skip
    return found


def _parallel(points: Sequence[SourcePoint], base: Mapping[float, float]) -> FittedParameter:
    """Return how many loads are in flight at once, of the chains at the largest size."""
    chained: dict[float, dict[int, float]] = {}
    for point in points:
        chains = int(point.config["chains"])
        size = float(point.config["bytes"])
        if chains > 1 and "access_s" in point.observed and size in base:
            chained.setdefault(size, {})[chains] = point.observed["access_s"].value
    if not chained:
        return FittedParameter(
            name="parallel", value=1.0, unit="1", low=1.0, high=None, is_determined=False,
            note="unknown: no point has more than one chain",
        )  # fmt: skip
    size = max(chained)
    ratio = base[size] / min(chained[size].values())
    most = max(chained[size])
    is_open = ratio > _ALL * most
    return FittedParameter(
        name="parallel", value=max(ratio, 1.0), unit="1",
        is_determined=not is_open, note=f"more may fit: {most} chains did" if is_open else "",
    )  # fmt: skip


def _again(
    points: Sequence[SourcePoint], target: Target, base: Mapping[float, float]
) -> list[FittedParameter]:
    """Return the heights without some replications: the capacities stay."""
    ends = {name: float(target.config[name]) for name, _ in CACHES if target.config[name]}
    first, heights = heights_at(list(base), list(base.values()), list(ends.values()))
    found = {name: float(target.config[name]) for pair in (*CACHES, *TLBS) for name in pair}
    found |= {step: height for (_, step), height in zip(CACHES, heights, strict=False)}
    small, joined = curve_points(points, huge=False), curve_points(points, huge=True)
    reach = [float(target.config[name]) for name, _ in TLBS if target.config[name]]
    if reach:
        common = [size for size in small if size in joined]
        extra = [max(small[size] - joined[size], 0.0) + first for size in common]
        _, walks = heights_at(common, extra, reach)
        found |= {step: height for (_, step), height in zip(TLBS, walks, strict=False)}
    parameters = [_plain("first_s", first)]
    parameters += [_plain(name, value, "B" if name.endswith("_bytes") else "s")
                   for name, value in found.items()]  # fmt: skip
    return [*parameters, _parallel(points, base)]


def _residuals(points: Sequence[SourcePoint], values: Mapping[str, Value]) -> "list[Residual]":
    found = []
    for point in points:
        known = point.observed.get("load_s")
        if known is None or point.config["chains"] != 1:
            continue
        found.append(
            Residual(
                experiment=point.experiment, levels=dict(point.levels), metric="load_s", unit="s",
                observed=known.value, low=known.low, high=known.high,
                fitted=latency_s({**point.config, **values}),
            )
        )  # fmt: skip
    return found
