"""Find the reader of a file by its content, among those that packages register."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headroom.audit.readers.fields import UnreadableError
from headroom.audit.readers.format import Format
from headroom.audit.result import Result
from headroom.errors import EnvironmentUnfitError
from headroom.experiment.protocol import plug_ins
from headroom.input_file import MAX_DATA_BYTES, MalformedError, decode_json, read_text

GROUP = "headroom.readers"
KIND = "reader of results"
_HEAD_LINES = 5
_UNEXPECTED = (
    KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError, csv.Error
)  # fmt: skip
"""What a reader raises at content that is not of its format."""


def format_names() -> tuple[str, ...]:
    """Return the names of all registered formats, sorted; none of them is loaded.

    Examples
    --------
    >>> "fio" in format_names()
    True
    """
    return tuple(sorted(plug_ins.plug_ins(GROUP)))


def find_format(name: str) -> Format:
    """Return a registered format.

    Raises
    ------
    UnreadableError
        No format has this name.
    EnvironmentUnfitError
        It is registered, but cannot be imported or is not a `Format`.
    """
    entry = plug_ins.plug_ins(GROUP).get(name)
    if entry is None:
        raise UnreadableError(
            f"unknown format {name!r}", cure=f"choose one of {', '.join(format_names())}"
        )
    found = plug_ins.load(entry, kind=KIND)
    if not isinstance(found, Format):
        raise EnvironmentUnfitError(
            f"the {KIND} {name!r} is registered as {entry.value}, which is not a Format",
            cure="ask its author: see docs/guides/write-a-layer.md",
        )
    return found


def formats() -> tuple[Mapping[str, Format], Sequence[EnvironmentUnfitError]]:
    """Return the formats in the order in which a file is held against them, and broken readers.

    General ones are last; otherwise Headroom's own come before those of other packages.
    """
    found, broken = {}, []
    for name in format_names():
        try:
            found[name] = find_format(name)
        except EnvironmentUnfitError as error:
            broken.append(error)
    entries = plug_ins.plug_ins(GROUP)
    order = sorted(
        found, key=lambda name: (found[name].is_general, not plug_ins.is_own(entries[name]))
    )
    return {name: found[name] for name in order}, broken


def read_results(path: Path, wanted: str = "") -> tuple[str, Sequence[Result]]:
    """Return the format of a file and its results.

    Parameters
    ----------
    path
        The file.
    wanted
        Name of its format; empty to recognise it.

    Raises
    ------
    UnreadableError
        No format fits, or the file is not complete.
    EnvironmentUnfitError
        The wanted format cannot be imported.
    """
    offered = {wanted: find_format(wanted)} if wanted else formats()[0]
    try:
        text = read_text(path, most_bytes=MAX_DATA_BYTES)
    except MalformedError as error:
        raise UnreadableError(
            f"{path}: not a text file",
            cure="of vegeta's binary results use `vegeta report -type=json` or `encode --to csv`",
        ) from error
    name, content = _recognised(path, text, offered, wanted)
    try:
        results = offered[name].read(content, path.name)
    except _UNEXPECTED as error:
        raise UnreadableError(
            f"{path}: not a complete file of {name}: {type(error).__name__} at {error}",
            cure="give the file as the tool wrote it, or choose another --format",
        ) from error
    if not results:
        raise UnreadableError(f"{path}: no result in this file of {name}", cure="run it for longer")
    return name, results


def _recognised(
    path: Path, text: str, offered: Mapping[str, Format], wanted: str
) -> tuple[str, Any]:
    contents: dict[str, Any] = {"text": text}
    lines = text.splitlines()
    contents["lines"] = [line for line in lines if line.strip()][:_HEAD_LINES]
    try:
        # fio may print notes above its document.
        contents["json"] = decode_json(text[max(text.find("{"), 0) :], "", type=Any)
    except MalformedError as error:
        reason = f"not valid JSON{error.message}"
    else:
        reason = ""
    for name in _fitting(contents, offered):
        return name, text if offered[name].kind == "lines" else contents[offered[name].kind]
    if wanted:
        one = offered[wanted]
        also = f" ({reason})" if reason and one.kind == "json" else ""
        raise UnreadableError(
            f"{path}: not a file of {wanted}{also}; expected {one.expected}",
            cure="leave --format out to recognise the file",
        )
    also = f"; {reason}" if reason and text.lstrip().startswith(("{", "[")) else ""
    raise UnreadableError(
        f"{path}: no known format fits{also}",
        cure=f"name it with --format, one of {', '.join(offered)}",
    )


def _fitting(contents: Mapping[str, Any], offered: Mapping[str, Format]) -> Iterator[str]:
    """Yield the names of the formats that fit; one that does not expect the content does not."""
    for name, one in offered.items():
        content = contents.get(one.kind)
        try:
            if content and one.fits(content):
                yield name
        except _UNEXPECTED:
            continue
