"""Stretches of a text that one tool may have written: what people paste, log or append to a file.

A text may hold several results, in Markdown or below the prefix of a log, and JSON among lines. It
is cut where documents of JSON begin and end, and where a tool begins to print.

Invariant: no character of a result is lost; what belongs to nothing is in a part of its own.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headroom.input_file import is_deep

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_QUOTE = re.compile(r"^(?:\s*>)+ ?", re.MULTILINE)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DOCUMENT = re.compile(r"[\[{]")
_PREFIXES = (
    re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?[ \t]?"),
    re.compile(r"^[\w.-]+[ ]+\| ?"),
)
"""What logs of continuous integration and of containers put before each line."""
_NEARLY_ALL = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of a text: its text or JSON document, and the number of its first line."""

    text: str
    line: int = 1
    document: Any = None


def pieces(text: str) -> list[Part]:
    r"""Return the blocks of Markdown, or the whole text; without prefixes of logs and quotation.

    Examples
    --------
    >>> [part.text for part in pieces("Look:\n```\n> a: 1\n```\nwell")]
    ['Look:', 'a: 1', 'well']
    """
    lines = _without_prefix(_ESCAPE.sub("", text).removeprefix("\ufeff").splitlines())
    found: list[list[str]] = [[]]
    starts = [1]
    for number, line in enumerate(lines, start=1):
        if _FENCE.match(line):
            found.append([])
            starts.append(number + 1)
        else:
            found[-1].append(line)
    return [
        Part(text=_QUOTE.sub("", "\n".join(block)), line=start)
        for block, start in zip(found, starts, strict=True)
        if any(line.strip() for line in block)
    ]


def _without_prefix(lines: Sequence[str]) -> list[str]:
    """Return lines without what a log puts before each of them."""
    filled = [line for line in lines if line.strip()]
    for prefix in _PREFIXES:
        if filled and sum(bool(prefix.match(one)) for one in filled) >= _NEARLY_ALL * len(filled):
            return [prefix.sub("", line) for line in lines]
    return list(lines)


def with_documents(part: Part, is_wanted: Callable[[Any], bool]) -> Iterator[Part]:
    """Yield the documents of JSON in a part that are wanted, and the text between them."""
    decoder, done, place = json.JSONDecoder(), 0, 0
    while match := _DOCUMENT.search(part.text, place):
        try:
            found, end = decoder.raw_decode(part.text, match.start())
        except (ValueError, RecursionError):
            # No document begins at a later bracket of the same line: it would be inside this one.
            place = _line_end(part.text, match.start())
            continue
        if not is_deep(part.text[match.start() : end]) and is_wanted(found):
            yield from _between(part, done, match.start())
            yield _cut(part, match.start(), end, found)
            done = end
        place = end
    yield from _between(part, done, len(part.text))


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _between(part: Part, start: int, end: int) -> Iterator[Part]:
    if part.text[start:end].strip():
        yield _cut(part, start, end)


def _cut(part: Part, start: int, end: int, document: Any = None) -> Part:  # noqa: ANN401 - JSON
    line = part.line + part.text.count("\n", 0, start)
    return Part(text=part.text[start:end], line=line, document=document)


def of_tool(part: Part, start: re.Pattern[str], header: re.Pattern[str] | None) -> Iterator[Part]:
    """Yield what a tool printed in a part: from `start`, or a header above it, to the next one.

    The lines of each are moved to the left by the indentation of its first one, and have no marks
    of bold type.
    """
    lines = [part.text.rfind("\n", 0, match.end()) + 1 for match in start.finditer(part.text)]
    if not lines:
        return
    begins = []
    for line, before in zip(lines, [0, *lines], strict=False):
        found = None if header is None else header.search(part.text, before, line)
        begins.append(line if found is None else part.text.rfind("\n", 0, found.end()) + 1)
    for line, begin, end in zip(lines, begins, [*begins[1:], len(part.text)], strict=True):
        first = part.text[line : _line_end(part.text, line)]
        indent = len(first) - len(first.lstrip(" \t"))
        plain = part.text[begin:end].replace("**", "").replace("`", "")
        yield Part(
            text=re.sub(rf"(?m)^[ \t]{{1,{indent}}}", "", plain) if indent else plain,
            line=part.line + part.text.count("\n", 0, line),
        )
