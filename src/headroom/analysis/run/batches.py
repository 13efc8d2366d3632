"""Compute the spread of every metric from the kept parts of all replications.

Tables give one interval between successive snapshots; histograms give one per segment. A mean is a
quotient of two columns. A percentile q of share p is the value below which a share p of the
observations lies. Its residual in a segment is the share below q in that segment, less p. The slope
of the distribution at q converts shares into seconds.

Invariant: only metrics that every replication can give have a spread here.

Sources: `headroom.analysis.statistics.spread`; percentiles of dependent series by the indicator
process as in Heidelberger and Lewis, *Quantile Estimation in Dependent Sequences* (1984).
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
import numpy.typing as npt
import scipy

from headroom.analysis.run.distributions import (
    Bins,
    percentiles,
    share_below,
    statistic_of,
    tail_index,
)
from headroom.analysis.run.summaries import (
    CAPACITY,
    CLASS_RATIOS,
    LEFT_METRICS,
    OUTCOME_RATIOS,
    POOL_RATIOS,
    STATION_RATIOS,
    TIME,
    UP,
    column_of,
    has_columns,
    more_ratios,
    outcome_ratios,
)
from headroom.analysis.run.windows import Window
from headroom.analysis.statistics.spread import LEAST_ROOT, Residuals, Spread, spreads
from headroom.experiment.protocol.asked_metrics import PERCENTS, Statistic, statistics_of
from headroom.experiment.protocol.run import FloatArray, Histogram, ResourceKind, ResourceTable

_RATIOS: dict[ResourceKind, Mapping[str, tuple[str, str]]] = {
    "station": {
        **STATION_RATIOS,
        "blocked_ratio": ("blocked_s", CAPACITY),
        "down_ratio": ("down_s", CAPACITY),
        "reject_ratio": ("reject_count", "arrival_count+reject_count"),
    },
    "pool": POOL_RATIOS,
    "class": CLASS_RATIOS,
}
FEWEST_BURSTS = 4.0
"""Independent bursts beyond a percentile below which its interval is not bounded above."""
ENOUGH_BURSTS = 6.0
"""Independent bursts beyond a percentile from which its interval may be believed.

More, because the count comes from the very error that it judges: runs that overrate it by chance
are those that have seen too little."""
RARE_BURSTS = 8.0
"""Independent bursts beyond a percentile that is left out with fewer: p99.9."""
PLAIN_PERCENT = 95.0
"""Percentile up to which the bursts beyond it are counted there, see `expected_bursts`."""
TAIL_BURSTS = 20.0
"""Independent bursts of a tail, where it is long enough: its index is then known to a quarter."""
LARGEST_SHARE = 0.99
"""Largest share beyond a value that a percentile is read at."""
_MAY_BE_NONE = frozenset(
    {"blocked_ratio", "down_ratio", "reject_ratio", *LEFT_METRICS, *OUTCOME_RATIOS}
)
"""What most models never have: left out where it never happened."""
_Parts = list[tuple[FloatArray, dict[str, FloatArray]]]
"""Per replication: the lengths (s) of its intervals, and what each column gained in them."""


class _Sizes(TypedDict):
    """What `spreads` is told of the batches."""

    batches: int
    times: float


def spreads_of(
    windows: Sequence[Window],
    merged: Mapping[str, Bins],
    *,
    batches: int,
    times: float = math.inf,
    asked: Collection[str] = (),
) -> dict[str, Spread]:
    """Return the spread of every metric that all replications can give, by metric.

    Parameters
    ----------
    windows
        Kept parts of the sound replications of one point.
    merged
        Distributions merged over them, by metric.
    batches
        Batches in all, see `headroom.analysis.statistics.spread.batch_count`.
    times
        Length of all kept parts together, in correlation times.
    asked
        Percentiles and shares besides those of every point.
    """
    sizes = _Sizes(batches=batches, times=times)
    ratios: list[_Ratio] = []
    for kind in _RATIOS:
        tables = [window.table(kind) for window in windows]
        kept = [table for table in tables if table is not None]
        # Measured runs have the classes that came: with too few requests, not all of them.
        if len(kept) == len(windows) and len({table.names for table in kept}) == 1:
            ratios.extend(_of_tables(kind, windows, kept))
    found = _of_ratios(ratios, windows, sizes)
    for metric, bins in merged.items():
        found.update(_of_distribution(statistics_of(metric, asked), metric, windows, bins, sizes))
    return found


@dataclass(frozen=True, slots=True)
class _Ratio:
    """A metric that is a quotient of two sums, of each row of a table.

    Parameters
    ----------
    names
        Full name of the metric of each row.
    residuals
        Per replication, shape (intervals, rows): numerator - estimate x denominator.
    denominators
        Shape (rows,): over all replications; not a number if there is none.
    """

    names: Sequence[str]
    residuals: Sequence[FloatArray]
    denominators: FloatArray


def _of_ratios(
    ratios: Sequence[_Ratio], windows: Sequence[Window], sizes: _Sizes
) -> dict[str, Spread]:
    """Return the spreads of all quotients at once: they have the intervals in common."""
    if not ratios:
        return {}
    parts = [
        Residuals(
            np.concatenate([ratio.residuals[place] for ratio in ratios], axis=1), lengths_s[lasts]
        )
        for place, (lengths_s, lasts) in enumerate(map(_intervals, windows))
    ]
    found = spreads(parts, np.concatenate([ratio.denominators for ratio in ratios]), **sizes)
    names = (name for ratio in ratios for name in ratio.names)
    return {name: one for name, one in zip(names, found, strict=True) if one is not None}


def _of_tables(
    kind: ResourceKind, windows: Sequence[Window], tables: Sequence[ResourceTable]
) -> Iterator[_Ratio]:
    names, capacity = tables[0].names, tables[0].capacity
    parts = [_gains(window, table) for window, table in zip(windows, tables, strict=True)]
    ratios = {**_RATIOS[kind], **more_ratios(kind, tables[0].columns)}
    if kind == "class":
        ratios |= outcome_ratios(tables[0].columns)
    yield from _ratios_of(ratios, parts, capacity, [f"{kind}.{name}." for name in names])
    if kind == "class":
        whole = [
            (lengths, {name: rows.sum(axis=1, keepdims=True) for name, rows in gained.items()})
            for lengths, gained in parts
        ]
        yield from _ratios_of(ratios, whole, np.ones(1), [""])


def _intervals(window: Window) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return the lengths (s) of the intervals of a window, and which of them last at all."""
    lengths_s = np.diff(window.times_s())
    return lengths_s, lengths_s > 0.0


