"""Effects of changes, as sentences.

Invariant: a gain is worded only where the statement says that its whole interval is one, and a
limit is called kept after a change only where the whole interval keeps it.
"""

from collections.abc import Sequence

from headroom.analysis.answer_evidence import Changes, TriedChange
from headroom.quantities import format_given
from headroom.report.first_screen.sentences.names import applied_words, setting_words
from headroom.report.first_screen.sentences.sentence import NO_BREAK, brief, number, plain, times
from headroom.report.sentences.numbers import capital, list_words
from headroom.report.words import label_metric

_NAMED = 3


def changes_words(found: Changes) -> str:
    """Return the effects of the tried changes."""
    start = f"at {setting_words(found.levels)}, " if found.levels else ""
    best = found.best
    if best is None:
        return f"{start}{_in_vain(found)}"
    if found.bound is not None:
        return f"{start}{_for_limit(found, best, found.bound)}"
    words = f"{start}{applied_words(best.applied)} {_gives(best)}"
    if found.further is not None:
        words += f"; {applied_words(found.further.applied)} {_effect(found.further)}"
    return f"{words}{_nothing(found.no_gain)}"


def _in_vain(found: Changes) -> str:
    names = list_words([applied_words(one.applied) for one in found.no_gain], most=_NAMED)
    if not names:
        return "no change that was tried clearly gains"
    unclear = f"; {found.unclear} undecided" if found.unclear else ""
    metrics = {label_metric(plain(one.metric)) for one in found.no_gain}
    gains = f"improves {metrics.pop()}" if len(metrics) == 1 else "gains"
    return f"no change that was tried {gains}: {names}{unclear}"


def _nothing(no_gain: Sequence[TriedChange]) -> str:
    """Return the changes that gain nothing, as a separate sentence; empty if there are none."""
    if not no_gain:
        return ""
    names = list_words([applied_words(one.applied) for one in no_gain], most=_NAMED)
    gain = _verb(no_gain[0], "gains", "gain") if len(no_gain) == 1 else "gain"
    return f". {capital(names)} {gain} nothing"


def _for_limit(found: Changes, best: TriedChange, bound: float) -> str:
    """Return the smallest change that keeps a limit with its value, and which others do."""
    words = f"{applied_words(best.applied)} {_verb(best, 'brings', 'bring')} {_after(best)}"
    side = "within" if found.is_upper else "above"
    limit = format_given(bound, best.unit, metric=best.metric).replace(" ", NO_BREAK)
    if not best.meets:
        return f"no change that was tried surely stays {side} {limit}: {words}"
    others = [
        f"{applied_words(one.applied)} ({brief(one.after, one.unit, metric=one.metric)})"
        for one in found.also
    ]
    does = _verb(found.also[0], "does", "do") if len(others) == 1 else "do"
    also = f"; so {does} {list_words(others, most=_NAMED)}" if others else ""
    return f"{words}, {side} {limit}{also}{_nothing(found.no_gain)}"


def _after(change: TriedChange) -> str:
    """Return a metric before and after a change: ``response time from 200 ms to 23 ms``."""
    after = number(
        change.after, change.after_low, change.after_high, change.unit, metric=change.metric
    )
    start = ""
    if change.before is not None:
        start = f"from {brief(change.before, change.unit, metric=change.metric)} "
    return f"{label_metric(plain(change.metric))} {start}to {after}"


def _gives(change: TriedChange) -> str:
    metric = label_metric(plain(change.metric))
    if change.gain is None:
        return f"{_verb(change, 'brings', 'bring')} {_after(change)}"
    if change.better == "high":
        much, _, bounds = _effect(change).partition(" ")
        return f"{_verb(change, 'gives', 'give')} {much} the {metric} {bounds}".rstrip()
    share, _, bounds = _effect(change).partition(" ")
    if change.gain.high is None:
        return f"{_verb(change, 'brings', 'bring')} {metric} to {_effect(change)}"
    return f"{_verb(change, 'brings', 'bring')} {metric} to {share} of what it is {bounds}".rstrip()


def _verb(change: TriedChange, singular: str, plural: str) -> str:
    """Return the form of a verb that fits the noun of a change."""
    words = applied_words(change.applied)
    is_one = change.applied[0].aspect == "speed" or words.startswith(("a ", "an "))
    is_count = len(change.applied) > 1 or words[:1].isdigit() or words.startswith("twice")
    return singular if len(change.applied) == 1 and (is_one or not is_count) else plural


def _effect(change: TriedChange) -> str:
    """Return how many times a metric is what it was; of one that falls, in per cent."""
    gain = change.gain
    if gain is None:
        return _after(change)
    if change.better == "high":
        return times(gain.value, gain.low, gain.high)
    if gain.low is not None and gain.high is None:
        return f"at most {number(1.0 / gain.low, None, None, '1', metric='share')} of what it is"
    ends = [None if one is None else 1.0 / one for one in (gain.value, gain.high, gain.low)]
    return number(ends[0] or 0.0, ends[1], ends[2], "1", metric="share")
