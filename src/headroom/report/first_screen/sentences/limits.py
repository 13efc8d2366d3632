"""Limits of a system and effects of changes, as sentences.

Invariant: a sentence claims no more than the intervals of its statement carry: a gain, a winner or
an equality is worded only where the statement says that the whole interval is on one side.
"""

import math
from collections.abc import Sequence

from headroom.analysis.answer_evidence import (
    Busiest,
    Disturbed,
    Incomplete,
    Limit,
    Losses,
    NoLimit,
    Part,
    Saturated,
)
from headroom.errors import HINT
from headroom.report.first_screen.sentences.names import (
    Noun,
    advice,
    level_number,
    level_words,
    noun,
    where_words,
)
from headroom.report.first_screen.sentences.sentence import (
    brief,
    brief_percent_of,
    first_short,
    plain,
)
from headroom.report.sentences.intervals import absent_words
from headroom.report.sentences.numbers import list_words
from headroom.report.sentences.outcomes import outcome_words
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
    if found.code == "left_out":
        return "no answer: no point that ran has what is asked for"
    if found.code == "withheld":
        return f"no answer: the runs are too short for {label_metric(plain(found.metric))}"
    points = f"{found.points_without:,} of {count_noun(found.points, 'point')} have"
    points = "the only point has" if found.points == 1 else points
    return f"no answer: {points} no results{because}"


def incomplete_reason(found: Incomplete) -> str:
    """Return why there is no answer, on one line; empty if unknown."""
    absent = f"a {absent_words(found.absent)}" if found.absent else ""
    said = absent or found.reason.partition(HINT)[0]
    reason = warm_up_words(found.warm_up) if found.warm_up else said
    return " ".join(plain(reason).split())


def incomplete_cure(found: Incomplete) -> str:
    """Return what its error says is to be done; empty if it says nothing."""
    return " ".join(plain(found.reason.partition(HINT)[2]).split())


def disturbed_words(found: Disturbed) -> str:
    """Return the disturbance of most runs."""
    cores = f"{found.cores:g} cores" if found.cores else "the processors"
    cause = _CAUSES[found.cause].format(brief_percent_of(found.share), cores)
    return f"disturbed: {cause} in {found.count:,} of {count_noun(found.done, 'run')}"


def saturated_words(found: Saturated) -> str:
    """Return from where on a part is offered more than it can do."""
    part = _together(found.part, found.ties)
    load = found.load
    is_sure = load is not None and load.value > 1.0 and (load.low is None or load.low > 1.0)
    times = brief(load.value) if load and is_sure else "1"
    is_full = load is not None and load.low is None and math.isclose(load.value, 1.0)
    much = f"{times} times what" if times != "1" else "exactly what" if is_full else "more than"
    words = f"{part.text} {part.verb('is', 'are')} offered {much} {part.verb('it', 'they')} can do"
    where = where_words(found.where)
    if found.is_everywhere or found.level is None:
        some = f" at {found.points} of {count_noun(found.judged, 'point')}"
        some = "" if where and found.judged == 1 else some
        return f"{where}saturated{' at every level' if found.is_everywhere else some}: {words}"
    do = f"; {advice(found.steadied_by, found.part)}" if found.steadied_by else ""
    at = level_words(found.level)
    place = f"up to {at}" if found.is_up_to else f"from {at} on"
    low = "" if found.also_up_to is None else f"up to {level_number(found.also_up_to)} and "
    start = f"{where}saturated {low}{place}: {words}"
    return first_short(f"{start}{do}", start)


def _together(part: Part, ties: Sequence[Part]) -> Noun:
    """Return a part, with those that are as full, as the subject of a sentence."""
    if not ties:
        return noun(part)
    names = [noun(one).text for one in (part, *ties)]
    return Noun(list_words(names, most=_NAMED), is_plural=True)


def limit_words(found: Limit) -> str:
    """Return which part limits, from where on, and what to do."""
    part = _together(found.part, found.ties)
    verb = "limit together" if found.ties else part.verb("limits", "limit")
    limits = f"{where_words(found.where)}{part.text} {verb}"
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
    if found.down is not None:
        busy = f", down {brief_percent_of(found.down.share)} of the time"
    return " at every level" if found.judged > 1 else busy


def _not_at(found: Limit) -> str:
    """Return the last level without a limit, unless the interval of a knee says as much."""
    is_planned = found.level is not None and found.level.low is None
    is_known = is_planned and found.last_free is not None
    return f", not at {level_number(found.last_free or 0.0)}" if is_known else ""


def no_limit_words(found: NoLimit) -> str:
    """Return that no part limits, and which is the busiest."""
    up_to = f" up to {level_words(found.level)}" if found.level else ""
    start = f"{where_words(found.where)}no limit found{up_to}"
    if found.part is None or found.part.utilization is None:
        return start
    part = noun(found.part)
    share = brief_percent_of(found.part.utilization.value)
    if found.down is not None:
        down, held = brief_percent_of(found.down.share), brief_percent_of(found.down.held)
        is_up_to = f" up to {level_words(found.level)}" if found.level else ""
        return (
            f"{where_words(found.where)}no part is full{is_up_to}, but {part.text} "
            f"{part.verb('is', 'are')} down {down} of the time and "
            f"{part.verb('holds', 'hold')} {held} of the response time"
        )
    return f"{start}: the busiest part, {part.text}, is {share} busy"


def losses_words(found: Losses) -> str:
    """Return how much is offered, done in time and lost, where most is lost."""
    return f"{where_words(found.where)}{outcome_words(found.outcome)}"


def busiest_words(found: Busiest) -> str:
    """Return the busiest part with its share, for a title."""
    part = _together(found.part, found.ties)
    share = found.part.utilization
    busy = brief_percent_of(share.value) if share else ""
    at = f" at {level_words(found.level)}" if found.level else ""
    return f"{where_words(found.where)}{part.text}: {busy} busy{at}"