def _gains(window: Window, table: ResourceTable) -> tuple[FloatArray, dict[str, FloatArray]]:
    lengths_s, lasts = _intervals(window)
    gained = {
        name: np.diff(window.snapshots(column), axis=0)[lasts]
        for name, column in table.columns.items()
    }
    return lengths_s[lasts], gained


def _ratios_of(
    ratios: Mapping[str, tuple[str, str]],
    parts: _Parts,
    capacity: FloatArray,
    prefixes: Sequence[str],
) -> Iterator[_Ratio]:
    for metric, (above, below) in ratios.items():
        if metric in _MAY_BE_NONE and not _happened(above, parts):
            continue
        over = [_denominator(below, part, capacity) for part in parts]
        sums = np.sum([rows.sum(axis=0) for rows in over], axis=0)
        counted = [column_of(gained, above) for _, gained in parts]
        totals = np.sum([rows.sum(axis=0) for rows in counted], axis=0)
        known = np.isfinite(sums) & (sums > 0.0)
        ratio = totals / np.where(known, sums, 1.0)
        residuals = [
            rows - ratio * np.where(known, one, 0.0)
            for rows, one in zip(counted, over, strict=True)
        ]
        names = [f"{prefix}{metric}" for prefix in prefixes]
        yield _Ratio(names, residuals, np.where(known, sums, np.nan))


def _happened(column: str, parts: _Parts) -> bool:
    is_recorded = all(has_columns(gained, column) for _, gained in parts)
    return is_recorded and any(column_of(gained, column).any() for _, gained in parts)


def _denominator(
    below: str, part: tuple[FloatArray, dict[str, FloatArray]], capacity: FloatArray
) -> FloatArray:
    lengths_s, gained = part
    if below == TIME:
        return np.broadcast_to(lengths_s[:, None], (lengths_s.size, capacity.size))
    if below in {CAPACITY, UP}:
        down_s = gained.get("down_s", 0.0) if below == UP else 0.0
        return lengths_s[:, None] * capacity - down_s
    return column_of(gained, below)


def _of_distribution(
    statistics: Sequence[Statistic],
    metric: str,
    windows: Sequence[Window],
    bins: Bins,
    sizes: _Sizes,
) -> Iterator[tuple[str, Spread]]:
    histograms = [
        next((h for h in window.run.histograms if h.metric == metric), None) for window in windows
    ]
    kept = [
        _segments(window, histogram)
        for window, histogram in zip(windows, histograms, strict=True)
        if histogram is not None
    ]
    if len(kept) < len(windows) or any(not sizes.size for _, _, sizes in kept):
        return
    values = [
        statistic_of(bins, one) if one.percent is not None else one.within_s for one in statistics
    ]
    below = [share_below(counts, histogram, values) for histogram, counts, _ in kept]
    shares = np.sum([rows.sum(axis=0) for rows in below], axis=0) / bins.total
    residuals = [
        Residuals(rows - shares * sizes[:, None], sizes)
        for rows, (_, _, sizes) in zip(below, kept, strict=True)
    ]
    total = np.full(len(values), float(bins.total))
    found = spreads(residuals, total, **sizes)
    percents = [one.percent or 0.0 for one in statistics]
    expected = expected_bursts(found, percents)
    plain = percents.index(PLAIN_PERCENT)
    index = tail_index(bins, _tail_share(expected[plain]))
    for one, spread, bursts, share in zip(statistics, found, expected, shares, strict=True):
        if one.percent is None:
            scaled = _of_share(spread, float(share), expected[plain])
        else:
            scaled = spread and _in_seconds(spread, bins, one.percent / 100.0, bursts)
            scaled = scaled and replace(scaled, tail_index=index)
        if scaled:
            yield from ((name, scaled) for name in _names(one.metric(metric), windows[0]))


