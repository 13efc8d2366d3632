"""Answers to what a study asks, where no verdict has them, as sentences.

Invariant: an effect is worded as a gain or a cost only where its whole interval is one; zero of n
is never called safe without what it leaves open.
"""

from collections.abc import Sequence

from headroom.analysis.answer_evidence import (
    Bounded,
    Effect,
    Effects,
    Enough,
    Level,
    Safe,
    Scale,
    Share,
    SinglePoint,
)
from headroom.report.first_screen.sentences.names import (
    is_plural,
    level_number,
    level_words,
    range_words,
    setting_words,
    where_words,
    with_factor,
)
from headroom.report.first_screen.sentences.sentence import (
    AS_IS,
    bounded_words,
    brief,
    brief_percent_of,
    first_short,
    number,
    plain,
    times,
)
from headroom.report.first_screen.sentences.settings import is_time
from headroom.report.sentences.numbers import list_words
from headroom.report.titles import level_title, title_of
from headroom.report.words import count_noun, label_metric

_NAMED = 4
_OFF = 0.1
"""Distance of a value from the power from which on it is said."""


def enough_words(found: Enough) -> str:
    """Return the least level that reaches the share, and what one less gives."""
    least, best = found.least, found.best
    where = where_words(found.where)
    metric = label_metric(plain(found.metric))
    if found.is_open:
        gives = f"{where}{_counted(best)} {_verb(best, 'give', 'gives')} the most that was tried"
        less = f"; {_less(found, found.less)}" if found.less else ""
        return f"{gives}, {_value(found, least)}, and more may give more{less}"
    start = f"{where}{_counted(least.level)} {_verb(least.level, 'are', 'is')} enough"
    share = brief_percent_of(least.share.value)
    is_best = least.level.value == best.value
    much = "as much as" if share == "100%" else f"{share} of what"
    of_best = "" if is_best else f", {much} {_bare(best)} {_verb(best, 'give', 'gives')}"
    less = f"; {_less(found, found.less)}" if found.less else ", the fewest tried"
    return first_short(
        f"{start}: {metric} {_value(found, least)}{of_best}{less}", f"{start}{of_best}{less}"
    )


def _counted(level: Level) -> str:
    return with_factor(level.factor, level.value, level.unit)


def _bare(level: Level) -> str:
    value = level.value
    is_number = isinstance(value, int | float) and _counted(level)[:1].isdigit()
    return level_number(float(value)) if is_number else _counted(level)


def _verb(level: Level, plural: str, singular: str) -> str:
    is_counted = _counted(level)[:1].isdigit()
    return plural if is_counted and level.value != 1 else singular


def _value(found: Enough, share: Share) -> str:
    return brief(share.value.value, share.value.unit, metric=found.metric)


def _less(found: Enough, share: Share) -> str:
    """Return what one less gives; where that rounds to what is asked for, that it is less."""
    level, much, goal = share.level, brief_percent_of(share.share.value), found.goal
    is_told = much != brief_percent_of(goal) or share.share.value >= goal
    gives = f"{_bare(level)} {_verb(level, 'give', 'gives')}"
    return f"{gives} {much if is_told else f'not quite {much}'}"


def value_words(found: SinglePoint) -> str:
    """Return the numbers of one point, with its levels where others were run."""
    if not found.values:
        return "no metric found"
    value, *further = found.values
    start = _taken(value, found.subject) if found.subject else _named(value)
    if found.where:
        is_word = any(level_title(*level) for level in found.where.items())
        start += f" {'with' if is_word else 'at'} {setting_words(found.where)}"
    start += f", the {found.extreme} of {found.points}" if found.extreme else ""
    rest = [_named(one) for one in further]
    return first_short(*(", ".join([start, *rest[:n]]) for n in range(len(rest), -1, -1)))


def _named(value: Bounded) -> str:
    """Return a number with its name; before it, where that counts things a second."""
    label = label_metric(plain(value.metric))
    if _is_rate(value):
        return f"{_amount(value)} {label}"
    if title_of(value.metric) and is_time(value.metric):
        return _taken(value, label)
    return f"{label} {bounded_words(value)}"


def _taken(value: Bounded, subject: str) -> str:
    """Return how long something takes, or its number after a colon."""
    if not is_time(value.metric):
        return f"{subject}: {_named(value)}"
    return f"{subject} {'take' if is_plural(subject) else 'takes'} {bounded_words(value)}"


def _is_rate(value: Bounded) -> bool:
    return value.unit == "1/s" and title_of(value.metric).endswith(" a second")


