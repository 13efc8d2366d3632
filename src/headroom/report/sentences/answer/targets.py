"""Where the limits of a study are kept, as sentences.

Invariant: a level is called enough, or not enough, only if its whole interval says so.
"""

import msgspec

from headroom.analysis.answer_evidence import Target
from headroom.experiment.protocol.system import Value
from headroom.quantities import format_given
from headroom.report.sentences.answer.names import (
    level_number,
    level_words,
    range_words,
    where_words,
    with_factor,
)
from headroom.report.sentences.answer.sentence import NO_BREAK, brief, first_short, plain, times
from headroom.report.sentences.numbers import list_words
from headroom.report.words import label_metric


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
        way = "from" if found.kept == "above" else "up to"
        lowest = ", the lowest level, on" if found.kept == "above" else ""
        return f"{_stays(found)} {way} {level_words(found.level)}{lowest}{_undecided(found)}"
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


def _not(found: Target, verb: str) -> str:
    """Return the nearest levels that are not enough, and those between that are undecided."""
    if not found.beyond:
        return _undecided(found)
    near = list_words([level_number(level) for level in found.beyond])
    is_one = len(found.beyond) == 1 and found.beyond[0] == 1
    do = f"{'is' if is_one else 'are'} not" if verb == "be" else f"{'does' if is_one else 'do'} not"
    inside = [at for at in found.undecided if found.beyond[0] < at < float(found.level.value)]
    open_ = (
        f", {list_words([level_number(at) for at in inside], most=2)} undecided" if inside else ""
    )
    return f"; {near} {do}{open_}"


def _enough(found: Target) -> str:
    """Return from how many servers or tokens on all limits are kept, and that fewer do not."""
    level = found.level.value
    are = "is" if level == 1 or not _is_counted(found) else "are"
    limits = " for all limits" if found.limits > 1 else ""
    where = where_words(found.where)
    start = f"{where}{_at(found, level)} {are} enough{limits}: {_asked(found)}"
    return f"{start}{_not(found, 'be') if _is_counted(found) else _single_not(found)}"


def _is_counted(found: Target) -> bool:
    """Return whether a level is a number of things: ``15 agents``, not ``speed 2``."""
    return _at(found, 3)[:1].isdigit()


def _single_not(found: Target) -> str:
    if not found.beyond:
        return _undecided(found)
    return f"; {level_number(found.beyond[0])} is not"


def _from(found: Target) -> str:
    """Return from which level on a limit is kept, of a factor other than a number of servers."""
    limits = "all limits are kept" if found.limits > 1 else _stays(found)
    start = f"{limits} from {level_words(found.level)} on"
    if found.beyond:
        start += f", not at {level_number(found.beyond[0])}"
    return f"{start}{_again(found)}"


def _all_alike(found: Target) -> str:
    """Return that all numbers of servers are enough, or none."""
    counted, level = _is_counted(found), _at(found, found.level.value)
    are = "are" if counted and found.level.value != 1 else "is"
    where, most = where_words(found.where), "fewest" if counted else "lowest"
    if found.state == "holds":
        limits = " for all limits" if found.limits > 1 else ""
        words = f"{where}{level}, the {most} tried, {are} enough{limits}: {_asked(found)}"
    else:
        most = "most" if counted else "highest"
        words = f"{where}{level}, the {most} tried, {are} not enough: {_asked(found)}"
    return f"{words}{_undecided(found)}"


def _window(found: Target) -> str:
    """Return the levels between which alone the limits are kept."""
    name = "all limits are kept" if found.limits > 1 else _stays(found)
    low, high = found.level.low, found.level.high
    if found.state == "broken" or low is None or high is None:
        return f"{where_words(found.where)}no level that was tried keeps all {found.limits} limits"
    if low == high:
        place = f"at {_at(found, low)} alone"
    else:
        ends = [msgspec.structs.replace(found.level, value=end, low=None) for end in (low, high)]
        place = range_words(*ends)
    near = list_words([level_number(at) for at in found.beyond])
    return f"{name} only {place}{f', not at {near}' if near else ''}{_undecided(found)}"


def _passes(found: Target) -> str:
    """Return at which load a limit breaks."""
    verb = "passes" if found.is_upper else "falls below"
    left = f", {times(found.headroom.value, None, None)} the current load" if found.headroom else ""
    start = f"{_metric(found)} {verb} {_bound(found)}"
    if found.is_between and found.level.low is not None and found.level.high is not None:
        low, high = (level_number(end) for end in (found.level.low, found.level.high))
        return f"{start} between {found.level.factor} {low} and {high}{_again(found)}"
    words = f"{start} at {level_words(found.level)}"
    return first_short(f"{words}{left}{_again(found)}", f"{words}{_again(found)}")


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
