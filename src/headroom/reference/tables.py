"""Tables and lists in Markdown."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table without its empty columns; nothing if there are no rows.

    Examples
    --------
    >>> print(table(("a", "b"), [("1", "x|y")]), end="")
    | a | b |
    | --- | --- |
    | 1 | x\|y |
    >>> print(table(("a", "b"), [("1", "")]), end="")
    | a |
    | --- |
    | 1 |
    """
    if not rows:
        return ""
    used = [place for place in range(len(header)) if any(row[place] for row in rows)]
    lines = [[line[place] for place in used] for line in (header, ["---"] * len(header), *rows)]
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def items(rows: Sequence[Sequence[str]]) -> str:
    r"""Return names and meanings as a Markdown list; nothing if there are no rows.

    Examples
    --------
    >>> print(items([("`a`", "First."), ("`b`", "Second\nline.")]), end="")
    - `a`: First.
    - `b`: Second line.
    """
    return "".join(f"- {name}: {text}\n".replace("\n", " ").rstrip() + "\n" for name, text in rows)


def single_blank_lines(text: str) -> str:
    """Return a page without two empty lines in a row."""
    lines = text.rstrip().splitlines()
    kept = [line for line, before in zip(lines, ["x", *lines], strict=False) if line or before]
    return "\n".join(kept) + "\n"