def _amount(value: Bounded) -> str:
    """Return a rate without its unit, where its name says it: ``1,840 (1,790 to 1,880)``."""
    if _is_rate(value):
        return number(value.value, value.low, value.high, "1")
    return bounded_words(value)


def scale_words(found: Scale) -> str:
    """Return how a metric grows, from where to where."""
    metric = f"{where_words(found.where)}{label_metric(plain(found.metric))}"
    way, ratio = range_words(found.start, found.end), found.ratio
    grown = times(ratio.value, ratio.low, ratio.high)
    power = found.power
    ends = number(power.value, power.low, power.high, "1")
    factor = with_factor(found.end.factor, 2, "1").partition("\N{NO-BREAK SPACE}")[2]
    of = factor or found.end.factor.replace("_", " ")
    if _is_proportional(found):
        verb = "grow" if is_plural(metric) else "grows"
        return f"{metric} {verb} in proportion to {of}: {grown} {way}"
    verb = "grows" if power.value > 0.0 else "falls"
    up_to = found.proportional_to
    till = f", in proportion up to {level_words(up_to)}" if up_to else ""
    off = f", up to {brief_percent_of(found.worst)} off" if found.worst > _OFF else ""
    law = f"{metric} {verb} with {of} to the power {ends}{off}"
    return first_short(f"{law}{till}: {grown} {way}", f"{law}: {grown} {way}", f"{law}{till}")


def _is_proportional(found: Scale) -> bool:
    up_to = found.proportional_to
    return up_to is not None and up_to.value == found.end.value


def safe_words(found: Safe) -> str:
    """Return what went wrong, or what zero of n cannot exclude; for how long users saw it."""
    counts = [(label_metric(plain(one.metric)), one) for one in found.counts]
    where = where_words(found.where)
    if found.expects == "some":
        return f"{where}{_needed(found, counts[0][0])}"
    seen = f"; {_outages(found)}" if found.outages else ""
    wrong = [f"{label} {brief(one.value)}" for label, one in counts if one.value]
    if wrong:
        places = list_words([setting_words(one) for one in found.bad], most=2)
        at = f" (at {places})" if places and len(found.bad) < found.points else ""
        return f"{where}{list_words(wrong)} in {_tried(found)}{at}{seen}"
    names = list_words([f"no {label}" for label, _ in counts])
    open_ = f" (at most 1 in {int(1.0 / found.excluded)} by this many)" if found.excluded else ""
    return f"{where}{names} in {_tried(found)}{open_}{seen}"


def _tried(found: Safe) -> str:
    if found.checked is None:
        return count_noun(found.tries, "run")
    return f"all {found.checked.value:,.0f} {label_metric(plain(found.checked.metric))}"


def _needed(found: Safe, label: str) -> str:
    """Return at how many levels, each without a condition, something goes wrong."""
    noun = found.subject or "levels"
    if len(found.bad) == found.points:
        each = (
            f"each of the {found.points} {noun}"
            if found.points > 1
            else f"the only one of the {noun}"
        )
        return f"{each} is needed: without it there are {label}"
    are = "is" if len(found.bad) == 1 else "are"
    needed = f"{len(found.bad)} of {found.points} {noun} {are} needed"
    return f"{needed}; without the others there are no {label}"


def _outages(found: Safe) -> str:
    told = [
        f"{brief(one.seconds.value, one.seconds.unit, metric=one.seconds.metric)}"
        f"{f' with {setting_words(one.setting)}' if one.setting else ''}"
        for one in found.outages
    ]
    label = label_metric(plain(found.outages[0].seconds.metric))
    return f"{label} at most {list_words(told)}"


def effects_words(found: Effects) -> str:
    """Return what a setting costs or gains, and where that cannot be told."""
    if not found.missing:
        return _effects(found)
    places = list_words([setting_words(one) for one in found.missing], most=2)
    return f"{_effects(found)}; not known at {places}, where one of both has no steady value"


def _effects(found: Effects) -> str:
    """Return the effects grouped by whether they are better, worse or none."""
    where = where_words(found.where)
    named = any(level_title(name, level) for name, level in found.first.items())
    start = where or ("" if named or not found.first else AS_IS)
    if len(found.effects) == 1:
        return f"{start}{_one(found, found.effects[0])}"
    groups = [(name, [one for one in found.effects if one.verdict in own]) for name, own in _GROUPS]
    told = [_group(found, name, effects) for name, effects in groups if effects]
    if found.first and not any(name in {"better", "worse"} and own for name, own in groups):
        pair = f"{setting_words(found.first)} against {setting_words(found.second)}"
        return f"{start}{label_metric(plain(found.metric))} of {pair}: {'; '.join(told)}"
    if not found.first:
        return f"{where}{label_metric(plain(found.metric))}: {'; '.join(told)}"
    return f"{start}{'; '.join(told)}"


