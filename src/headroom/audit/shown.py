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
_MAX_DERIVED = 6
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
        ("Misleading", audit.of(Level.MISLEADING)),
    ):
        if found:
            rest = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            return f"{word}: {found[0].result}: {found[0].figure}{rest}"
    if not audit.done:
        return "Cannot be judged: no law has the figures that it needs"
    text = f"Possible: no contradiction found in {_counted(len(audit.done), 'check')}"
    return f"{text}, but {_counted(doubts, 'doubt')}" if doubts else text


def lines(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yield the lines below the verdict, each with its style."""
    for level, (title, style) in _TITLES.items():
        findings = audit.of(level)
        if findings:
            yield "", ""
            yield title, style
        for names, figure, one in grouped(findings):
            yield f"- {names}: {figure}", ""
            yield f"  law: {one.law}", "dim"
            yield f"  hint: {one.cure}", ""
    if audit.derived:
        yield "", ""
        yield "Follows from the figures", "bold"
    for name, text in audit.derived[:_MAX_DERIVED]:
        yield f"- {name}: {text}", ""
    if len(audit.derived) > _MAX_DERIVED:
        yield f"- and {len(audit.derived) - _MAX_DERIVED} more (--json)", "dim"
    if audit.unchecked:
        yield "", ""
        yield "Cannot be checked, for lack of", "bold"
    for text in missing(audit.unchecked):
        yield f"- {text}", "dim"


def grouped(findings: Sequence[Finding]) -> Iterator[tuple[str, str, Finding]]:
    """Yield names of results, what they have in common, and the first finding that says so."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        groups.setdefault((one.check, one.figure), []).append(one)
    for (_, figure), same in groups.items():
        yield _names([one.result for one in same]), figure, same[0]


def missing(unchecked: Sequence[Unchecked]) -> list[str]:
    """Return each number that is missing, with the checks that need it."""
    groups: dict[str, list[str]] = {}
    for one in unchecked:
        groups.setdefault(one.missing, []).append(one.check)
    return [f"{what}: {', '.join(dict.fromkeys(checks))}" for what, checks in groups.items()]


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
        "derived": [{"result": name, "figure": text} for name, text in audit.derived],
        "findings": audit.findings,
        "cannot_be_checked": audit.unchecked,
    }
