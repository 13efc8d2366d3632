"""What was observed as an answer: what limits, how much more load, what an operation costs.

Candidates for the limit are those that processor time shows: the limit of the control group, the
processors with what others leave, and a single thread. The one with the least headroom is first.
A lock, a pool or a connection limit takes no processor; only its waits can be seen.

Invariant: pure; data only, `shown` words it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from headroom.analysis.statistics.intervals import Sample
from headroom.observe.regression import bands, costs, line_through, reach
from headroom.observe.windows import Observation, Window

Part: TypeAlias = Literal["quota", "processors", "thread"]
Verdict: TypeAlias = Literal["carries", "at_least", "alike", "no_rate", "few_windows", "idle"]
FULL = 0.9
"""Busy share from which a part limits, as everywhere in reports."""
THROTTLED = 0.01
"""Share of time from which being held back is named."""
WIDEST = 3.0
"""Ratio of the ends of an interval from which the range seen cannot tell."""
MACHINE_FULL = 0.95
"""Busy share of the usable processors from which others may give way."""
ALONE = 0.9
"""Share of the target's time from which one thread does all the work."""
LEAST_BUSY = 0.002
"""Busy processors below which the counters show nothing."""
_TIME_BLOCKS = 8


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Processor time (s) of an operation in a part of the work, with its 95% interval."""

    operation: str
    part: str
    value_s: float
    low_s: float
    high_s: float


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """What runs out, and when.

    Parameters
    ----------
    part
        What runs out first.
    room
        Processors that there are for it.
    room_error
        Standard deviation of the logarithm of that.
    busy
        Processors of it that are busy on average.
    is_shared
        True if others' time counts, because it grows with the load: a client on this machine.
    times, low, high
        How many times the observed load there is room for; None if unknown.
    """

    part: Part
    room: float
    room_error: float
    busy: float
    is_shared: bool = False
    times: float | None = None
    low: float | None = None
    high: float | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What limits this server, and how much more it carries."""

    target: str
    verdict: Verdict
    limit: Limit
    rate: float | None
    rate_low: float | None
    rate_high: float | None
    operation: str
    costs: list[Cost]
    programs: dict[str, float]
    neighbours: dict[str, float]
    others: float
    steal: float
    throttled: float
    waits: dict[str, float]
    statements: list[str]
    usable: int
    quota: float | None
    is_full: bool
    windows: int
    stolen: int
    gaps: int
    gap: str
    length_s: float
    own_cpu: float


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """What is regressed: busy processors of each window, for the limit that was chosen."""

    limit: Limit
    busy: list[float]


def answer_of(seen: Observation) -> tuple[Answer, Series]:
    """Return the answer, and what it was regressed from."""
    windows = seen.windows
    rates = [one.rates[seen.names[0]] for one in windows] if seen.names else []
    now = mean(windows, rates) if rates else None
    series = [_with_times(one, rates, now) for one in _candidates(seen, rates)]
    first = min(series, key=lambda one: _first(one.limit))
    answer = Answer(
        target=seen.target,
        verdict=_verdict(first.limit, rates, windows),
        limit=first.limit,
        rate=now,
        rate_low=min(rates, default=None),
        rate_high=max(rates, default=None),
        operation=seen.names[0] if seen.names else "",
        costs=_costs(seen, rates) if now else [],
        programs=dict(seen.programs),
        neighbours=dict(seen.neighbours),
        others=mean(windows, [one.others for one in windows]),
        steal=mean(windows, [one.steal for one in windows]),
        throttled=mean(windows, [one.throttled for one in windows]),
        waits=dict(seen.waits),
        statements=list(seen.statements),
        usable=seen.usable,
        quota=seen.quota,
        is_full=_is_full(seen),
        windows=len(windows),
        stolen=seen.stolen,
        gaps=seen.gaps,
        gap=seen.gap,
        length_s=seen.length_s,
        own_cpu=seen.own_cpu,
    )
    return answer, first


def mean(windows: Sequence[Window], values: Sequence[float]) -> float:
    """Return the mean over time of one value for each window."""
    lengths = [one.length_s for one in windows]
    return float(np.average(values, weights=lengths)) if lengths else 0.0


def banded(rates: Sequence[float], *columns: Sequence[float]) -> list[list[float]]:
    """Return rates and further columns by band, as a study's points show them: medians."""
    places = bands(rates)
    return [
        [Sample(values=np.array([column[place] for place in band]), centre="median").value
         for band in places]
        for column in (rates, *columns)
    ]  # fmt: skip


