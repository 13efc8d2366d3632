"""The effect of a change of stations or pools, as sentences."""

from headroom.analysis.evidence import AppliedChange
from headroom.analysis.results import Bottleneck, Effect, WhatIfResult
from headroom.quantities import (
    format_level,
    format_limit,
    format_percent,
    format_quantity,
    format_ratio,
)
from headroom.report.sentences.runs import warm_up_words
from headroom.report.words import join_words, label_metric

_MANY = 3.0
"""Ratio, either way, from which a change is not given in percent."""
_NOTHING = 0.001
"""Change below which nothing is said to happen."""


def effects_clause(effects: list[Effect]) -> str:
    """Return by how much metrics rise or fall.

    Parameters
    ----------
    effects
        Effects on one metric or more.

    Examples
    --------
    >>> effect = Effect(metric="throughput", unit="1/s", better="high", before=222.0, after=284.9,
    ...     ratio=1.2835, low=1.2771, high=1.2912, pairs=5, variance_reduction=1.3)
    >>> effects_clause([effect])
    'throughput rises by 28.4% (27.7% to 29.1%)'
    """
    largest = max(map(_largest_change, effects))
    if largest <= _NOTHING:
        return f"no effect (under {format_limit(_NOTHING)})"
    return join_words([_effect(effect) for effect in effects])


def _largest_change(effect: Effect) -> float:
    ends = [effect.ratio, effect.low, effect.high]
    return max(abs(end - 1.0) for end in ends if end is not None)


def _effect(effect: Effect) -> str:
    name = label_metric(effect.metric)
    low, high = effect.low, effect.high
    if low is not None and high is not None and low <= 1.0 <= high:
        return f"{name} changes by at most {format_limit(_largest_change(effect))}"
    verb, sign = ("rises", 1.0) if effect.ratio > 1.0 else ("falls", -1.0)
    if low is None or high is None:  # The ratio is too uncertain to be one number.
        ends = (effect.before, effect.after)
        before, after = (format_quantity(end, effect.unit, metric=effect.metric) for end in ends)
        return f"{name} {verb} from {before} to {after} (these runs do not bound the ratio)"
    if low <= 0.0 < high:
        return f"{name} falls to at most {format_ratio(high, None, None)}"
    if not 1.0 / _MANY < effect.ratio < _MANY:
        return f"{name} {verb} to {format_ratio(effect.ratio, low, high)}"
    change = format_percent(sign * (effect.ratio - 1.0))
    first, last = sorted((sign * (low - 1.0), sign * (high - 1.0)))
    return f"{name} {verb} by {change} ({format_percent(first)} to {format_percent(last)})"


def next_bottleneck(verdict: Bottleneck | None) -> str:
    """Return the bottleneck after a change, as a sentence; empty if unknown."""
    if verdict is None:
        return ""
    return f'Next bottleneck: "{verdict.name}".' if verdict.limits else "No bottleneck then."


def changes_words(found: WhatIfResult) -> str:
    """Return the changes that were tried together, with the numbers before and after.

    Examples
    --------
    >>> cpu = AppliedChange(kind="station", name="cpu", aspect="servers", before=2.0, after=4)
    >>> changes_words(WhatIfResult(change="", applied=[cpu], done=5, failed=0))
    'cpu 2 to 4 servers'
    """
    return " and ".join(map(_change_words, found.applied))


def _change_words(one: AppliedChange) -> str:
    # A name with blanks is quoted: a number behind it might be mistaken for a part of it.
    is_plain = one.kind == "parameter" or not any(sign.isspace() for sign in one.name)
    name = one.name if is_plain else f'"{one.name}"'
    unit = "" if one.kind == "parameter" else f" {one.aspect}"
    if one.aspect == "speed":
        return f"{name} {format_level(one.factor)} times as fast"
    if one.aspect == "repair":
        return f"{name} repaired in {format_level(one.factor)} times the time"
    if one.after is None:
        return f"{name} {format_level(one.factor)} times{unit and f' the{unit}'}"
    if one.before is not None:
        return f"{name} {format_level(one.before)} to {format_level(one.after)}{unit}"
    return f"{name} {'' if unit else 'to '}{format_level(one.after)}{unit}"


def no_effect_words(found: WhatIfResult) -> str:
    """Return why a change has no effects, as a clause; empty if it has some."""
    reason = found.why_empty
    if reason is None:
        return ""
    if reason.warm_up is not None:
        return warm_up_words(reason.warm_up)
    if reason.code == "steady_then":
        served = format_quantity(reason.served_per_s or 0.0, "1/s")
        return f"it has a steady state then, which it lacks now: {served} are served"
    return reason.message or "too few sound replications to compare"
