"""Settings compared with each other, as sentences.

Invariant: a sentence claims no more than the intervals of its statement carry: a gain, a winner or
an equality is worded only where the statement says that the whole interval is on one side.
"""

import re

from headroom.analysis.answer_evidence import (
    Bounded,
    Comparison,
    Equal,
    Goal,
    Setting,
    Settings,
    TradeOff,
    Undecided,
)
from headroom.quantities import format_given
from headroom.report.first_screen.sentences.names import (
    is_plural,
    level_words,
    setting_words,
    where_words,
)
from headroom.report.first_screen.sentences.sentence import (
    AS_IS,
    bounded_words,
    brief_percent_of,
    first_short,
    plain,
    times,
)
from headroom.report.sentences.numbers import list_words
from headroom.report.titles import level_title
from headroom.report.words import count_noun, label_metric

_NAMED = 3


def comparison_words(found: Comparison) -> str:
    """Return how many times better one setting is."""
    first, second = setting_words(found.first), setting_words(found.second)
    metric = label_metric(plain(found.metric))
    if found.beyond is not None:
        how = "faster" if found.better == "low" and is_time(found.metric) else "better"
        by = "" if how == "faster" else f" by {metric}"
        where = where_words(found.where) or AS_IS
        place = f"from {level_words(found.beyond)} on"
        return f"{where}{first} is {how} than {second}{by} {place}; below, {second} is"
    ratio = times(found.ratio.value, found.ratio.low, found.ratio.high)
    much, _, bounds = ratio.partition(" ")
    if found.is_least and found.ratio.low is not None:
        much, bounds = f"at least {times(found.ratio.low, None, None)}", ""
    bracket = f" {bounds}" if bounds else ""
    is_named = any(level_title(name, level) for name, level in found.first.items())
    where = where_words(found.where) or ("" if is_named else AS_IS)
    if found.better == "low" and is_time(found.metric):
        verb = "are" if is_plural(first) else "is"
        words = f"{first} {verb} {much} as fast as {second}{bracket}"
    elif found.better == "low":
        verb = "take" if is_plural(second) else "takes"
        words = f"{second} {verb} {much} the {metric} of {first}{bracket}"
    else:
        verb = "have" if is_plural(first) else "has"
        words = f"{first} {verb} {much} the {metric} of {second}{bracket}"
    return f"{where}{words}{_combinations(found)}"


def is_time(metric: str) -> bool:
    """Return whether a metric is a time, by its unit."""
    return re.search(r"_s(_|$)", metric) is not None


def _combinations(found: Comparison) -> str:
    others = found.worse_count + found.same_count + found.undecided_count
    total = found.better_count + others
    if total == 1:
        return ""
    if not others:
        return ", at both points" if total == 2 else f", at all {total} points"  # noqa: PLR2004
    counts = [
        (found.worse_count, "worse"),
        (found.same_count, "the same"),
        (found.undecided_count, "undecided"),
    ]
    rest = list_words([f"{count} {word}" for count, word in counts if count])
    return f", at {found.better_count} of {total} points; {rest}"


def equal_words(found: Equal) -> str:
    """Return that two settings are the same, with the interval that says so."""
    first, second = setting_words(found.first), setting_words(found.second)
    within = brief_percent_of(found.same_within)
    metric = label_metric(plain(found.metric))
    where = where_words(found.where)
    points = f", at all {found.count} points" if found.count > 1 else ""
    low, high = found.ratio.low, found.ratio.high
    if low is None or high is None:
        return f"{where}no difference between {first} and {second} in {metric}{points}"
    ends = f"{_percent_of(low)} to {_percent_of(high)}"
    return (
        f"{where}no difference: {metric} of {first} is {ends} of that of {second}, within the "
        f"{within} asked for{points}"
    )


def _percent_of(ratio: float) -> str:
    digits = 1 if abs(ratio - 1.0) < 0.02 else 0  # noqa: PLR2004 - near one a whole per cent hides
    return f"{100.0 * ratio:.{digits}f}%"


def undecided_words(found: Undecided) -> str:
    """Return the open question, and how many more runs would decide it."""
    metric = label_metric(plain(found.metric))
    where = where_words(found.where)
    if found.code == "few_runs":
        return f"not decided: {where}too few runs for an interval of {metric}"
    if found.code == "ranking":
        return f"not decided: {where}by {metric}, no setting is clearly best"
    if found.code == "target":
        bound = format_given(found.bound or 0.0, found.unit, metric=found.metric)
        at = f"at {level_words(found.level)} " if found.level else ""
        return f"not decided: {at}the interval of {metric} includes the limit of {bound}"
    if found.ratio is None:
        return "not decided: the intervals include both answers"
    return f"not decided: {_open_ratio(found, found.ratio)}{_more(found)}"


def _open_ratio(found: Undecided, ratio: Bounded) -> str:
    first, second = setting_words(found.first), setting_words(found.second)
    metric = label_metric(plain(found.metric))
    low, high = ratio.low or ratio.value, ratio.high or ratio.value
    ends = f"{_percent_of(low)} to {_percent_of(high)}"
    if found.better == "low":  # The ratio counts what is better: turned back it is that of times.
        ends = f"{_percent_of(1.0 / high)} to {_percent_of(1.0 / low)}" if low else ends
    where = where_words(found.where)
    runs = f" after {count_noun(found.count, 'run')}" if found.count else ""
    return f"{where}{first} takes {ends} of the {metric} of {second}{runs}"


def _more(found: Undecided) -> str:
    return f"; about {found.more:,} more would decide" if found.more else ""


def trade_off_words(found: TradeOff) -> str:
    """Return which setting is best for what, and which are beaten."""
    goals = f"{where_words(found.where) or AS_IS}{', '.join(map(_goal, found.goals))}"
    if len(found.goals) == 1:
        others = [setting_words(one) for one in found.goals[0].saturated]
        are = "is saturated" if len(others) == 1 else "are saturated"
        end = f"{list_words(others, most=_NAMED)} {are}" if others else "no clear difference"
        return f"{goals}: {end}"
    full = f"{goals}{_beaten(found)}"
    return first_short(full, f"{goals}{_beaten_count(found)}")


def _goal(goal: Goal) -> str:
    first, *rest = goal.settings[:_NAMED]
    names = [setting_words(one) for one in (first, *(_apart(first, one) for one in rest))]
    return f"{' or '.join(names)} for {label_metric(plain(goal.metric))}"


def _apart(first: Setting, other: Setting) -> Setting:
    """Return the levels of a setting without those that it begins with like the first one.

    Examples
    --------
    >>> _apart({"block": 4, "order": "random"}, {"block": 4, "order": "sequential"})
    {'order': 'sequential'}
    """
    rest = dict(other)
    for name, level in other.items():
        if first.get(name) != level:
            break
        del rest[name]
    return rest or other


def _beaten(found: TradeOff) -> str:
    names = [setting_words(one.setting) for one in found.beaten]
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return f"; {list_words(names, most=_NAMED)} {verb} beaten on both counts"


def _beaten_count(found: TradeOff) -> str:
    count = len(found.beaten)
    verb = "is" if count == 1 else "are"
    return f"; {count} of {found.settings} {verb} beaten on both counts" if count else ""


def settings_words(found: Settings) -> str:
    """Return the values of the best settings."""
    rows = []
    for goal, values in zip(found.goals, found.values, strict=True):
        worth = [f"{label_metric(plain(one.metric))} {bounded_words(one)}" for one in values]
        rows.append(f"{setting_words(goal.settings[0])}: {', '.join(worth)}")
    return f"{AS_IS}{'; '.join(rows)}"
