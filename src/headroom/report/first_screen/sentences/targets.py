"""Where the limits of a study are kept, as sentences.

Invariant: a level is called enough, or not enough, only if its whole interval says so.
"""

import msgspec

from headroom.analysis.answer_evidence import OtherCurves, Target, Undecided
from headroom.experiment.protocol.system import Value
from headroom.quantities import format_given
from headroom.report.first_screen.sentences.names import (
    level_number,
    level_words,
    range_words,
    setting_words,
    where_words,
    with_factor,
)
from headroom.report.first_screen.sentences.sentence import (
    NO_BREAK,
    brief,
    first_short,
    plain,
    times,
)
from headroom.report.sentences.numbers import list_words
from headroom.report.words import count_noun, label_metric


def target_words(found: Target) -> str:
    """Return where the limits of a study are kept."""
    if found.kept == "between":
        return _window(found)
    if found.kept == "above" and found.state == "breaks":
        return _enough(found) if found.is_resource else _from(found)
    if found.state == "breaks":
        return _passes(found)
    if found.is_resource and found.kept == "above":
        return _all_alike(found)
    if found.state == "holds":
        level = level_words(found.level)
        every = "" if found.undecided else "at every level, "
        place = f"{every}from {level} on" if found.kept == "above" else f"up to {level}"
        return f"{_stays(found)} {place}{_undecided(found)}"
    verb = "exceeds" if found.is_upper else "is below"
    end = "up to the last level" if found.kept == "above" else "from the first level on"
    words = f"{_metric(found)} {verb} {_bound(found)} {end}, {level_words(found.level)}"
    return f"{words}{_undecided(found)}"


def _bound(found: Target) -> str:
    return format_given(found.bound, found.unit, metric=found.metric).replace(" ", NO_BREAK)


def _metric(found: Target) -> str:
    return f"{where_words(found.where)}{label_metric(plain(found.metric))}"


def _stays(found: Target) -> str:
    return f"{_metric(found)} stays {'within' if found.is_upper else 'above'} {_bound(found)}"


def _kept(found: Target) -> str:
    """Return that the limit is kept, or all limits are, before the levels at which they are."""
    where = where_words(found.where)
    return f"{where}all limits are kept" if found.limits > 1 else _stays(found)


def _asked(found: Target) -> str:
    """Return the value of the metric at the level, with the bound."""
    bound = f"at {'most' if found.is_upper else 'least'} {_bound(found)}"
    metric = label_metric(plain(found.metric))
    if found.value is None:
        return f"{metric} {bound}"
    return f"{metric} {brief(found.value.value, found.unit, metric=found.metric)} ({bound})"


def _at(found: Target, level: Value) -> str:
    return with_factor(found.level.factor, level, found.level.unit)


def _undecided(found: Target) -> str:
    """Return the levels of which it is not known, the nearest ones; empty if there are none."""
    if not found.undecided:
        return ""
    levels = [level_number(level) for level in found.undecided]
    return f"; {list_words(levels, most=2)} {'is' if len(levels) == 1 else 'are'} undecided"


def _not(found: Target) -> str:
    """Return the nearest level that is not enough, and those between that are undecided."""
    if not found.beyond:
        return _undecided(found)
    (near,) = found.beyond
    inside = [level_number(at) for at in found.undecided if near < at < float(found.level.value)]
    undecided = f", {list_words(inside, most=2)} undecided" if inside else ""
    return f"; {level_number(near)} {_are(found, near)} not{undecided}"


def _are(found: Target, level: Value) -> str:
    """Return the verb of a level: ``15 agents are``, ``1 agent is``, ``speed 2 is``."""
    is_counted = _at(found, 3)[:1].isdigit()
    return "are" if is_counted and level != 1 else "is"


def _enough(found: Target) -> str:
    """Return from how many servers or tokens on all limits are kept, and that fewer do not."""
    level, low, high = found.level.value, found.level.low, found.level.high
    limits = " for all limits" if found.limits > 1 else ""
    where = where_words(found.where)
    start = f"{where}{_at(found, level)} {_are(found, level)} enough{limits}"
    if low is not None and high is not None and low < high:
        ends = f"between {level_number(float(low))} and {_at(found, high)} are enough{limits}"
        start = f"{where}{ends}, most likely {level_number(float(level))}"
    return f"{start}: {_asked(found)}{_not(found)}"


def _from(found: Target) -> str:
    """Return from which level on a limit is kept, of a factor other than a number of servers."""
    start = f"{_kept(found)} from {level_words(found.level)} on"
    if found.beyond:
        start += f", not at {level_number(found.beyond[0])}"
    return f"{start}{_again(found)}"


