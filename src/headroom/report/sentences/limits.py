"""The level at which a limit breaks, and whether the current load keeps it, as sentences."""

from headroom.analysis.evidence import CrossingEvidence
from headroom.analysis.results import LimitCrossing
from headroom.quantities import format_bounds, format_given, format_level, format_levels
from headroom.report.sentences.knee import without_words
from headroom.report.sentences.numbers import capital, given_times
from headroom.report.words import count_noun, label_metric

_KEPT = {"holds": "kept", "differs": "broken", "undecided": "undecided"}
_WIDE = 0.1
"""Interval of a break, relative to it, from which more levels are advised."""
_UNDECIDED = {
    "no_level_near": "no levels with results around it; add some",
    "few_replications": "too few replications for an interval",
    "next_to_saturated": "a neighbouring level is saturated; add a level",
    "includes_limit": "the interval includes the limit; run more replications or add a level",
    "prediction": (
        "the prediction interval includes the limit; measure nearer to it, then fit again"
    ),
}


def limit_sentences(found: LimitCrossing) -> str:
    """Return where a limit breaks, what restricts that answer, and whether it is kept now."""
    sentences = [f"{_crossing(found)}{_added(found)}", *crossing_notes(found), *_current(found)]
    return " ".join(f"{capital(sentence)}." for sentence in sentences)


def format_break_level(found: LimitCrossing) -> str:
    """Return the level at which a limit breaks, with its interval; empty if there is none.

    Examples
    --------
    >>> format_break_level(LimitCrossing(metric="response_s_p95", unit="s", at_most=0.2,
    ...     at_least=None, factor="users", where={}, state="breaks", level=241.2, level_low=236.1,
    ...     level_high=247.9))
    '241 (236 to 248)'
    """
    if found.level is not None:
        return format_bounds(found.level, found.level_low, found.level_high, "1")
    if found.level_low is None or found.level_high is None:
        return ""
    return f"{format_level(found.level_low)} to {format_level(found.level_high)}"


def kept_word(found: LimitCrossing) -> str:
    """Return whether a limit is kept at the current load; empty without one."""
    return "" if found.verdict is None else _KEPT[found.verdict]


def undecided_words(evidence: CrossingEvidence) -> str:
    """Return why it is not known whether a limit is kept, empty if it is.

    Examples
    --------
    >>> undecided_words(CrossingEvidence(undecided="few_replications"))
    'too few replications for an interval'
    """
    return _UNDECIDED.get(evidence.undecided, evidence.message)


def _crossing(found: LimitCrossing) -> str:
    """Return where a metric reaches its limit, or that it does not."""
    held = f"with {format_levels(found.where)}, " if found.where else ""
    start = f"{held}{label_metric(found.metric)}"
    is_upper = found.at_most is not None
    limit = (found.at_most if is_upper else found.at_least) or 0.0
    bound = format_given(limit, found.unit, metric=found.metric)
    at = f"{found.factor} = {format_level(found.evidence.at)}"
    if found.state == "unclear":
        side = "at most" if is_upper else "at least"
        return f"{start}, {side} {bound}: undecided{_unclear(found.evidence, at)}"
    if found.state == "breaks":
        return _break(found, start, bound)
    is_above = found.kept == "above"
    if found.state == "holds":
        stays = f"stays {'at most' if is_upper else 'at least'} {bound}"
        return f"{start} {stays} {f'from {at} on' if is_above else f'up to {at}'}"
    verb = "exceeds" if is_upper else "is below"
    end = "up to the highest" if is_above else "from the lowest"
    return f"{start} {verb} {bound} {end} level, {at}"


def _break(found: LimitCrossing, start: str, bound: str) -> str:
    """Return where a limit breaks, or from where on it is kept."""
    is_upper = found.at_most is not None
    stays = f"{start} stays {'at most' if is_upper else 'at least'} {bound}"
    if found.kept == "between":
        return f"{stays} only from {found.factor} = {format_break_level(found)}"
    if found.kept == "above":
        return f"{stays} {_from(found)}"
    if found.level is None:
        verb = "exceeds" if is_upper else "falls below"
        return f"{start} {verb} {bound} between {_between(found)}"
    verb = "reaches" if is_upper else "falls to"
    return f"{start} {verb} {bound} at {found.factor} = {format_break_level(found)}{_left(found)}"


def _from(found: LimitCrossing) -> str:
    """Return from which level on a limit is kept, of what is better if there is more of it."""
    place = f"from {found.factor} = {format_break_level(found)} on"
    if found.holds_at is None:
        return place
    first = f"{found.factor} = {format_level(found.holds_at)}"
    return f"{place}; the lowest level that surely keeps it is {first}"


def _unclear(evidence: CrossingEvidence, at: str) -> str:
    return {
        "no_results": "; no level has results",
        "near_limit": f" at {at}: the interval includes the limit",
        "prediction": f" at {at}: the prediction interval includes the limit",
    }.get(evidence.unclear, f"; {evidence.message}")


def _between(found: LimitCrossing) -> str:
    """Return the levels between which a limit breaks, if no line leads to the break."""
    low, high = format_level(found.level_low), format_level(found.level_high)
    words = f"{found.factor} = {low} and {high}"
    if found.headroom_low is None or found.headroom_high is None:
        return words
    first, last = (_brief_times(one) for one in (found.headroom_low, found.headroom_high))
    return f"{words}, {first} to {last} the current load"


def _left(found: LimitCrossing) -> str:
    return "" if found.headroom is None else f", {_brief_times(found.headroom)} the current load"


def _brief_times(ratio: float) -> str:
    return given_times(float(f"{ratio:.2g}"))


def _added(found: LimitCrossing) -> str:
    return f" ({count_noun(found.added, 'level')} added)" if found.added else ""


def crossing_notes(found: LimitCrossing) -> list[str]:
    """Return the restrictions on the level at which a limit breaks, as clauses."""
    one, is_above = found.evidence, found.kept == "above"
    advice = {
        "near_limit": "run more replications",
        "prediction": "measure nearer to the limit, then fit again",
    }
    clauses = {
        advice.get(one.unclear, ""): found.state == "unclear",
        f"{found.factor} = {format_level(one.before if is_above else one.after)} is saturated": (
            one.is_saturated
        ),
        "it changes at least tenfold there": one.is_jump,
        "`refine` of the limit adds levels there": _is_wide(found),
        f"it is kept again at a {'lower' if is_above else 'higher'} level": found.is_kept_again,
        f"at {', '.join(map(format_level, one.undecided_at))} the interval includes it": bool(
            one.undecided_at and found.state in {"holds", "broken"}
        ),
        "the interval ends with the levels": one.is_cut,
        "there are too few replications for an interval": one.lacks_interval,
    }
    return [
        *(words for words, is_so in clauses.items() if is_so and words),
        *without_words(one.without),
    ]


def _is_wide(found: LimitCrossing) -> bool:
    """Return whether more levels would tell a break much better, and none was added yet."""
    if found.state != "breaks" or found.kept == "between" or found.added:
        return False
    low, high = found.level_low, found.level_high
    return low is not None and high is not None and high - low > _WIDE * abs(high)


def _current(found: LimitCrossing) -> list[str]:
    """Return whether the limit is kept at the current load, as `--check` asks."""
    if found.verdict is None:
        return []
    reason = undecided_words(found.evidence) if found.verdict == "undecided" else ""
    load = f"{found.factor} = {format_level(found.current)}"
    why = f": {reason}" if reason else ""
    return [f"at the current load, {load}, it is {kept_word(found)}{why}"]
