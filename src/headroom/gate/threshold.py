"""The gate: whether anything is surely slower, by as much as a threshold.

A row is *suspected* if it is slower at the one-sided level `FIRST_LEVEL`, and its 95% interval
reaches the threshold. New runs of the suspected rows alone decide. A *regression* is slower at the
level of `again_level` in them, may be as slow as the threshold, and is slower by more than the base
can differ from itself in the same blocks (the end of its 95% interval).

Each look has runs of its own in random order. So a row without a difference is suspected with at
most `FIRST_LEVEL` for each first look, then confirmed with at most `again_level`, and the product
over all rows is `AIM`, whatever noise the machine has. `AIM` is a tenth of the promise `LEVEL`: the
rest is for what no order balances, such as paths and caches that belong to one of the two.

Saved results were not interleaved, so their first look counts for nothing: the new runs alone keep
to `AIM`. If a repetition is impossible, the p-values of the first look, corrected by Holm's method,
have to be below `LEVEL` on their own, and the answer says so.

A gate passes only if it would have seen the threshold: see `headroom.gate.sight`.

Invariant: a row without results never passes.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

from headroom.analysis.statistics.signed_ranks import fewest_pairs
from headroom.gate.judging import holm
from headroom.gate.result import Gate, GateVerdict, Noise, Row, Suspicion, SuspicionVerdict
from headroom.gate.sight import (
    INTERVAL_SHARE,
    INTERVAL_Z,
    NINE_IN_TEN,
    blind_sights,
    detectable,
    sights_of,
    slowdown,
)

LEVEL = 0.01
"""Probability of a false alarm of a whole gate, as promised."""
AIM = LEVEL / 10.0
"""The same as designed, for runs that differ by chance alone."""
FIRST_LEVEL = 0.05
"""One-sided level of a first look at each row."""
BLOCKS = 25
"""Blocks of the first look; later ones have twice as many each, while the noise hides too much."""
AGAIN_TIMES = 3
"""Blocks of new runs, in multiples of the first look: they concern few rows."""
MeasureAgain = Callable[[Sequence[Row], float], Sequence[tuple[Row, Noise | None]]]
"""Measures suspected rows again, to be judged at a level; returns them in the same order, from new
runs alone, each with the base against itself in the same blocks."""


def is_judged(row: Row) -> bool:
    """Return whether a gate judges a row: it knows which direction is worse."""
    return row.better != "none"


def first_looks(most: int) -> list[int]:
    """Return the blocks after which a gate looks, at most `most`, if nobody fixes their number.

    Examples
    --------
    >>> first_looks(100), first_looks(10)
    ([25, 50, 100], [10])
    """
    looks = [min(BLOCKS, most)]
    while looks[-1] < most:
        looks.append(min(2 * looks[-1], most))
    return looks


def is_hidden(row: Row, threshold: float) -> bool:
    """Return whether a row may be a regression that its noise hides from a first look."""
    if row.ratio is None or row.low is None or row.high is None or row.low <= 0.0:
        return False
    reach = math.log(row.high / row.low) / 2.0
    times = slowdown(row)
    may_be = is_judged(row) and times is not None and times[2] >= 1.0 + threshold
    is_wide = reach > INTERVAL_SHARE * math.log1p(threshold)
    return may_be and is_wide and not is_slower(row, FIRST_LEVEL, threshold)


def again_level(rows: int, *, looks: int = 1) -> float:
    """Return the one-sided level of new runs, after some first looks in random order.

    Examples
    --------
    >>> round(again_level(1), 4), round(again_level(20, looks=3), 6), again_level(10, looks=0)
    (0.02, 0.000333, 0.0001)
    """
    first = min(looks * FIRST_LEVEL, 1.0) if looks else 1.0
    return AIM / (first * max(rows, 1))


def blocks_again(row: Row, level: float, threshold: float, *, least: int, most: int) -> int:
    """Return the new blocks that confirm 9 of 10 slowdowns, between `least` and `most`.

    Parameters
    ----------
    row
        The suspected row: its interval says how much its blocks scatter, and how slow it surely is.
    level, threshold
        One-sided level of the new runs, and the smallest slowdown (share) to confirm.
    """
    times = slowdown(row)
    if times is None or row.low is None or row.high is None or row.low <= 0.0:
        return least
    reach = math.log(row.high / row.low) / 2.0
    distance = max(math.log(max(times[1], 1.0)), math.log1p(threshold))
    deviations = NormalDist().inv_cdf(1.0 - level) + NINE_IN_TEN
    needed = (row.pairs or row.count) * (deviations * reach / INTERVAL_Z / distance) ** 2
    return min(max(math.ceil(needed), least), most)


def fewest_blocks(rows: int) -> int:
    """Return the blocks with which a gate of `rows` rows can decide at all.

    Examples
    --------
    >>> fewest_blocks(1), fewest_blocks(100)
    (6, 6)
    >>> fewest_blocks(1_000_000)
    9
    """
    again = math.ceil(-math.log2(again_level(rows)) / AGAIN_TIMES)
    return max(fewest_pairs(), again)


def gate_of(
    rows: Sequence[Row],
    *,
    threshold: float,
    again: MeasureAgain | None,
    looks: int = 1,
    missing: Sequence[str] = (),
    why_not: str = "",
    named: bool = False,
) -> Gate:
    """Return the decision on the rows of a comparison.

    Parameters
    ----------
    rows
        All rows of the last first look.
    threshold
        Slowdown (share, above 0) that counts as a regression.
    again
        Measures suspected rows again; None if that is impossible, and `why_not` says why.
    looks
        First looks so far, each of runs in random order; 0 for saved results.
    missing
        Points with results on one side only; rows without results are added.
    named
        Whether the user named the metrics: each of them then has to see the threshold.
    """
    known = [row for row in rows if is_judged(row)]
    missing = [*missing, *(_name(row) for row in known if row.p_value is None)]
    suspected = [row for row in known if is_slower(row, FIRST_LEVEL, threshold)]
    level = again_level(len(known), looks=looks)
    if again is None:
        suspicions = _alone(known, threshold)
    else:
        found = again(suspected, level) if suspected else []
        suspicions = [
            Suspicion(first=first, again=row, verdict=_second(row, noise, level, threshold))
            for first, (row, noise) in zip(suspected, found, strict=True)
        ]
    sights = sights_of(known, suspicions, threshold)
    blind = blind_sights(sights, named=named)
    verdict = _verdict(suspicions, missing, has_rows=bool(known))
    return Gate(
        threshold=threshold,
        level=LEVEL,
        first_level=FIRST_LEVEL,
        again_level=level,
        rows=len(known),
        verdict="blind" if verdict == "passed" and blind else verdict,
        sights=sights,
        blind=blind,
        suspicions=suspicions,
        missing=missing,
        not_repeated=why_not if suspicions and again is None else "",
    )


def _second(row: Row, noise: Noise | None, level: float, threshold: float) -> SuspicionVerdict:
    if row.p_value is None:
        return "unconfirmed"
    if not is_slower(row, level, threshold):
        return "cleared"
    times, floor = slowdown(row), 1.0
    if noise is not None and noise.low and noise.high:
        floor = max(noise.high, 1.0 / noise.low)
    return "noise" if times is not None and times[0] <= floor else "regression"


def _alone(known: Sequence[Row], threshold: float) -> list[Suspicion]:
    """Return the regressions that one look shows at the level of the whole gate."""
    adjusted = holm([one_sided(row) for row in known])
    return [
        Suspicion(first=row, verdict="regression")
        for row, p_value in zip(known, adjusted, strict=True)
        if p_value is not None and p_value <= LEVEL and is_slower(row, 1.0, threshold)
    ]


def _verdict(
    suspicions: Sequence[Suspicion], missing: Sequence[str], *, has_rows: bool
) -> GateVerdict:
    found = {suspicion.verdict for suspicion in suspicions}
    if "regression" in found:
        return "regression"
    if missing or not has_rows:
        return "missing"
    return "unconfirmed" if "unconfirmed" in found else "passed"


def one_sided(row: Row) -> float | None:
    """Return the p-value of *not worse*; None if unknown."""
    if row.p_value is None:
        return None
    is_larger = (row.value or 0.0) > (row.base_value or 0.0) if row.ratio is None else row.ratio > 1
    is_worse = is_larger == (row.better == "low")
    return row.p_value / 2.0 if is_worse else 1.0 - row.p_value / 2.0


def is_slower(row: Row, level: float, threshold: float) -> bool:
    """Return whether a row is worse at a one-sided level, and may be as much worse as that.

    A metric that may be zero has no ratio: its direction alone counts then.
    """
    p_value = one_sided(row)
    if p_value is None or p_value > level or row.ratio == 1.0:
        return False
    times = slowdown(row)
    return times is None or (times[0] > 1.0 and times[2] >= 1.0 + threshold)


def noise_of(row: Row, *, scatter: float | None) -> Noise:
    """Return the noise of the machine from a row of the base against itself."""
    return Noise(
        experiment=row.experiment,
        levels=row.levels,
        metric=row.metric,
        ratio=row.ratio,
        low=row.low,
        high=row.high,
        scatter=scatter,
        detectable=None if scatter is None else detectable(scatter, row.pairs),
    )


def _name(row: Row) -> str:
    levels = [f"{name}={level}" for name, level in row.levels.items()]
    return " ".join(filter(None, [row.experiment, ", ".join(levels), row.metric, f"({row.arm})"]))
