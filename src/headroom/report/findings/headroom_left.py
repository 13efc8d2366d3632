"""Where limits break and how much headroom is left: sentences and a table.

Invariant: restates `LimitCrossing`; nothing is computed here.
"""

from headroom.analysis.results import ExperimentResult, LimitCrossing
from headroom.quantities import format_given, format_levels, format_ratio
from headroom.report.sentences.limits import (
    crossing_notes,
    format_break_level,
    kept_word,
    limit_sentences,
    undecided_words,
)
from headroom.report.tables.tables import Cell, Head, Table
from headroom.report.words import first_few, title_metric

_SENTENCES_AT_MOST = 6


def headroom_sentences(experiment: ExperimentResult) -> list[str]:
    """Return one sentence for each limit of the study and each curve."""
    return first_few([*map(limit_sentences, experiment.limits)], _SENTENCES_AT_MOST, "limits")


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
            Cell(f"{title_metric(limit.metric)} {format_limit_of(limit)}", is_head=True),
            Cell(format_levels(limit.where) if limit.where else ""),
            Cell(_breaks_at(limit), repr(limit.level) if limit.level else "", is_number=True),
            Cell(
                ""
                if limit.headroom is None
                else format_ratio(limit.headroom, limit.headroom_low, limit.headroom_high),
                "" if limit.headroom is None else repr(limit.headroom),
                is_number=True,
            ),
            Cell(
                kept_word(limit),
                limit.verdict or "",
                mark=limit.verdict or "",
                remark=undecided_words(limit.evidence),
            ),
            Cell("; ".join(crossing_notes(limit))),
        ]
        for limit in experiment.limits
    ]
    return Table("Headroom left until a limit breaks", heads, rows)


def _breaks_at(found: LimitCrossing) -> str:
    if found.state != "breaks":
        return {"holds": "not broken", "broken": "broken everywhere"}.get(found.state, "unclear")
    return f"{found.factor} = {format_break_level(found)}"