def _candidates(seen: Observation, rates: Sequence[float]) -> list[Series]:
    windows = seen.windows
    own = [one.own for one in windows]
    others = [one.others for one in windows]
    found = []
    if seen.quota is not None and seen.quota < seen.usable:
        found.append(_series("quota", windows, own, [seen.quota] * len(own)))
    if _grow_with(rates, others):
        together = [one.own + one.others for one in windows]
        rooms = [seen.usable - one.steal for one in windows]
        found.append(_series("processors", windows, together, rooms, is_shared=True))
    else:
        rooms = [seen.usable - one.steal - one.others for one in windows]
        top = seen.usable - mean(windows, [one.steal for one in windows])
        found.append(_series("processors", windows, own, rooms, top=top if _is_full(seen) else 0.0))
    threads = [one.thread for one in windows]
    if sum(threads) > ALONE * sum(own) and seen.usable > 1:
        found.append(_series("thread", windows, threads, [1.0] * len(own)))
    return found


def _series(
    part: Part,
    windows: Sequence[Window],
    busy: list[float],
    rooms: Sequence[float],
    *,
    is_shared: bool = False,
    top: float = 0.0,
) -> Series:
    room = max(mean(windows, rooms), 1e-3)
    blocks = [block.mean() for block in np.array_split(np.array(rooms), _TIME_BLOCKS) if block.size]
    # What others leave varies; a limit does not.
    error = float(np.std(np.log(np.maximum(blocks, 1e-3)), ddof=1)) if len(blocks) > 1 else 0.0
    if top > room:
        # On a full machine others give way, by how much is unknown: the truth is in between.
        error = math.hypot(error, math.log(top / room) / 4.0)
        room = math.sqrt(room * top)
    limit = Limit(
        part=part, room=room, room_error=error, busy=mean(windows, busy), is_shared=is_shared
    )
    return Series(limit=limit, busy=busy)


def _is_full(seen: Observation) -> bool:
    busy = [one.own + one.others + one.steal for one in seen.windows]
    return mean(seen.windows, busy) > MACHINE_FULL * seen.usable


def _grow_with(rates: Sequence[float], others: Sequence[float]) -> bool:
    """Return whether the time of others surely grows with the load, and matters."""
    if not rates or min(others, default=0.0) <= 0.0:
        return False
    x, y = banded(rates, others)
    line = line_through(x, y)
    return line is not None and line.interval_s[0] > 0.0 and max(y) > 1.2 * min(y)


def _with_times(one: Series, rates: Sequence[float], now: float | None) -> Series:
    if not now:
        return one
    x, y = banded(rates, one.busy)
    limit = one.limit
    found = reach(x, y, room=limit.room, room_error=limit.room_error, now=now)
    if found is None:
        return one
    limit = msgspec.structs.replace(limit, times=found.times, low=found.low, high=found.high)
    return Series(limit=limit, busy=one.busy)


def _first(limit: Limit) -> float:
    if limit.times is not None:
        return limit.times
    return limit.room / limit.busy if limit.busy > 0.0 else math.inf


def _verdict(limit: Limit, rates: Sequence[float], windows: Sequence[Window]) -> Verdict:
    if limit.busy < LEAST_BUSY:
        return "idle"
    if not rates or not any(rates):
        return "no_rate"
    if limit.times is None or limit.low is None or limit.high is None:
        few = len(bands(rates)) < len(bands(list(range(12))))
        return "few_windows" if few or len(windows) < 12 else "alike"  # noqa: PLR2004 - 4 bands of 3
    return "at_least" if limit.high > WIDEST * limit.low else "carries"


def _costs(seen: Observation, rates: Sequence[float]) -> list[Cost]:
    """Return what the operations cost: several by their mix, one by user and system time too."""
    windows = seen.windows
    own = [one.own for one in windows]
    if len(seen.names) > 1 and len(windows) >= 10 * len(seen.names):
        table = [[one.rates[name] for name in seen.names] for one in windows]
        return [
            Cost(operation=name, part="all", value_s=value, low_s=low, high_s=high)
            for name, (value, low, high) in zip(seen.names, costs(table, own), strict=True)
        ]
    found = []
    columns: Mapping[str, list[float]] = {
        "all": own,
        "user": [one.user for one in windows],
        "system": [one.system for one in windows],
    }
    for part, busy in columns.items():
        x, y = banded(rates, busy)
        line = line_through(x, y)
        if line is None:
            value = mean(windows, busy) / max(mean(windows, rates), 1e-300)
            ratios = [u / r for r, u in zip(rates, busy, strict=True) if r > 0.0]
            interval = Sample(values=np.array(ratios), centre="median").interval()
            low, high = interval.low or 0.0, interval.high or value
        else:
            value, (low, high) = line.demand_s, line.interval_s
        found.append(
            Cost(operation=seen.names[0], part=part, value_s=value, low_s=low, high_s=high)
        )
    return found
