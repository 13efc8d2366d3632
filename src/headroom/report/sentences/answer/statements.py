"""Each statement of an answer as a sentence.

Invariant: a sentence claims no more than the intervals of its statement carry: a gain, a winner or
an equality is worded only where the statement says that the whole interval is on one side.
"""

import re
from collections.abc import Callable
from typing import Any

from headroom.analysis.answer_evidence import (
    Bounded,
    Busiest,
    Changes,
    ClaimsChecked,
    Comparison,
    Disturbed,
    Equal,
    Goal,
    Incomplete,
    Limit,
    NoLimit,
    Prediction,
    PrintedNumbers,
    Reproduction,
    Saturated,
    Settings,
    SinglePoint,
    Statement,
    Sweep,
    Target,
    TradeOff,
    TriedChange,
    Undecided,
)
from headroom.quantities import format_given
from headroom.report.sentences.answer.names import (
    advice,
    change_words,
    level_number,
    level_words,
    noun,
    range_words,
    setting_words,
    where_words,
)
from headroom.report.sentences.answer.sentence import (
    AS_IS,
    MAX_WORDS,
    NO_BREAK,
    Sentence,
    brief,
    brief_percent_of,
    count_words,
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
_MAX_REASON = 60
_NAMED = 3


def statement_sentence(statement: Statement) -> Sentence:
    """Return a statement as a sentence.

    Examples
    --------
    >>> statement_sentence(Incomplete(code="runs_left", done=12, failed=0, planned=95, points=19,
    ...     points_without=16)).text
    'No answer yet: 12 of 95 runs are done.'
    """
    return Sentence.of(f"{capital(_WORDS[type(statement)](statement))}.")


def _bounded(found: Bounded) -> str:
    return number(found.value, found.low, found.high, found.unit, metric=found.metric)


def _incomplete(found: Incomplete) -> str:
    if found.code == "runs_left":
        return f"no answer yet: {found.done:,} of {count_noun(found.planned, 'run')} are done"
    reason = warm_up_words(found.warm_up) if found.warm_up else plain(found.reason)
    reason = reason.splitlines()[0] if reason else ""
    shown = reason if len(reason) <= _MAX_REASON else f"{reason[: _MAX_REASON - 1].rstrip()}…"
    because = f" ({shown})" if shown else ""
    if found.code == "failed":
        return f"no answer: {found.failed:,} of {count_noun(found.planned, 'run')} failed{because}"
    if found.code == "not_fitted":
        return f"no answer: parameters could not be fitted{because}"
    points = count_noun(found.points, "point")
    return f"no answer: {found.points_without:,} of {points} have no results{because}"


def _disturbed(found: Disturbed) -> str:
    cores = f"{found.cores:g} cores" if found.cores else "the processors"
    cause = _CAUSES[found.cause].format(brief_percent_of(found.share), cores)
    return f"disturbed: {cause} in {found.count:,} of {count_noun(found.done, 'run')}"


def _saturated(found: Saturated) -> str:
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
    return _first_short(f"{start}{do}", start)


def _limit(found: Limit) -> str:
    part = noun(found.part)
    limits = f"{where_words(found.where)}{part.text} {part.verb('limits', 'limit')}"
    do = f": {advice(found.best.applied, found.part)}" if found.best else ""
    return _first_short(f"{limits}{_limit_place(found)}{do}", f"{limits}{_limit_place(found)}")


def _limit_place(found: Limit) -> str:
    if found.level is not None:
        is_knee = found.level.low is not None
        below = found.last_free
        not_at = "" if is_knee or below is None else f", not at {level_number(below)}"
        return f" from {level_words(found.level)}{'' if is_knee else ' on'}{not_at}"
    if found.last is not None:
        return f" up to {level_number(found.last)}"
    if found.points < found.judged:
        return f" at {found.points} of {found.judged} points"
    share = found.part.utilization
    busy = f", {brief_percent_of(share.value)} busy" if share is not None else ""
    return " at every level" if found.judged > 1 else busy


def _first_short(*candidates: str) -> str:
    """Return the first text with no more words than an answer may have, else the last one."""
    return next((one for one in candidates if count_words(one) <= MAX_WORDS), candidates[-1])


def _no_limit(found: NoLimit) -> str:
    start = f"no limit found up to {level_words(found.level)}" if found.level else "no limit found"
    if found.part is None or found.part.utilization is None:
        return start
    part = noun(found.part)
    share = brief_percent_of(found.part.utilization.value)
    return f"{start}: the busiest part, {part.text}, is {share} busy"


def _target(found: Target) -> str:
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


def _comparison(found: Comparison) -> str:
    first, second = setting_words(found.first), setting_words(found.second)
    metric = label_metric(plain(found.metric))
    ratio = times(found.ratio.value, found.ratio.low, found.ratio.high)
    much, _, bounds = ratio.partition(" ")
    if found.is_least and found.ratio.low is not None:
        much, bounds = f"at least {times(found.ratio.low, None, None)}", ""
    bracket = f" {bounds}" if bounds else ""
    where = where_words(found.where) or AS_IS
    if found.better == "low" and _is_time(found.metric):
        words = f"{first} is {much} as fast as {second}{bracket}"
    elif found.better == "low":
        words = f"{second} takes {much} the {metric} of {first}{bracket}"
    else:
        words = f"{first} has {much} the {metric} of {second}{bracket}"
    return f"{where}{words}{_combinations(found)}"


def _is_time(metric: str) -> bool:
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


def _equal(found: Equal) -> str:
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


def _undecided(found: Undecided) -> str:
    metric = label_metric(plain(found.metric))
    if found.code == "few_runs":
        return f"not decided: too few runs for an interval of {metric}"
    if found.code == "ranking":
        return f"not decided: by {metric}, no setting is clearly best"
    if found.code == "target":
        bound = format_given(found.bound or 0.0, found.unit, metric=found.metric)
        at = f"at {level_words(found.level)} " if found.level else ""
        return f"not decided: {at}the interval of {metric} includes the limit of {bound}"
    if found.code == "claims" or found.ratio is None:
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


def _trade_off(found: TradeOff) -> str:
    goals = f"{AS_IS}{', '.join(map(_goal, found.goals))}"
    if len(found.goals) == 1:
        return f"{goals}: no clear difference"
    full = f"{goals}{_beaten(found)}"
    return _first_short(full, f"{goals}{_beaten_count(found)}")


def _goal(goal: Goal) -> str:
    settings = [setting_words(setting) for setting in goal.settings[:_NAMED]]
    return f"{' or '.join(settings)} for {label_metric(plain(goal.metric))}"


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


def _reproduction(found: Reproduction) -> str:
    total = found.holds + found.differs + found.undecided - found.left_out
    start = {
        "stands": "the study stands",
        "partly": "the study stands in part",
        "falls": "the study does not stand",
    }[found.state]
    undecided = found.undecided - found.left_out
    topic = f" about {label_metric(plain(found.topics[0]))}" if len(found.topics) == 1 else ""

    def rest(topic: str) -> str:
        words = []
        if found.differs:
            words.append(f"{found.differs}{topic} {'differs' if found.differs == 1 else 'differ'}")
        if undecided:
            words.append(f"{undecided} {'is' if undecided == 1 else 'are'} undecided")
        return f"; {', '.join(words)}" if words else ""

    hold = "holds" if found.holds == 1 else "hold"
    words = f"{start}: {found.holds} of {count_noun(total, 'finding')} {hold}"
    return _first_short(f"{words}{rest(topic)}", f"{words}{rest('')}")


def _prediction(found: Prediction) -> str:
    start = {
        "holds": "the prediction holds",
        "differs": "the prediction fails",
        "undecided": "the prediction is undecided",
    }[found.verdict]
    if found.claims > 1:
        undecided = found.undecided
        still = f", {undecided} {'is' if undecided == 1 else 'are'} undecided" if undecided else ""
        start = f"{found.held} of {found.claims} predictions hold{still}; the worst"
    if not found.is_bounded:
        return f"{start}: a point is saturated on one side only, an error without bound"
    joint = " is " if found.claims > 1 else ": "
    of_points = f" of {count_noun(found.points, 'unseen point')}"
    candidates = [f"{start}{joint}{_errors(found, points)}" for points in (of_points, "")]
    return _first_short(*candidates) if found.median or found.worst is not None else start


def _errors(found: Prediction, of_points: str) -> str:
    parts = []
    if found.median is not None:
        parts.append(f"{brief_percent_of(found.median.value)} off at the median{of_points}")
    if found.worst is not None:
        parts.append(f"{brief_percent_of(found.worst)} at worst")
    return ", ".join(parts)


def _sweep(found: Sweep) -> str:
    metric = f"{where_words(found.where)}{label_metric(plain(found.metric))}"
    start, end = level_words(found.start), level_words(found.end)
    way, ratio = range_words(found.start, found.end), found.ratio
    if ratio is None:
        before, after = _bounded(found.before), _bounded(found.after)
        return f"{metric} is {before} at {start} and {after} at {end}"
    if ratio.low is None or ratio.high is None:
        ends = (found.before, found.after)
        before, after = (brief(one.value, found.unit, metric=found.metric) for one in ends)
        return f"{metric} is {before} at {start} and {after} at {end}"
    if ratio.low <= 1.0 <= ratio.high:
        return f"{metric} does not clearly change {way}"
    if ratio.value > 1.0:
        return f"{metric} grows {times(ratio.value, ratio.low, ratio.high)} {way}"
    share = number(ratio.value, ratio.low, ratio.high, "1", metric="share")
    return f"{metric} falls to {share} {way}"


def _single(found: SinglePoint) -> str:
    words = [f"{label_metric(plain(one.metric))} {_bounded(one)}" for one in found.values]
    return ", ".join(words[:2]) if words else "no metric found"


def _changes(found: Changes) -> str:
    best, at = found.best, setting_words(found.levels) if found.levels else ""
    start = f"at {at}, " if at else ""
    if best is None:
        names = list_words([change_words(one) for one in found.no_gain], most=_NAMED)
        unclear = f"; {found.unclear} undecided" if found.unclear else ""
        return (
            f"{start}no change that was tried gains: {names}{unclear}"
            if names
            else (f"{start}no change that was tried clearly gains")
        )
    words = f"{start}{change_words(best)} {_gives(best)}"
    if found.further is not None:
        words += f"; {change_words(found.further)} {_effect(found.further)}"
    if not found.no_gain:
        return words
    names = list_words([change_words(one) for one in found.no_gain], most=_NAMED)
    return f"{words}. {capital(names)} {'gains' if len(found.no_gain) == 1 else 'gain'} nothing"


def _gives(change: TriedChange) -> str:
    metric = label_metric(plain(change.metric))
    if change.better == "high":
        much, _, bounds = _effect(change).partition(" ")
        return f"give {much} the {metric} {bounds}".rstrip()
    return f"bring {metric} to {_effect(change)}"


def _effect(change: TriedChange) -> str:
    """Return how many times a metric is what it was; of one that falls, in per cent."""
    gain = change.gain
    if change.better == "high":
        return times(gain.value, gain.low, gain.high)
    ends = [None if one is None else 1.0 / one for one in (gain.value, gain.high, gain.low)]
    return number(ends[0] or 0.0, ends[1], ends[2], "1", metric="share")


def _busiest(found: Busiest) -> str:
    part = noun(found.part)
    share = found.part.utilization
    busy = brief_percent_of(share.value) if share else ""
    at = f" at {level_words(found.level)}" if found.level else ""
    return f"{part.text}: {busy} busy{at}"


def _settings(found: Settings) -> str:
    rows = []
    for goal, values in zip(found.goals, found.values, strict=True):
        worth = [f"{label_metric(plain(one.metric))} {_bounded(one)}" for one in values]
        rows.append(f"{setting_words(goal.settings[0])}: {', '.join(worth)}")
    return f"{AS_IS}{'; '.join(rows)}"


def _claims(found: ClaimsChecked) -> str:
    total = found.holds + found.differs + found.undecided
    if found.holds == total:
        return f"all {total} claims hold" if total > 1 else "the only claim holds"
    return counts_words(found.holds, found.differs, found.undecided, noun="claim")


def counts_words(holds: int, differs: int, undecided: int, *, noun: str = "") -> str:
    """Return how many claims hold, differ and are undecided.

    Examples
    --------
    >>> counts_words(6, 1, 6), counts_words(1, 0, 0, noun="claim")
    ('6 hold, 1 differs, 6 are undecided', '1 claim holds')
    """
    words = [
        (holds, "holds", "hold"),
        (differs, "differs", "differ"),
        (undecided, "is undecided", "are undecided"),
    ]
    told = [(count, one if count == 1 else many) for count, one, many in words if count]
    heads = [count_noun(count, noun) if noun else f"{count:,}" for count, _ in told[:1]]
    heads += [f"{count:,}" for count, _ in told[1:]]
    return ", ".join(f"{head} {verb}" for head, (_, verb) in zip(heads, told, strict=True))


def _printed(found: PrintedNumbers) -> str:
    within = brief_percent_of(found.within)
    if found.count == 1:
        return f"the printed number is met within {within}"
    return f"the {found.count} printed numbers are met within {within}"


_WORDS: dict[type, Callable[[Any], str]] = {
    Incomplete: _incomplete,
    Disturbed: _disturbed,
    Saturated: _saturated,
    Limit: _limit,
    NoLimit: _no_limit,
    Target: _target,
    Comparison: _comparison,
    Equal: _equal,
    Undecided: _undecided,
    TradeOff: _trade_off,
    Reproduction: _reproduction,
    Prediction: _prediction,
    Sweep: _sweep,
    SinglePoint: _single,
    Changes: _changes,
    Busiest: _busiest,
    Settings: _settings,
    ClaimsChecked: _claims,
    PrintedNumbers: _printed,
}
