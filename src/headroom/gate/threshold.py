"""The gate: whether anything is surely slower, by as much as a threshold.

A row is suspected if it is slower at the one-sided level `FIRST_LEVEL`, and its 95% interval
reaches the threshold. New runs of the suspected rows alone decide: a regression is slower at the
level ``LEVEL / (FIRST_LEVEL * rows)``, at most `FIRST_LEVEL`, and may be as slow as the threshold.
Both looks have different runs in random order, so a row without a difference fails both with at
most ``LEVEL / rows``, and any of them with at most `LEVEL`, whatever noise the machine has.

If a repetition is impossible (results in a file), the p-values of the first look,
corrected by Holm's method, have to be below `LEVEL` on their own, and the answer says so.

Invariant: a row without results never passes.
"""

import math
from collections.abc import Callable, Sequence

from headroom.analysis.statistics.signed_ranks import fewest_pairs
from headroom.gate.judging import holm
from headroom.gate.result import Gate, GateVerdict, Noise, Row, Suspicion

LEVEL = 0.01
"""Probability of a false alarm of a whole gate."""
FIRST_LEVEL = 0.05
"""One-sided level of the first look at each row."""
BLOCKS = 25
"""Blocks of the first look unless the user says otherwise."""
AGAIN_TIMES = 2
"""Blocks of the second look, in multiples of the first: it concerns few rows."""
_RANK_EFFICIENCY = 0.955
"""Of signed ranks, relative to Student's t, for normal values."""
_NINE_IN_TEN = 1.2816

MeasureAgain = Callable[[Sequence[Row]], Sequence[Row]]
"""Measures suspected rows again; returns them in the same order, from new runs alone."""


def is_judged(row: Row) -> bool:
    """Return whether a gate judges a row: it knows which direction is worse."""
    return row.better != "none"


def again_level(rows: int) -> float:
    """Return the one-sided level of the second look.

    Examples
    --------
    >>> again_level(1), round(again_level(20), 3), round(again_level(100), 3)
    (0.05, 0.01, 0.002)
    """
    return min(LEVEL / (FIRST_LEVEL * max(rows, 1)), FIRST_LEVEL)


def fewest_blocks(rows: int) -> int:
    """Return the blocks with which a gate of `rows` rows can decide at all.

    Examples
    --------
    >>> fewest_blocks(1), fewest_blocks(100)
    (6, 6)
    >>> fewest_blocks(10_000)
    8
    """
    again = math.ceil(-math.log2(again_level(rows)) / AGAIN_TIMES)
    return max(fewest_pairs(), again)


def gate_of(
    rows: Sequence[Row],
    *,
    threshold: float,
    again: MeasureAgain | None,
    missing: Sequence[str] = (),
    why_not: str = "",
) -> Gate:
    """Return the decision on the rows of a comparison.

    Parameters
    ----------
    rows
        All rows of the first look.
    threshold
        Slowdown (share, above 0) that counts as a regression.
    again
        Measures suspected rows again; None if that is impossible, and `why_not` says why.
    missing
        Points with results on one side only; rows without results are added.
    """
    known = [row for row in rows if is_judged(row)]
    missing = [*missing, *(_name(row) for row in known if row.p_value is None)]
    suspected = [row for row in known if is_slower(row, FIRST_LEVEL, threshold)]
    level = again_level(len(known))
    if again is None:
        suspicions = _alone(known, threshold)
    else:
        suspicions = _repeated(suspected, again(suspected) if suspected else [], level, threshold)
    return Gate(
        threshold=threshold,
        level=LEVEL,
        first_level=FIRST_LEVEL,
        again_level=level,
        rows=len(known),
        verdict=_verdict(suspicions, missing, has_rows=bool(known)),
        suspicions=suspicions,
        missing=missing,
        not_repeated=why_not if suspicions and again is None else "",
    )


def _repeated(
    suspected: Sequence[Row], again: Sequence[Row], level: float, threshold: float
) -> list[Suspicion]:
    return [
        Suspicion(
            first=first,
            again=second,
            verdict="unconfirmed"
            if second.p_value is None
            else "regression"
            if is_slower(second, level, threshold)
            else "cleared",
        )
        for first, second in zip(suspected, again, strict=True)
    ]


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
    return math.expm1((1.6449 + _NINE_IN_TEN) * pair)


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