def _of_share(spread: Spread | None, share: float, plain_bursts: float) -> Spread | None:
    """Return the spread of the share within a time; of nearly all, by what can have been missed.

    Runs show `plain_bursts` bursts of the share beyond `PLAIN_PERCENT`, so they should show x of
    the share beyond the time. If x is small, batches that have seen none know nothing of them: with
    97.5% probability there are no more than the Poisson mean of which x or fewer are as rare.
    """
    beyond, plain = min(share, 1.0 - share), 1.0 - PLAIN_PERCENT / 100.0
    seen = max(plain_bursts, 1.0) * beyond / plain
    if spread is None or seen >= RARE_BURSTS:
        return spread
    most = float(scipy.special.gammaincinv(seen + 1.0, 0.975)) * plain / max(plain_bursts, 1.0)
    error = max(spread.standard_error, (most - beyond) / 2.0)
    return replace(spread, standard_error=error, skewness=0.0)


def expected_bursts(
    shares: Sequence[Spread | None], percents: Sequence[float] = PERCENTS
) -> list[float]:
    """Return how many independent bursts beyond each percentile the runs should have.

    Of a share e beyond a percentile with the standard error s, the runs show (e / s)^2 bursts.
    That count is itself uncertain where it is small, so a percentile beyond the 95th takes it from
    there, in proportion to the shares beyond both.

    Parameters
    ----------
    shares
        Spread of the share below each percentile; None if it is not known.
    percents
        The percentiles, `PLAIN_PERCENT` among them.

    Examples
    --------
    >>> shares = [Spread(error, 9, 0.0) for error in (0.1, 0.01, 0.004, 0.002)]
    >>> [round(one, 1) for one in expected_bursts(shares)]
    [25.0, 25.0, 5.0, 0.5]
    """
    beyond = [1.0 - percent / 100.0 for percent in percents]
    seen = [
        (e / one.standard_error) ** 2 if one is not None and one.standard_error > 0.0 else math.inf
        for e, one in zip(beyond, shares, strict=True)
    ]
    plain = percents.index(PLAIN_PERCENT)
    return [
        seen[place] if e >= beyond[plain] else seen[plain] * e / beyond[plain]
        for place, e in enumerate(beyond)
    ]


def _tail_share(plain: float) -> float:
    """Return the share of the observations that the runs should have `TAIL_BURSTS` bursts of.

    They have `plain` bursts beyond `PLAIN_PERCENT`.

    The farther out, the more the shape tells of what the runs have not seen; at most the share
    beyond `PLAIN_PERCENT`.
    """
    return (1.0 - PLAIN_PERCENT / 100.0) * min(TAIL_BURSTS / max(plain, TAIL_BURSTS), 1.0)


def _names(name: str, window: Window) -> Iterator[str]:
    """Yield the name of a metric, and that of a single class if it is one of all classes."""
    yield name
    classes = window.table("class")
    if name.startswith("response_") and classes is not None and len(classes.names) == 1:
        yield f"class.{classes.names[0]}.{name}"


def _segments(window: Window, histogram: Histogram) -> tuple[Histogram, FloatArray, FloatArray]:
    """Return the histogram, its kept counts (segments, bins), and the size of each segment."""
    counts = histogram.counts[window.kept_segments(histogram)].astype(np.float64)
    sizes = counts.sum(axis=1)
    return histogram, counts[sizes > 0.0], sizes[sizes > 0.0]


def _in_seconds(spread: Spread, bins: Bins, share: float, bursts: float) -> Spread | None:
    """Return the spread of the percentile whose share has `spread`.

    A burst adds to the counts beyond all high values alike, so the error of the share beyond moves
    the percentile along the logarithm of that share, on which the tail of a queue is straight.
    With few bursts their skewness is hardly seen, and the transformation has no bound.
    """
    beyond = 1.0 - share
    relative = spread.standard_error / beyond
    step = min(relative, 1.0, math.log(LARGEST_SHARE / beyond))
    if step <= 0.0:
        return None
    low, high = percentiles(
        bins, [100.0 * (1.0 - beyond * math.exp(sign * step)) for sign in (1.0, -1.0)]
    )
    if high <= low:
        return None
    return Spread(
        standard_error=(high - low) / (2.0 * step) * relative,
        degrees=spread.degrees,
        skewness=-spread.skewness,
        least_root=LEAST_ROOT if bursts >= FEWEST_BURSTS else 0.0,
        bursts=bursts,
        is_far=share > PLAIN_PERCENT / 100.0 and bursts >= FEWEST_BURSTS,
    )
