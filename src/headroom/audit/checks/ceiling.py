"""Several systems behind one ceiling: equal throughput says something about the generator."""

from collections.abc import Sequence

from headroom.audit.result import Checked, Result, Unchecked, doubt, rate_in_words

MIN_SYSTEMS = 3
EQUAL = 0.02
"""Spread of their largest throughputs. Systems that differ by a fifth (standard deviation of the
logarithm) are three within 2% in one table of 300."""


def ceiling(results: Sequence[Result]) -> Checked:
    """Hold the largest throughput of each system against that of the others."""
    best: dict[str, float] = {}
    for one in results:
        system = str(one.levels.get("system", one.levels.get("target", "")))
        if system and one.throughput is not None and not _is_set(one):
            best[system] = max(best.get(system, 0.0), one.throughput.value)
    if len(best) <= 1:
        return None
    if len(best) < MIN_SYSTEMS:
        return Unchecked(missing="a third system")
    low, high = min(best.values()), max(best.values())
    if high > low * (1.0 + EQUAL):
        return []
    figure = f"{len(best)} systems reach {rate_in_words(low)} to {rate_in_words(high)}"
    law = "different systems saturate at different rates; they share the generator and the network"
    cure = "show the generator's own limit against an empty server, and its processor time"
    return [doubt(figure, law, cure)]


def _is_set(result: Result) -> bool:
    """Return whether the generator set the throughput: an open load below saturation."""
    if result.offered is None or result.throughput is None:
        return result.loop == "open"
    return result.throughput.high >= (1.0 - EQUAL) * result.offered
