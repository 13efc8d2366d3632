"""The fit method `memory.machine`: caches and TLBs from chases over many sizes.

Chases from line to line give the caches. Chases with one line in each page (a stride above 4 KiB)
touch few lines and many pages: what they take longer than the same number of lines side by side is
due to TLBs, and is taken off the latency from line to line, which has it too. That holds on virtual
machines as well, where huge pages often extend no TLB. Several chases at once give the loads in
parallel.

Invariant: intervals of capacities are the measured sizes around the step: finer sizes narrow them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from headroom.systems.memory_probe.model import (
    CACHES,
    LINE_BYTES,
    PAGE_BYTES,
    TLBS,
    Chase,
    latency_s,
)

FEWEST_SIZES = 8
_ALL = 0.9
"""Share of the chains that are in flight at once from which more may fit."""
_TURNS = 3
"""Times that caches and TLBs are told apart, each from what the other leaves."""
_LEAST_REST = 0.4
"""Share of a latency that TLBs never explain."""


class MachineOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[experiment.fit.options]` of the method `memory.machine`."""

    sizes: Annotated[int, msgspec.Meta(ge=4)] = FEWEST_SIZES
    """Sizes that the curve needs at least."""


class MachineFit:
    """Caches, TLBs and loads in parallel of a probed machine."""

    name: ClassVar[str] = "memory.machine"
    options_type: ClassVar[type[msgspec.Struct]] = MachineOptions

    def parameter_names(self, options: msgspec.Struct) -> tuple[str, ...]:  # noqa: ARG002
        """Return the first latency, two for each cache and each TLB, and the parallel accesses."""
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
        base = line_points(points)
        if len(base) < wanted.sizes:
            raise FitError(
                f"{len(base)} sizes of a chase do not show the caches; {wanted.sizes} are needed",
                cure="measure one chain with stride_bytes = 64 over more sizes, from 4 KiB to four "
                "times the largest cache",
            )
        if target.is_replicate:
            return Found(parameters=tuple(_again(points, target, base)))
        caches, tlbs = machine_curves(base, page_points(points))
        parameters = [_plain("first_s", caches.first)]
        parameters += _steps(caches, CACHES, "no such cache was found")
        parameters += _steps(tlbs, TLBS, "no such TLB was found")
        parameters.append(_parallel(points))
        notes = () if tlbs else (_NO_PAGES,)
        return Found(
            parameters=tuple(parameters),
            residuals=tuple(_residuals(points, {one.name: one.value for one in parameters})),
            notes=notes,
        )


_NO_PAGES = (
    "No chase has one line in each page (stride_bytes = 4160), so the steps of TLBs count as those "
    "of caches."
)


def line_points(points: Sequence[SourcePoint]) -> dict[float, float]:
    """Return size (B) to latency (s) from line to line in small pages, ascending."""
    found = {
        float(chase.bytes): point.observed["load_s"].value
        for chase, point in _alone(points)
        if chase.stride_bytes == LINE_BYTES and chase.pages == "small"
    }
    return dict(sorted(found.items()))


