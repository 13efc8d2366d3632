"""Distributions of a metric at a point: histogram and cumulative curve, or raw samples.

Invariant: the shares of a histogram are those of its bins; the slowest 0.1% have no bar.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import quantiles

from headroom.analysis.results import Distribution, ExperimentResult, PointResult
from headroom.analysis.run.distributions import is_occupancy
from headroom.analysis.verdicts.nature import is_terminating
from headroom.quantities import Scale, choose_scale, format_quantity
from headroom.report.charts.panel import Choice, Panel
from headroom.report.figures.axes import Axis, linear_axis, log_axis
from headroom.report.figures.inputs import Break, Curve, Dot, Figure, Line, Reference
from headroom.report.words import axis_title, title_metric

_BARS = 48
_STEPS = 120
_LOG_SPAN = 20.0
"""Highest over lowest value, rare ones left out, from which the axis goes by powers."""
_RARE, _MOST = 0.01, 0.999
"""Shares of the results between which the span is taken."""
_LEFT_OF_FIRST = 4.0
"""Times below the first of them that an axis in powers begins."""


def distribution_panels(experiment: ExperimentResult, points: Sequence[PointResult]) -> list[Panel]:
    """Return the panels of the distributions of points; those without data have no pictures."""
    binned: dict[str, dict[Choice, Figure]] = {"histogram": {}, "cumulative": {}}
    raw: dict[Choice, Figure] = {}
    for point in points:
        for found in point.distributions:
            choice = point.key, title_metric(found.metric)
            if sum(found.counts):
                shown = _Shown.of(found, point)
                binned["histogram"][choice] = _histogram(shown)
                binned["cumulative"][choice] = _cumulative(shown)
            if found.samples:
                raw[choice] = _samples(found, _scale_of(found, point))
    name = experiment.name
    whole = any(is_terminating(point) for point in experiment.points)
    kept = "All responses of all replications together" if whole else (
        "All replications after the warm-up cut"
    )  # fmt: skip
    return [
        _panel(f"{name}-histogram", "Distribution", f"{kept}; the slowest 0.1% are not drawn.",
               binned["histogram"]),
        _panel(f"{name}-cumulative", "Cumulative distribution",
               "To read a percentile, go right from its share, then down.", binned["cumulative"]),
        _panel(f"{name}-samples", "Raw samples",
               "One dot per replication, in their order; dashed: the median, and the ends of the "
               "middle half. A trend or steps mean that the machine changed meanwhile.", raw),
    ]  # fmt: skip


def _panel(key: str, title: str, caption: str, pictures: dict[Choice, Figure]) -> Panel:
    return Panel(key=key, title=title, caption=caption, pictures=pictures, choice="Metric")


def _scale_of(found: Distribution, point: PointResult) -> Scale:
    estimate = point.estimates.get(found.metric)
    spread = found.samples or [bound for bound in found.high if bound < math.inf]
    typical = estimate.value if estimate else _weighted_centre(found)
    return choose_scale([typical] if typical else spread, found.unit, metric=found.metric)


def _weighted_centre(found: Distribution) -> float:
    total = sum(found.counts)
    if not total:
        return 0.0
    bins = zip(found.low, found.high, found.counts, strict=True)
    return sum((low + high) / 2 * count for low, high, count in bins) / total


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """The bins of a distribution in the unit of the axis, and the span that is drawn."""

    bins: list[tuple[float, float, int]]
    """Lower end, upper end, count."""
    total: int
    first: float
    """Where the lowest hundredth ends."""
    last: float
    """Where the slowest 0.1% begin."""
    is_number: bool
    """Whether it counts something: its bins are whole numbers."""
    title: str
    marks: list[tuple[float, str]]

    @classmethod
    def of(cls, found: Distribution, point: PointResult) -> "_Shown":
        """Return the drawn part of a distribution."""
        scale = _scale_of(found, point)
        bins = sorted(
            (low * scale.factor, high * scale.factor, count)
            for low, high, count in zip(found.low, found.high, found.counts, strict=True)
            if count > 0 and math.isfinite(high)
        )
        total = sum(count for _, _, count in bins)
        return cls(
            bins=bins,
            total=total,
            first=_quantile(bins, _RARE * total),
            last=_quantile(bins, _MOST * total),
            is_number=is_occupancy(found.metric),
            title=axis_title(found.metric, scale),
            marks=_marks(found, point, scale),
        )

    @property
    def is_log(self) -> bool:
        """Whether the axis of values goes by powers."""
        low = self.bins[0][0] if self.first <= 0.0 else self.first
        return low > 0.0 and self.last / low > _LOG_SPAN and not self.is_number

    def axis(self) -> Axis:
        """Return the axis of values."""
        if self.is_log:
            return log_axis([max(self.bins[0][0], self.first / _LEFT_OF_FIRST), self.last],
                            self.title)  # fmt: skip
        ends = [self.bins[0][0], self.last]
        is_near_zero = ends[0] < 0.25 * (ends[1] - ends[0])
        return linear_axis(ends, self.title, from_zero=is_near_zero)

    def breaks(self) -> tuple[Break, ...]:
        """Return mean and percentiles as uprights."""
        return tuple(
            Break(at=at, low=at, high=at, lines=(label,), role="context")
            for at, label in self.marks
            if at <= self.last
        )


def _quantile(bins: Sequence[tuple[float, float, int]], wanted: float) -> float:
    """Return the upper end of the bin in which a count of results is reached."""
    seen = 0
    for _, high, count in bins:
        seen += count
        if seen >= wanted:
            return high
    return bins[-1][1] if bins else 1.0


def _marks(found: Distribution, point: PointResult, scale: Scale) -> list[tuple[float, str]]:
    return sorted(
        (estimate.value * scale.factor, f"{name} {format_quantity(estimate.value, estimate.unit)}")
        for name in ("mean", "p50", "p95", "p99")
        if (estimate := point.estimates.get(f"{found.metric}_{name}")) is not None
    )


def _histogram(shown: _Shown) -> Curve:
    bars = _numbers(shown) if shown.is_number and len(shown.bins) <= _BARS else _bars(shown)
    dots = [
        Dot(x=x, y=100.0 * count / shown.total) for low, high, count in bars for x in (low, high)
    ]
    closed = [
        *dots[:1],
        *(one for a, b in pairwise(dots) for one in ([Dot(x=b.x, y=a.y), b] if a.x < b.x else [b])),
    ]
    top = max((dot.y for dot in dots), default=1.0)
    title = f"share of {shown.total:,}"
    return Curve(
        x=shown.axis()
        if not shown.is_number
        else linear_axis([dot.x for dot in dots], shown.title),
        y=linear_axis([0.0, 1.25 * top], title, suffix="%"),
        lines=(Line(label="", role="data", dots=tuple(closed), is_area=True),),
        breaks=shown.breaks(),
    )


def _numbers(shown: _Shown) -> list[tuple[float, float, float]]:
    """Return one bar for each whole number, centred on it."""
    bars: list[tuple[float, float, float]] = []
    for low, high, count in shown.bins:
        if bars and low - 0.5 > bars[-1][1]:
            bars.append((bars[-1][1], low - 0.5, 0.0))
        bars.append((low - 0.5, high - 0.5, float(count)))
    return bars


def _bars(shown: _Shown) -> list[tuple[float, float, float]]:
    """Return equal bars over the span, into which the counts of the bins are divided."""
    to, back = (math.log, math.exp) if shown.is_log else (float, float)
    floor = shown.first / _LEFT_OF_FIRST if shown.is_log else -math.inf
    start, end = to(max(shown.bins[0][0], floor)), to(shown.last)
    width = (end - start) / _BARS or 1.0
    counts = [0.0] * _BARS
    for low, high, count in shown.bins:
        ends = [max((to(max(x, floor)) - start) / width, 0.0) for x in (low, high)]
        _divide(counts, ends[0], ends[1], count)
    return [
        (back(start + place * width), back(start + (place + 1) * width), count)
        for place, count in enumerate(counts)
    ]


def _divide(counts: list[float], low: float, high: float, count: int) -> None:
    """Add a bin from `low` to `high`, in bars, to the bars that it covers."""
    place = int(low)
    if high <= low:
        if place < len(counts):
            counts[place] += count
        return
    while place < min(high, len(counts)):
        covered = min(high, place + 1.0) - max(low, float(place))
        counts[place] += count * covered / (high - low)
        place += 1


def _cumulative(shown: _Shown) -> Curve:
    step = -(-len(shown.bins) // _STEPS)
    seen = 0
    dots = [Dot(x=shown.bins[0][0], y=0.0)]
    for place, (_, high, count) in enumerate(shown.bins):
        seen += count
        if high <= shown.last and (place % step == 0 or high == shown.last):
            at = high - 1.0 if shown.is_number else high
            dots.append(Dot(x=at, y=100.0 * seen / shown.total))
    return Curve(
        x=shown.axis(),
        y=linear_axis([0.0, 100.0], "share at most that much", suffix="%"),
        lines=(Line(label="", role="data", dots=tuple(dots)),),
    )


def _samples(found: Distribution, scale: Scale) -> Curve:
    values = [value * scale.factor for value in found.samples]
    title = axis_title(found.metric, scale)
    ends = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values
    names = ("", "median", "") if len(values) > 1 else ("",)
    dots = tuple(
        Dot(x=float(place), y=value, hint=f"{place}: {value:.6g}")
        for place, value in enumerate(values, start=1)
    )
    return Curve(
        x=_whole(linear_axis([dot.x for dot in dots], "replication, in order", from_zero=False)),
        y=linear_axis(values, title, from_zero=False),
        lines=(Line(label="", role="data", dots=dots),),
        references=tuple(Reference(y=y, label=name) for y, name in zip(ends, names, strict=True)),
    )


def _whole(axis: Axis) -> Axis:
    """Return an axis without numbers between whole ones."""
    return replace(axis, ticks=tuple(tick for tick in axis.ticks if tick == int(tick)))
