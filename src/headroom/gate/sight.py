"""What a gate can see: the smallest slowdown that it would have found, and what would find less.

A row *sees* a threshold if 9 of 10 first looks with as narrow an interval find it, or if its
interval excludes it. A gate is *blind* at a point if none of the metrics that stand for each other
sees the threshold there: wall and processor time of a command, unless the user names the metrics.
Memory that scatters is then no reason to be blind; a regression of it is still one.

Invariant: only the width of intervals decides, not which side is ahead, but for an interval that
excludes the threshold.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from headroom.gate.result import Noise, Row, Sight, Suspicion
from headroom.quantities import format_limit

TIMES = ("wall_s", "processor_time_s")
"""Metrics that stand for each other."""
BESIDE_TIMES = ("peak_memory_bytes",)
"""Judged too, but nobody asks for a gate of times to see them unless the user names them."""
_RANK_EFFICIENCY = 0.955
"""Of signed ranks, relative to Student's t, for normal values."""
_LOOK_Z, NINE_IN_TEN, INTERVAL_Z = 1.6449, 1.2816, 1.96
INTERVAL_SHARE = INTERVAL_Z / (_LOOK_Z + NINE_IN_TEN)
"""Half-width of an interval, in thresholds, at which 9 of 10 first looks find the threshold."""
_SAID = 4
PILOT = 8
"""Blocks after which a gate says what it will see."""


def slowdown(row: Row) -> tuple[float, float, float] | None:
    """Return how many times worse a row is, with its interval: above 1 is worse.

    Examples
    --------
    >>> row = Row(arm="B", base="A", metric="rate", unit="1/s", better="high", ratio=0.5, low=0.4,
    ...     high=0.8)
    >>> slowdown(row)
    (2.0, 1.25, 2.5)
    """
    if row.ratio is None or row.low is None or row.high is None:
        return None
    if row.better == "high":
        high = math.inf if row.low <= 0.0 else 1.0 / row.low
        return 1.0 / row.ratio, 1.0 / row.high, high
    return row.ratio, row.low, row.high


def detectable(scatter: float, blocks: int) -> float:
    """Return the slowdown that 9 of 10 first looks find.

    Parameters
    ----------
    scatter
        Standard deviation of the logarithm of one run.
    blocks
        Pairs of runs.

    Examples
    --------
    >>> round(detectable(0.03, 25), 4)
    0.0257
    """
    pair = scatter * math.sqrt(2.0 / blocks / _RANK_EFFICIENCY)
    return math.expm1((_LOOK_Z + NINE_IN_TEN) * pair)


def sights_of(
    rows: Sequence[Row], suspicions: Sequence[Suspicion], threshold: float
) -> list[Sight]:
    """Return what the last look at each row could see; rows without a ratio have no sight."""
    looked = {id(one.first): one for one in suspicions}
    found = (_sight(row, looked.get(id(row)), threshold) for row in rows)
    return [one for one in found if one is not None]


def _sight(first: Row, suspicion: Suspicion | None, threshold: float) -> Sight | None:
    row = (suspicion and suspicion.again) or first
    times = slowdown(row)
    if times is None or row.low is None or row.high is None or row.low <= 0.0:
        return None
    reach = math.log(row.high / row.low) / 2.0
    seen = math.expm1(reach / INTERVAL_SHARE)
    is_blind = seen > threshold and times[2] >= 1.0 + threshold
    if suspicion is not None and suspicion.verdict == "noise":
        seen, is_blind = max(seen, times[2] - 1.0), times[2] >= 1.0 + threshold
    pairs = row.pairs or row.count
    needed = math.ceil(pairs * (reach / INTERVAL_SHARE / math.log1p(threshold)) ** 2)
    return Sight(
        arm=row.arm, experiment=row.experiment, levels=row.levels, metric=row.metric,
        detectable=seen, is_blind=is_blind, needed=max(needed, pairs + 1) if is_blind else None,
    )  # fmt: skip


def blind_sights(sights: Iterable[Sight], *, named: bool) -> list[Sight]:
    """Return the best sight of each group of metrics that is blind at its point.

    Examples
    --------
    >>> wall, cpu = (
    ...     Sight(arm="B", metric=name, detectable=size, is_blind=size > 0.03)
    ...     for name, size in (("wall_s", 0.18), ("processor_time_s", 0.028))
    ... )
    >>> blind_sights([wall, cpu], named=False)
    []
    >>> [one.metric for one in blind_sights([wall, cpu], named=True)]
    ['wall_s']
    >>> memory = Sight(arm="B", metric="peak_memory_bytes", detectable=0.05, is_blind=True)
    >>> blind_sights([cpu, memory], named=False)
    []
    """

    def group(one: Sight) -> str:
        metric = "time" if one.metric in TIMES and not named else one.metric
        return repr((one.arm, one.experiment, sorted(one.levels.items()), metric))

    found = []
    sights = list(sights)
    has_times = not named and any(one.metric in TIMES for one in sights)
    asked = [one for one in sights if not has_times or one.metric not in BESIDE_TIMES]
    for _, members in groupby(sorted(asked, key=group), key=group):
        best = min(members, key=lambda one: (one.is_blind, one.detectable))
        found += [best] if best.is_blind else []
    return found


def expectation(
    foreseen: Sequence[Sight], looks: Sequence[int], label: Callable[[str], str]
) -> str:
    """Return what a gate will see as a sentence, the sharpest metrics first.

    Examples
    --------
    >>> wall = Sight(arm="A", metric="wall_s", detectable=0.18, most=0.09)
    >>> expectation([wall], [25, 100], lambda metric: metric.removesuffix("_s"))
    'the gate will see slowdowns from: wall 18% on (25 blocks), 9% (100)'
    """
    first, last = looks[0], looks[-1]
    said = []
    for one in sorted(foreseen, key=lambda one: one.detectable)[:_SAID]:
        most = f", {format_limit(one.most)} ({last})" if one.most and last > first else ""
        levels = [f"{name}={level}" for name, level in one.levels.items()]
        where = " ".join([one.experiment, *levels, label(one.metric)]).strip()
        said.append(f"{where} {format_limit(one.detectable)} on ({first} blocks){most}")
    rest = len(foreseen) - _SAID
    return f"the gate will see slowdowns from: {'; '.join(said)}" + (
        f"; and {rest} more" if rest > 0 else ""
    )


def expected(noise: Sequence[Noise], looks: Sequence[int]) -> list[Sight]:
    """Return what the first look will see, by the base against itself in the pilot blocks.

    Examples
    --------
    >>> noise = Noise(metric="wall_s", ratio=1, low=1, high=1, scatter=0.03, detectable=None)
    >>> [round(one.detectable, 4) for one in expected([noise], [25, 50])]
    [0.0257]
    """
    return [
        Sight(
            arm="A", experiment=one.experiment, levels=one.levels, metric=one.metric,
            detectable=detectable(one.scatter, looks[0]), most=detectable(one.scatter, looks[-1]),
        )
        for one in noise
        if one.scatter is not None
    ]  # fmt: skip
