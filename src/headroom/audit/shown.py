"""An audit as text for a terminal and as data for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from headroom.audit.audit import Audit
from headroom.audit.result import Finding, Level, Unchecked

_TITLES = {
    Level.CONTRADICTION: ("Contradictions", "bold red"),
    Level.MISLEADING: ("Misleading", "bold red"),
    Level.DOUBTFUL: ("Doubtful", "bold yellow"),
}
_MAX_RESULTS = 3
"""Names of results that a line lists before it counts the rest."""


def verdict(audit: Audit) -> str:
    """Return the answer in one sentence.

    Examples
    --------
    >>> verdict(Audit(findings=(), done=("mean", "samples"), unchecked=(), result_count=1))
    'Possible: no contradiction found in 2 checks'
    """
    contradictions, doubts = audit.contradictions, len(audit.of(Level.DOUBTFUL))
    for word, found in (
        ("Not possible as stated", contradictions),
        ("Possible, but misleading", audit.of(Level.MISLEADING)),
    ):
        if found:
            rest = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            return f"{word}: {found[0].result}: {found[0].figure}{rest}"
    text = f"Possible: no contradiction found in {_counted(len(audit.done), 'check')}"
    return f"{text}, but {_counted(doubts, 'doubt')}" if doubts else text


def lines(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yield the lines below the verdict, each with its style."""
    for level, (title, style) in _TITLES.items():
        findings = audit.of(level)
        if findings:
            yield "", ""
            yield title, style
        for figure, same in _grouped(findings):
            yield f"- {_names([one.result for one in same])}: {figure}", ""
            yield f"  law: {same[0].law}", "dim"
            yield f"  hint: {same[0].cure}", ""
    if audit.unchecked:
        yield "", ""
        yield "Cannot be checked, for lack of", "bold"
    for text in _missing(audit.unchecked):
        yield f"- {text}", "dim"


def _grouped(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        groups.setdefault((one.check, one.figure), []).append(one)
    return [(figure, same) for (_, figure), same in groups.items()]


def _missing(unchecked: Sequence[Unchecked]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for one in unchecked:
        groups.setdefault(one.missing, []).append(one.check)
    return [f"{missing}: {', '.join(dict.fromkeys(c))}" for missing, c in groups.items()]


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(dict.fromkeys(names[:_MAX_RESULTS]))
    return f"{shown} and {len(names) - _MAX_RESULTS} more" if len(names) > _MAX_RESULTS else shown


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def data(audit: Audit) -> dict[str, Any]:
    """Return an audit as a JSON document's content."""
    worst = audit.findings[0].level if audit.findings else Level.DOUBTFUL
    return {
        "verdict": "possible" if worst is Level.DOUBTFUL else worst,
        "sentence": verdict(audit),
        "results": audit.result_count,
        "checks": list(audit.done),
        "findings": audit.findings,
        "cannot_be_checked": audit.unchecked,
    }
