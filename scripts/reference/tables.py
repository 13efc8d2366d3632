"""Markdown tables, and the notice at the top of every generated page."""

from collections.abc import Sequence

NOTICE = "<!-- Written by `make docs` from the code; edit the code instead. -->\n"


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    r"""Return a Markdown table, empty if there are no rows.

    Examples
    --------
    >>> print(table(("a", "b"), [("1", "x|y")]), end="")
    | a | b |
    | --- | --- |
    | 1 | x\|y |
    """
    if not rows:
        return ""
    lines = [header, tuple("---" for _ in header), *rows]
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    escaped[1] = ["---" for _ in header]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