_GROUPS: list[tuple[str, set[str]]] = [
    ("better", {"better", "larger"}),
    ("worse", {"worse", "smaller"}),
    ("no difference", {"same"}),
    ("undecided", {"undecided"}),
]


def _group(found: Effects, name: str, effects: Sequence[Effect]) -> str:
    """Return the effects of one verdict: each with its place, or the least of many."""
    is_many = len(effects) > _NAMED
    places = [setting_words(one.where) for one in effects]
    of_all = f"at {len(effects)} of {len(found.effects)} points"
    if name in {"no difference", "undecided"}:
        return f"{name} {of_all if is_many else f'for {list_words(places)}'}"
    if not found.first:
        each = [f"{at} ({_much(one)})" for at, one in zip(places, effects, strict=True)]
        return f"{name} {of_all if is_many else f'for {list_words(each)}'}"
    if is_many:
        is_more = effects[0].ratio.value > 1.0
        ends = [one.ratio.low if is_more else one.ratio.high for one in effects]
        known = [end for end in ends if end is not None] or [one.ratio.value for one in effects]
        span = (
            f"at {'least' if is_more else 'most'} {brief((min if is_more else max)(known))} times"
        )
        return f"{_gives(found, span)} {of_all}"
    shown = [f"{_much(one)} for {at}" for at, one in zip(places, effects, strict=True)]
    return f"{_gives(found, list_words(shown), is_last=False)}"


def _much(effect: Effect) -> str:
    return times(effect.ratio.value, None, None)


def _gives(found: Effects, much: str, *, is_last: bool = True) -> str:
    """Return the subject, how much it has or takes, and of what, in one of two orders."""
    subject, metric = setting_words(found.first), label_metric(plain(found.metric))
    verbs = ("take", "takes") if found.better == "low" else ("have", "has")
    verb = verbs[0] if is_plural(subject) else verbs[1]
    of = f"the {metric} of {setting_words(found.second)}"
    return f"{subject} {verb} {much} {of}" if is_last else f"{subject} {verb}, of {of}, {much}"


def _one(found: Effects, effect: Effect) -> str:
    """Return one effect: a share that it costs or saves, or times what it is."""
    ratio, metric = effect.ratio, label_metric(plain(found.metric))
    place = f" at {setting_words(effect.where)}" if effect.where else ""
    if not found.first:
        return f"{metric} {times(ratio.value, ratio.low, ratio.high)}{place}"
    first, second = setting_words(found.first), setting_words(found.second)
    if effect.verdict == "undecided":
        ends = [one for one in (ratio.low, ratio.high) if one is not None]
        shown = " to ".join(brief_percent_of(one) for one in ends) or brief_percent_of(ratio.value)
        takes = "have" if is_plural(first) else "has"
        return f"not decided: {first} {takes} {shown} of the {metric} of {second}{place}"
    if effect.verdict == "same":
        return f"no difference between {first} and {second} in {metric}{place}"
    pair = _pair(effect)
    is_plus = is_plural(first)
    if ratio.value < 1.0:
        share = number(
            1.0 - ratio.value, _less_one(ratio.high), _less_one(ratio.low), "1", metric="share"
        )
        is_cost = effect.verdict == "worse"
        verb = ("cost" if is_plus else "costs") if is_cost else ("save" if is_plus else "saves")
        return f"{first} {verb} {share} of the {metric} of {second}{place}{pair}"
    much = times(ratio.value, ratio.low, ratio.high)
    if found.better == "low" and is_time(found.metric):
        return (
            f"{first} {'take' if is_plus else 'takes'} {much} the {metric} of {second}{place}{pair}"
        )
    return f"{first} {'have' if is_plus else 'has'} {much} the {metric} of {second}{place}{pair}"


def _less_one(end: float | None) -> float | None:
    return None if end is None else 1.0 - end


def _pair(effect: Effect) -> str:
    if effect.first is None or effect.second is None:
        return ""
    first, second = (
        _amount(Bounded(value=one.value, metric=one.metric, unit=one.unit))
        for one in (effect.first, effect.second)
    )
    return f": {first} instead of {second}"
