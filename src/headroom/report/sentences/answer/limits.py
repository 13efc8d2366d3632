"""Limits of a system and effects of changes, as sentences.

Invariant: a sentence claims no more than the intervals of its statement carry: a gain, a winner or
an equality is worded only where the statement says that the whole interval is on one side.
"""

from collections.abc import Sequence

from headroom.analysis.answer_evidence import (
    Busiest,
    Changes,
    Disturbed,
    Incomplete,
    Limit,
    NoLimit,
    Saturated,
    Target,
    TriedChange,
)
from headroom.quantities import format_given
from headroom.report.sentences.answer.names import (
    advice,
    applied_words,
    level_number,
    level_words,
    noun,
    setting_words,
    where_words,
)
from headroom.report.sentences.answer.sentence import (
    NO_BREAK,
    brief,
    brief_percent_of,
    first_short,
    number,
    plain,
    times,
)
from headroom.report.sentences.numbers import capital, list_words
from headroom.report.sentences.runs import warm_up_words
from headroom.report.words import count_noun, label_metric

_CAUSES = {
    "others": "other programs took up to {} of {}",
    "steal": "the host took up to {} of {}",
    "throttling": "the processor quota was exhausted in up to {} of its periods",
    "swapping": "swapping took up to {} of the time",
    "slower": "processor or memory were up to {} slower",
}
MAX_REASON = 60
"""Signs of a reason up to which the answer states it; what follows states longer ones."""
_NAMED = 3


def incomplete_words(found: Incomplete) -> str:
    """Return why there is no answer."""
    if found.code == "runs_left":
        return f"no answer yet: {found.done:,} of {count_noun(found.planned, 'run')} are done"
    reason = incomplete_reason(found)
    because = f" ({reason})" if reason and len(reason) <= MAX_REASON else ""
    if found.code == "failed":
        return f"no answer: {found.failed:,} of {count_noun(found.planned, 'run')} failed{because}"
    if found.code == "not_fitted":
        return f"no answer: parameters could not be fitted{because}"
    points = count_noun(found.points, "point")
    return f"no answer: {found.points_without:,} of {points} have no results{because}"


def incomplete_reason(found: Incomplete) -> str:
    """Return why there is no answer, on one line; empty if unknown."""
    reason = warm_up_words(found.warm_up) if found.warm_up else plain(found.reason)
    return " ".join(reason.split())


def disturbed_words(found: Disturbed) -> str:
    """Return the disturbance of most runs."""
    cores = f"{found.cores:g} cores" if found.cores else "the processors"
    cause = _CAUSES[found.cause].format(brief_percent_of(found.share), cores)
    return f"disturbed: {cause} in {found.count:,} of {count_noun(found.done, 'run')}"


def saturated_words(found: Saturated) -> str:
    """Return from where on a part is offered more than it can do."""
    part = noun(found.part)
    load = found.load
    is_sure = load is not None and load.value > 1.0 and (load.low is None or load.low > 1.0)
    much = f"{brief(load.value)} times what" if load and is_sure else "more than"
    words = f"{part.text} {part.verb('is', 'are')} offered {much} {part.verb('it', 'they')} can do"
    if found.level is None or found.is_everywhere:
        where = "at every level" if found.level else ""
        return f"saturated{' ' if where else ''}{where}: {words}"
    do = f"; {advice(found.steadied_by, found.part)}" if found.steadied_by else ""
    start = f"{where_words(found.where)}saturated from {level_words(found.level)} on: {words}"
    return first_short(f"{start}{do}", start)


def limit_words(found: Limit) -> str:
    """Return which part limits, from where on, and what to do."""
    part = noun(found.part)
    limits = f"{where_words(found.where)}{part.text} {part.verb('limits', 'limit')}"
    do = f": {advice(found.best.applied, found.part)}" if found.best else ""
    place, aside = _limit_place(found), _not_at(found)
    return first_short(f"{limits}{place}{aside}{do}", f"{limits}{place}{do}", f"{limits}{place}")


