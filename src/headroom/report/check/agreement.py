"""Whether all that a page says of one thing is the same: parts, levels and ratios.

A headline, what follows it and the titles of figures are made in several places. Two of them that
name one limit, comparison or change must have the same number.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from headroom.analysis.answer_evidence import (
    Busiest,
    Changes,
    Comparison,
    FigureChoice,
    Limit,
    Statement,
    Target,
)
from headroom.analysis.results import StudyResult
from headroom.report.first_screen.sentences.answer import words_of
from headroom.report.first_screen.sentences.sentence import NO_BREAK

_SAME = 1e-9
_TAG = re.compile(r"<[^>]*>")


def disagreements(result: StudyResult, page: str = "") -> list[str]:
    """Return what two statements of a study say differently, and sentences that a page lacks.

    Parameters
    ----------
    result
        An analysed study.
    page
        Text of its page; empty: only the statements are looked at.
    """
    if result.answer is None:
        return []
    said: dict[tuple[object, ...], object] = {}
    found = []
    for statement, experiment in _statements(result):
        for about, value in _facts(statement):
            key = (experiment, *about)
            if key in said and not _is_same(said[key], value):
                found.append(f"{' '.join(map(str, about))}: {said[key]} and {value}")
            said.setdefault(key, value)
    found += [
        f"{one.experiment}: the figure is not at {_text(part)}"
        for one in [result.answer.figure, *result.answer.questions]
        if one is not None and (part := _elsewhere(one))
    ]
    told = " ".join(unescape(_TAG.sub("", page)).split())
    if page and (text := words_of(result).answer.text) and _plain(text) not in _plain(told):
        found.append(f"the page does not say: {_plain(text)}")
    return found


def _elsewhere(figure: FigureChoice) -> dict[str, Any]:
    """Return the levels of a figure's title at which the figure itself is not."""
    drawn = {**figure.part, **figure.where}
    told = getattr(figure.finding, "where", {}) if figure.factor else {}
    return {
        name: level
        for name, level in told.items()
        if name != figure.series and drawn.get(name, level) != level
    }


def _statements(result: StudyResult) -> Iterator[tuple[Statement, str]]:
    answer = result.answer
    if answer is None:
        return
    yield from ((record.statement, record.experiment) for record in answer.records)
    told = [record.statement for record in answer.records]
    yield from ((one, answer.experiment) for one in answer.follows if one not in told)
    yield from ((one.finding, one.experiment) for one in answer.questions if one.finding)


def _facts(statement: Statement) -> Iterator[tuple[tuple[object, ...], object]]:
    """Yield what a statement is about, and the number or name that it gives."""
    where = _text(getattr(statement, "where", {}))
    match statement:
        case Limit():
            yield ("limits", where), statement.part.name
            if statement.level is not None:
                yield ("limits from", where), statement.level.value
        case Busiest() if statement.is_limiting:
            yield ("limits", where), statement.part.name
        case Target():
            yield ("limit of", statement.metric, statement.bound, where), statement.level.value
        case Comparison() if not statement.is_least and statement.beyond is None:
            pair = sorted([_text(statement.first), _text(statement.second)])
            yield ("compared", statement.metric, *pair, where), statement.ratio.value
        case Changes():
            for change in filter(None, [statement.best, statement.further, *statement.also]):
                applied = tuple((one.name, one.after, one.factor) for one in change.applied)
                at = _text(statement.levels)
                yield ("change", change.metric, str(applied), at), change.after


def _plain(text: str) -> str:
    return text.replace(NO_BREAK, " ")


def _text(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name}={level}" for name, level in sorted(setting.items()))


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= _SAME * max(abs(one), abs(other))
    return one == other
