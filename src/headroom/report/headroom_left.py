"""Where limits break and how much headroom is left, as sentences and a table.

Invariant: restates `LimitCrossing`; nothing is computed here.
"""

from headroom.analysis.results import ExperimentResult, LimitCrossing
from headroom.quantities import (
    format_bounds,
    format_given,
    format_level,
    format_plain,
    format_ratio,
)
from headroom.report.tables import Cell, Head, Table
from headroom.report.words import count_noun, title_metric

_SENTENCES_AT_MOST = 6


def headroom_sentences(experiment: ExperimentResult) -> list[str]:
    """Return one sentence for each limit of the study and each curve."""
    found = experiment.limits
    sentences = [_sentence(one) + _today(one) for one in found[:_SENTENCES_AT_MOST]]
    left = len(found) - len(sentences)
    return [*sentences, f"{left} more limits: see the table."] if left else sentences


def format_limit_of(found: LimitCrossing) -> str:
    """Return the limit as a person writes it.

    Examples
    --------
    >>> format_limit_of(LimitCrossing(metric="response_s_p95", unit="s", at_most=0.2,
    ...     at_least=None, factor="users", where={}, state="holds"))
    'at most 200 ms'
    """
    is_upper = found.at_most is not None
    bound = found.at_most if is_upper else found.at_least
    words = "at most" if is_upper else "at least"
    return f"{words} {format_given(bound or 0.0, found.unit, metric=found.metric)}"


def format_break_level(found: LimitCrossing) -> str:
    """Return the level at which a limit breaks, with its interval; nothing where there is none.

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


def _sentence(found: LimitCrossing) -> str:
    where = ", ".join(f"{name} = {format_level(level)}" for name, level in found.where.items())
    start = f"{title_metric(found.metric)} {format_limit_of(found)}"
    start += f" with {where}" if where else ""
    if found.state != "breaks":
        return f"{start}: {_state_words(found)}."
    if found.level is None:
        return f"{start} breaks between {_between(found)}{_added(found)}."
    words = f"{start} breaks at {found.factor} = {format_break_level(found)}, {found.note}"
    if found.headroom is None or found.current is None:
        return f"{words}{_added(found)}."
    return f"{words}: {_left(found)}{_added(found)}."


def _added(found: LimitCrossing) -> str:
    return f" ({count_noun(found.added, 'level')} added)" if found.added else ""


_KEPT = {"holds": "kept", "differs": "broken", "undecided": "undecided"}


def _today(found: LimitCrossing) -> str:
    """Return whether the limit is kept at the current load, as `--check` asks."""
    if found.verdict is None:
        return ""
    reason = f": {found.reason}" if found.reason else ""
    load = f"{found.factor} = {format_level(found.current)}"
    return f" {_KEPT[found.verdict].capitalize()} at the current load, {load}{reason}."


def _between(found: LimitCrossing) -> str:
    """Return the levels between which a limit breaks, where no line leads to the break."""
    low, high = format_level(found.level_low), format_level(found.level_high)
    words = f"{found.factor} = {low} and {high} (95 % confidence): {found.note}"
    if found.headroom_low is None or found.headroom_high is None:
        return words
    times = (
        f"{format_plain(found.headroom_low, decimals=2)} to "
        f"{format_plain(found.headroom_high, decimals=2)}"
    )
    return f"{words}; {times} times the current load, {found.factor} = " + format_level(
        found.current
    )


def _left(found: LimitCrossing) -> str:
    ratio = format_ratio(found.headroom or 0.0, found.headroom_low, found.headroom_high)
    return f"{ratio} the current load, {found.factor} = {format_level(found.current)}"


def _state_words(found: LimitCrossing) -> str:
    return found.note or found.state


def limits_table(experiment: ExperimentResult) -> Table | None:
    """Return one row for each limit and curve, None without limits."""
    if not experiment.limits:
        return None
    heads = [Head("Limit"), Head("With"), Head("Breaks at", is_number=True)]
    heads += [
        Head("Times the current load", is_number=True),
        Head("At the current load"),
        Head("Remark"),
    ]
    rows = [
        [
            Cell(f"{title_metric(one.metric)} {format_limit_of(one)}", is_head=True),
            Cell(", ".join(f"{k} = {format_level(v)}" for k, v in one.where.items())),
            Cell(_breaks_at(one), repr(one.level) if one.level else "", is_number=True),
            Cell(
                ""
                if one.headroom is None
                else format_ratio(one.headroom, one.headroom_low, one.headroom_high),
                "" if one.headroom is None else repr(one.headroom),
                is_number=True,
            ),
            Cell(
                "" if one.verdict is None else _KEPT[one.verdict],
                one.verdict or "",
                mark=one.verdict or "",
                remark=one.reason,
            ),
            Cell(one.note),
        ]
        for one in experiment.limits
    ]
    return Table("Headroom left until a limit breaks", heads, rows)


def _breaks_at(found: LimitCrossing) -> str:
    if found.state != "breaks":
        return {"holds": "not broken", "broken": "broken everywhere"}.get(found.state, "unclear")
    return f"{found.factor} = {format_break_level(found)}"
