"""Several systems behind one ceiling: equal throughput says something about the generator."""

from collections.abc import Sequence

from headroom.audit.result import Checked, Finding, Level, Result, Unchecked

MIN_SYSTEMS = 3
EQUAL = 0.02
"""Spread of their largest throughputs. Systems that differ by a fifth (standard deviation of the
logarithm) are three within 2% in one table of 300."""


def ceiling(results: Sequence[Result]) -> Checked:
    """Hold the largest throughput of each system against that of the others."""
    best: dict[str, Result] = {}
    for one in results:
        system = str(one.levels.get("system", one.levels.get("target", "")))
        if not system or one.throughput is None or _is_set(one):
            continue
        if system not in best or one.throughput.value > _rate(best[system]):
            best[system] = one
    if len(best) < MIN_SYSTEMS:
        return (
            None
            if len(best) < 2
            else Unchecked(  # noqa: PLR2004 - several
                check="ceiling", result="all", missing=f"a system more: {MIN_SYSTEMS} are needed"
            )
        )
    rates = sorted(_rate(one) for one in best.values())
    if rates[-1] > rates[0] * (1.0 + EQUAL):
        return []
    return [
        Finding(
            level=Level.DOUBTFUL, check="ceiling", result="all",
            figure=f"{len(best)} systems reach {rates[0]:.4g} to {rates[-1]:.4g}/s, within {EQUAL:.0%}",
            law="different systems saturate at different rates; what they share is generator and network",
            cure="show the generator's own limit against an empty server, and its processor time",
        )
    ]  # fmt: skip


def _is_set(result: Result) -> bool:
    """Return whether the generator set the throughput: an open load below saturation."""
    if result.offered is None or result.throughput is None:
        return result.loop == "open"
    return result.throughput.high >= (1.0 - EQUAL) * result.offered


def _rate(result: Result) -> float:
    return 0.0 if result.throughput is None else result.throughput.value
