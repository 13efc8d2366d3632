"""Where limits break and how much headroom is left, as sentences and a table.

Invariant: restates `LimitCrossing`; nothing is computed here.
"""

from headroom.analysis.results import ExperimentResult, LimitCrossing
from headroom.quantities import format_bounds, format_given, format_level, format_ratio
from headroom.report.tables import Cell, Head, Table
from headroom.report.words import title_metric

_SENTENCES_AT_MOST = 6


def headroom_sentences(experiment: ExperimentResult) -> list[str]:
    """Return one sentence for each limit of the study and each curve."""
    found = experiment.limits
    sentences = [_sentence(one) for one in found[:_SENTENCES_AT_MOST]]
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
    if found.level is None:
        return ""
    return format_bounds(found.level, found.level_low, found.level_high, "1")


def _sentence(found: LimitCrossing) -> str:
    where = ", ".join(f"{name} = {format_level(level)}" for name, level in found.where.items())
    start = f"{title_metric(found.metric)} {format_limit_of(found)}"
    start += f" with {where}" if where else ""
    if found.level is None:
        return f"{start}: {_state_words(found)}."
    words = f"{start} breaks at {found.factor} = {format_break_level(found)}, {found.note}"
    if found.headroom is None or found.current is None:
        return f"{words}."
    return f"{words}: {_left(found)}."


def _left(found: LimitCrossing) -> str:
    ratio = format_ratio(found.headroom or 0.0, found.headroom_low, found.headroom_high)
    return f"{ratio} the load of today, {found.factor} = {format_level(found.current)}"


def _state_words(found: LimitCrossing) -> str:
    return found.note or found.state


def limits_table(experiment: ExperimentResult) -> Table | None:
    """Return one row for each limit and curve, None without limits."""
    if not experiment.limits:
        return None
    heads = [Head("Limit"), Head("With"), Head("Breaks at", is_number=True)]
    heads += [Head("Times the load of today", is_number=True), Head("Remark")]
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
            Cell(one.note),
        ]
        for one in experiment.limits
    ]
    return Table("Headroom left until a limit breaks", heads, rows)


def _breaks_at(found: LimitCrossing) -> str:
    if found.level is None:
        return {"holds": "not broken", "broken": "broken everywhere"}.get(found.state, "unclear")
    return f"{found.factor} = {format_break_level(found)}"
