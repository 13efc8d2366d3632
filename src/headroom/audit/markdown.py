"""An audit as Markdown, for a thread or a pull request."""

from collections.abc import Iterator

from headroom.audit.audit import Audit
from headroom.audit.result import Level
from headroom.audit.shown import grouped, missing, verdict

_TITLES = {
    Level.CONTRADICTION: "Breaks a law",
    Level.MISLEADING: "Misleads",
    Level.DOUBTFUL: "Doubtful",
}


def markdown(audit: Audit) -> str:
    """Return the answer, a table of findings, and what was derived and not judged.

    Examples
    --------
    >>> print(markdown(Audit(findings=(), done=("mean",), unchecked=(), result_count=1)))
    **Possible: no contradiction found in 1 check**
    """
    return "\n".join(_lines(audit))


def _lines(audit: Audit) -> Iterator[str]:
    yield f"**{_plain(verdict(audit))}**"
    if audit.findings:
        yield ""
        yield "| | result | figure | law | what to do |"
        yield "| --- | --- | --- | --- | --- |"
    for level, title in _TITLES.items():
        for names, figure, one in grouped(audit.of(level)):
            cells = (title, names, figure, one.law, one.cure)
            yield f"| {' | '.join(_plain(cell) for cell in cells)} |"
    if audit.derived:
        yield ""
        yield "Follows from the figures:"
        yield ""
        yield from (f"- {_plain(name)}: {_plain(text)}" for name, text in audit.derived)
    if audit.unchecked:
        yield ""
        yield f"<sub>Not judged, for lack of {'; '.join(missing(audit.unchecked))}.</sub>"


def _plain(text: str) -> str:
    r"""Return a text without signs that Markdown reads.

    Examples
    --------
    >>> _plain("a|b *c*")
    'a\\|b \\*c\\*'
    """
    return "".join(f"\\{sign}" if sign in "|*_<>`[]" else sign for sign in text)