def _all_alike(found: Target) -> str:
    """Return that all numbers of servers are enough, or none."""
    level = found.level.value
    subject = f"{where_words(found.where)}{_at(found, level)}"
    if found.state == "broken":
        end = f", the most tried, {_are(found, level)} not enough"
    else:
        is_fewest = not any(at < float(level) for at in found.undecided)
        tried = ", the fewest tried," if is_fewest else ""
        limits = " for all limits" if found.limits > 1 else ""
        end = f"{tried} {_are(found, level)} enough{limits}"
    return f"{subject}{end}: {_asked(found)}{_undecided(found)}"


def _window(found: Target) -> str:
    """Return the levels between which alone the limits are kept."""
    low, high = found.level.low, found.level.high
    if found.state == "broken" or low is None or high is None:
        return f"{where_words(found.where)}no level that was tried keeps all {found.limits} limits"
    if low == high:
        place = f"at {_at(found, low)} alone"
    else:
        ends = [msgspec.structs.replace(found.level, value=end, low=None) for end in (low, high)]
        place = range_words(*ends)
    near = list_words([level_number(at) for at in found.beyond])
    return f"{_kept(found)} only {place}{f', not at {near}' if near else ''}{_undecided(found)}"


def _passes(found: Target) -> str:
    """Return at which load a limit breaks."""
    verb = "passes" if found.is_upper else "falls below"
    left = f", {times(found.headroom.value, None, None)} the current load" if found.headroom else ""
    start = f"{_metric(found)} {verb} {_bound(found)}"
    least = f", the least of {found.curves}" if found.curves > 1 else ""
    if found.is_between and found.level.low is not None and found.level.high is not None:
        low, high = (level_number(end) for end in (found.level.low, found.level.high))
        words, left = f"{start} between {found.level.factor} {low} and {high}", ""
    else:
        words = f"{start} at {break_words(found)}"
    ends = (f"{least}{left}{_again(found)}", f"{least}{_again(found)}", _again(found))
    last = _undecided(found) if found.is_open else ""
    return first_short(*(f"{words}{end}{last}" for end in ends))


def break_words(found: Target) -> str:
    """Return the level at which a limit breaks; how far it may be is not known beyond the last."""
    low = found.level.low
    if not found.is_open or low is None:
        return level_words(found.level)
    number = float(f"{float(found.level.value):.3g}")
    about = msgspec.structs.replace(found.level, value=number, low=None, high=None)
    return f"{level_words(about)} ({brief(low)} or more)"


_MOST_PLACES = 4
"""Places at which other curves break that a sentence has."""


def other_curves_words(found: OtherCurves) -> str:
    """Return where the limits are kept on each of the other curves."""
    places: dict[str, list[str]] = {}
    for one in found.of:
        places.setdefault(_kept_place(one), []).append(setting_words(one.where))
    listed = [f"{place} with {list_words(names)}" for place, names in places.items()]
    more = len(listed) - _MOST_PLACES
    ends = [f"{count_noun(more, 'further answer')} in the table"] if more > 0 else []
    is_of_all = any(isinstance(one, Target) and one.limits > 1 for one in found.of)
    start = "all limits are" if is_of_all else "the limit is"
    return f"{start} kept {'; '.join([*listed[:_MOST_PLACES], *ends])}"


def _kept_place(found: Target | Undecided) -> str:
    """Return at which levels of a curve the limits are kept: ``up to growth 2.88``."""
    if isinstance(found, Undecided):
        return "perhaps"
    level, is_above = found.level, found.kept == "above"
    if found.state == "broken":
        return "at no level"
    if found.kept == "between" and level.low is not None and level.high is not None:
        ends = [msgspec.structs.replace(level, value=x, low=None) for x in (level.low, level.high)]
        return f"only {range_words(*ends)}"
    if found.is_between and level.low is not None and level.high is not None:
        return f"up to {_at(found, level.low)}, not {level_number(level.high)}"
    place = f"from {level_words(level)} on" if is_above else f"up to {break_words(found)}"
    return f"{place} at least" if found.state == "holds" and not is_above else place


def _again(found: Target) -> str:
    """Return that levels on the far side of the break keep the limits; empty if none does."""
    if not found.beyond:
        return ""
    is_above = found.kept == "above"
    far = [
        at for at in found.kept_at if (at < found.beyond[0] if is_above else at > found.beyond[0])
    ]
    if not far:
        return ""
    return f"; kept again at {_at(found, far[-1] if is_above else far[0])}"