def page_points(points: Sequence[SourcePoint]) -> dict[float, float]:
    """Return number of small pages to latency (s) with one line in each, ascending."""
    found = {}
    for chase, point in _alone(points):
        if chase.stride_bytes > PAGE_BYTES and chase.pages == "small":
            pages = float(chase.bytes // chase.stride_bytes)
            found[pages] = point.observed["load_s"].value
    return dict(sorted(found.items()))


def _alone(points: Sequence[SourcePoint]) -> list[tuple[Chase, SourcePoint]]:
    """Return the chases with one chain."""
    return [
        (chase, point)
        for point in points
        if point.config.get("kind", "chase") == "chase"
        and (chase := Chase.of(point.config)).chains == 1
        and "load_s" in point.observed
    ]


def machine_curves(
    lines: Mapping[float, float], pages: Mapping[float, float]
) -> tuple[Curve, Curve | None]:
    """Return the steps of caches and of TLBs, the latter by the memory that they cover.

    Parameters
    ----------
    lines
        Size (B) to latency (s) from line to line.
    pages
        Number of pages to latency (s) with one line in each; with too few there are no TLBs.
    """
    caches = fit_curve(list(lines), list(lines.values()))
    if len(pages) < FEWEST_SIZES:
        return caches, None
    for _ in range(_TURNS):
        reach, extra = _extra(pages, caches.at, caches.first)
        tlbs = fit_curve(reach, extra, scale=list(pages.values()))
        ends, heights = [one.bytes for one in tlbs.steps], [one.height for one in tlbs.steps]
        rest = _without(lines, _sum_of(ends, heights))
        caches = fit_curve(list(rest), list(rest.values()))
    return caches, tlbs


def _without(lines: Mapping[float, float], walks_s: Callable[[float], float]) -> dict[float, float]:
    """Return latencies (s) from line to line without the share of TLBs, which is never all."""
    return {size: max(value - walks_s(size), _LEAST_REST * value) for size, value in lines.items()}


def _extra(
    pages: Mapping[float, float], lines_s: Callable[[float], float], first: float
) -> tuple[list[float], list[float]]:
    """Return memory (B) of pages, and their time beyond that of the lines alone, plus `first`."""
    extra = [
        max(value - lines_s(LINE_BYTES * count), 0.0) + first for count, value in pages.items()
    ]
    return [PAGE_BYTES * count for count in pages], extra


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
        note = none if curve else "unknown: no chase has one line in each page"
        for name, unit in ((size, "B"), (height, "s")):
            found.append(
                FittedParameter(
                    name=name, value=0.0, unit=unit, low=0.0, high=0.0, note=note,
                    is_determined=curve is not None,
                )
            )  # fmt: skip
    return found


def _parallel(points: Sequence[SourcePoint]) -> FittedParameter:
    """Return how many loads are in flight at once, of the chases at the largest size."""
    alone = {_place(point): point.observed["load_s"].value for _, point in _alone(points)}
    chained: dict[tuple[float, str], dict[int, float]] = {}
    for point in points:
        chains = Chase.of(point.config).chains
        if chains > 1 and "access_s" in point.observed and _place(point) in alone:
            chained.setdefault(_place(point), {})[chains] = point.observed["access_s"].value
    if not chained:
        return FittedParameter(
            name="parallel", value=1.0, unit="1", low=1.0, high=None, is_determined=False,
            note="unknown: no point has more than one chain",
        )  # fmt: skip
    place = max(chained)
    ratio = alone[place] / min(chained[place].values())
    most = max(chained[place])
    is_open = ratio > _ALL * most
    return FittedParameter(
        name="parallel", value=max(ratio, 1.0), unit="1",
        is_determined=not is_open, note=f"more may fit: {most} chains did" if is_open else "",
    )  # fmt: skip


def _place(point: SourcePoint) -> tuple[float, str]:
    chase = Chase.of(point.config)
    return float(chase.bytes), chase.pages


def _again(
    points: Sequence[SourcePoint], target: Target, base: Mapping[float, float]
) -> list[FittedParameter]:
    """Return the heights without some replications: the capacities stay."""
    ends = {name: float(target.config[name]) for name, _ in CACHES if target.config[name]}
    found = {name: float(target.config[name]) for pair in (*CACHES, *TLBS) for name in pair}
    pages = page_points(points)
    reach = [float(target.config[name]) for name, _ in TLBS if target.config[name]]
    walks = [found[step] for name, step in TLBS if target.config[name]]
    first, heights = _heights(base, reach, walks, ends)
    # From the whole fit on: caches and TLBs that take turns from nothing need many of them.
    for _ in range(_TURNS if reach else 0):
        whole = _sum_of([0.0, *ends.values()], [first, *heights])
        _, walks = heights_at(*_extra(pages, whole, first), reach)
        first, heights = _heights(base, reach, walks, ends)
    for steps, values in ((CACHES, heights), (TLBS, walks)):
        found |= {step: height for (_, step), height in zip(steps, values, strict=False)}
    parameters = [_plain("first_s", first)]
    parameters += [_plain(name, value, "B" if name.endswith("_bytes") else "s")
                   for name, value in found.items()]  # fmt: skip
    return [*parameters, _parallel(points)]


def _heights(
    base: Mapping[float, float],
    reach: Sequence[float],
    walks: Sequence[float],
    ends: Mapping[str, float],
) -> tuple[float, list[float]]:
    """Return the latency of the nearest cache and the heights of the steps, less those of TLBs."""
    rest = _without(base, _sum_of(reach, walks))
    first, heights = heights_at(list(rest), list(rest.values()), list(ends.values()))
    return first, list(heights)


def _sum_of(ends: Iterable[float], heights: Iterable[float]) -> Callable[[float], float]:
    """Return what steps add to the latency (s) by size (B)."""
    steps = list(zip(ends, heights, strict=True))
    return lambda size: sum(height * max(0.0, 1.0 - end / size) for end, height in steps)


def _residuals(points: Sequence[SourcePoint], values: Mapping[str, Value]) -> "list[Residual]":
    found = []
    for point in points:
        known = point.observed.get("load_s")
        if known is None or Chase.of(point.config).chains != 1:
            continue
        found.append(
            Residual(
                experiment=point.experiment, levels=dict(point.levels), metric="load_s", unit="s",
                observed=known.value, low=known.low, high=known.high,
                fitted=latency_s({**point.config, **values}),
            )
        )  # fmt: skip
    return found
