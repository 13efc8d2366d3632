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
from headroom.observe.regression import FEWEST_BANDS, bands, costs, reach
from headroom.observe.windows import Observation

Part: TypeAlias = Literal["quota", "processors", "shared", "thread"]
"""What runs out: the limit, what others leave, the processors with the clients' time, a thread."""
Verdict: TypeAlias = Literal["carries", "unclear", "alike", "no_rate", "few_windows", "idle"]
WIDEST = 3.0
"""Ratio of the ends of an interval from which the range seen cannot tell."""
ALONE = 0.9
"""Share of the target's time from which one thread does all the work."""
LEAST_BUSY = 0.002
"""Busy processors below which the counters show nothing."""
_GROWS = 1.2
"""Ratio of what others take at the highest and the lowest load from which it may be clients'."""
_TIME_BLOCKS = 8


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """What runs out: its processors, those that are busy in each window, and the mean of these.

    `times` is how many times the observed load there is room for; None if unknown.
    """

    part: Part
    room: float
    room_error: float
    busy: list[float]
    mean: float
    times: float | None = None
    low: float | None = None
    high: float | None = None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Processor time (s) of an operation in a part of the work, with its 95% interval."""

    operation: str
    part: str
    value_s: float
    low_s: float
    high_s: float


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What limits this server, and how much more it carries; mean load (1/s), 0 if unknown."""

    verdict: Verdict
    limit: Limit
    rate: float
    costs: list[Cost]


def answer_of(seen: Observation) -> Answer:
    """Return the answer to an observation with windows."""
    rate = seen.mean(seen.rates) if seen.names else 0.0
    limit = min((_with_times(one, seen, rate) for one in _candidates(seen)), key=_first)
    return Answer(verdict=_verdict(limit, seen), limit=limit, rate=rate, costs=_costs(seen))


def _candidates(seen: Observation) -> list[Limit]:
    own, threads = seen.column("own"), seen.column("thread")
    found = []
    left = [seen.usable - one.steal for one in seen.windows]
    rooms = [room - one.others for room, one in zip(left, seen.windows, strict=True)]
    if (quota := seen.quota) is not None and quota < seen.usable:
        # Beside busy neighbours a server may not get all that its limit permits.
        least = [min(room, quota) if seen.is_full else quota for room in rooms]
        found.append(_limit(seen, "quota", own, least, top=quota if seen.is_full else 0.0))
    if _others_are_clients(seen):
        together = [one.own + one.others for one in seen.windows]
        found.append(_limit(seen, "shared", together, left))
    else:
        top = seen.mean(left) if seen.is_full else 0.0
        found.append(_limit(seen, "processors", own, rooms, top=top))
    if sum(threads) > ALONE * sum(own) and seen.usable > 1:
        found.append(_limit(seen, "thread", threads, [1.0] * len(own)))
    return found


def _limit(
    seen: Observation, part: Part, busy: list[float], rooms: Sequence[float], *, top: float = 0.0
) -> Limit:
    room = max(seen.mean(rooms), 1e-3)
    blocks = np.array_split(np.maximum(rooms, 1e-3), min(_TIME_BLOCKS, len(rooms)))
    # What others leave varies from time to time, a limit does not.
    error = float(np.std(np.log([block.mean() for block in blocks])))
    if top > room:
        # On a full machine others give way, by how much is unknown: the truth is in between.
        error = math.hypot(error, math.log(top / room) / 4.0)
        room = math.sqrt(room * top)
    return Limit(part=part, room=room, room_error=error, busy=busy, mean=seen.mean(busy))


def _others_are_clients(seen: Observation) -> bool:
    """Return whether the time of others surely grows with the load, and matters."""
    if not seen.names or min(seen.column("others")) <= 0.0:
        return False
    _, others = _banded(seen, seen.column("others"))
    found = costs([[rate] for rate in seen.rates], seen.column("others"))
    return bool(found) and found[0][1] > 0.0 and max(others) > _GROWS * min(others)


def _banded(seen: Observation, column: Sequence[float]) -> list[list[float]]:
    """Return rates and a column by band, as the points of the study show them: medians."""
    places = bands(seen.rates)
    return [
        [Sample(values=np.array([values[n] for n in band]), centre="median").value
         for band in places]
        for values in (seen.rates, column)
    ]  # fmt: skip


def _with_times(limit: Limit, seen: Observation, rate: float) -> Limit:
    if not rate:
        return limit
    x, y = _banded(seen, limit.busy)
    found = reach(x, y, room=limit.room, room_error=limit.room_error, now=rate)
    if found is None:
        return limit
    # The highest load was carried, whatever the line says.
    low, times, high = (max(one, x[-1] / rate) for one in found)
    return msgspec.structs.replace(limit, times=times, low=low, high=high)


def _first(limit: Limit) -> float:
    return limit.times or (limit.room / limit.mean if limit.mean > 0.0 else math.inf)


def _verdict(limit: Limit, seen: Observation) -> Verdict:
    if limit.mean < LEAST_BUSY:
        return "idle"
    if not any(seen.rates):
        return "no_rate"
    if limit.low is None or limit.high is None:
        return "few_windows" if len(bands(seen.rates)) < FEWEST_BANDS else "alike"
    return "unclear" if limit.high > WIDEST * limit.low else "carries"


def _costs(seen: Observation) -> list[Cost]:
    """Return the costs of all operations, or of one with its parts."""
    parts: Mapping[str, str] = {"all": "own", "user": "user", "system": "system"}
    rates = [[one.rates[name] for name in seen.names] for one in seen.windows]
    rows = [
        (name, part, row)
        for part, column in parts.items()
        if len(seen.names) == 1 or (part == "all" and seen.names)
        for name, row in zip(seen.names, costs(rates, seen.column(column)), strict=False)
    ]
    return [
        Cost(operation=name, part=part, value_s=value, low_s=low, high_s=high)
        for name, part, (value, low, high) in rows
    ]