def _limit_place(found: Limit) -> str:
    if found.level is not None:
        return f" from {level_words(found.level)}{' on' if found.level.low is None else ''}"
    if found.end is not None:
        return f" up to {level_words(found.end)}"
    if found.points < found.judged:
        return f" at {found.points} of {found.judged} points"
    share = found.part.utilization
    busy = f", {brief_percent_of(share.value)} busy" if share is not None else ""
    return " at every level" if found.judged > 1 else busy


def _not_at(found: Limit) -> str:
    """Return the last level without a limit, unless the interval of a knee says as much."""
    is_planned = found.level is not None and found.level.low is None
    is_known = is_planned and found.last_free is not None
    return f", not at {level_number(found.last_free or 0.0)}" if is_known else ""


def no_limit_words(found: NoLimit) -> str:
    """Return that no part limits, and which is the busiest."""
    start = f"no limit found up to {level_words(found.level)}" if found.level else "no limit found"
    if found.part is None or found.part.utilization is None:
        return start
    part = noun(found.part)
    share = brief_percent_of(found.part.utilization.value)
    return f"{start}: the busiest part, {part.text}, is {share} busy"


def busiest_words(found: Busiest) -> str:
    """Return the busiest part with its share, for a title."""
    part = noun(found.part)
    share = found.part.utilization
    busy = brief_percent_of(share.value) if share else ""
    at = f" at {level_words(found.level)}" if found.level else ""
    return f"{part.text}: {busy} busy{at}"


def target_words(found: Target) -> str:
    """Return where a limit of the study breaks."""
    bound = format_given(found.bound, found.unit, metric=found.metric).replace(" ", NO_BREAK)
    metric = f"{where_words(found.where)}{label_metric(plain(found.metric))}"
    level = level_words(found.level)
    if found.state == "holds":
        return f"{metric} stays {'within' if found.is_upper else 'above'} {bound} up to {level}"
    if found.state == "broken":
        verb = "exceeds" if found.is_upper else "is below"
        return f"{metric} {verb} {bound} from the first level on, {level}"
    verb = "passes" if found.is_upper else "falls below"
    left = f", {times(found.headroom.value, None, None)} the current load" if found.headroom else ""
    if found.is_between and found.level.low is not None and found.level.high is not None:
        low, high = (level_number(end) for end in (found.level.low, found.level.high))
        return f"{metric} {verb} {bound} between {found.level.factor} {low} and {high}"
    return f"{metric} {verb} {bound} at {level}{left}"


def changes_words(found: Changes) -> str:
    """Return the effects of the tried changes."""
    best, at = found.best, setting_words(found.levels) if found.levels else ""
    start = f"at {at}, " if at else ""
    if best is None:
        names = list_words([applied_words(one.applied) for one in found.no_gain], most=_NAMED)
        unclear = f"; {found.unclear} undecided" if found.unclear else ""
        return (
            f"{start}no change that was tried gains: {names}{unclear}"
            if names
            else (f"{start}no change that was tried clearly gains")
        )
    words = f"{start}{applied_words(best.applied)} {_gives(best)}"
    if found.further is not None:
        words += f"; {applied_words(found.further.applied)} {_effect(found.further)}"
    if not found.no_gain:
        return words
    names = list_words([applied_words(one.applied) for one in found.no_gain], most=_NAMED)
    return f"{words}. {capital(names)} {_gain(found.no_gain)} nothing"


def _gain(changes: Sequence[TriedChange]) -> str:
    return _verb(changes[0], "gains", "gain") if len(changes) == 1 else "gain"


def _gives(change: TriedChange) -> str:
    metric = label_metric(plain(change.metric))
    if change.better == "high":
        much, _, bounds = _effect(change).partition(" ")
        return f"{_verb(change, 'gives', 'give')} {much} the {metric} {bounds}".rstrip()
    share, _, bounds = _effect(change).partition(" ")
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
    if change.better == "high":
        return times(gain.value, gain.low, gain.high)
    ends = [None if one is None else 1.0 / one for one in (gain.value, gain.high, gain.low)]
    return number(ends[0] or 0.0, ends[1], ends[2], "1", metric="share")
