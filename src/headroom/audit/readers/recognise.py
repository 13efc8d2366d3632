"""Find the reader of a file by its content, among those that packages register."""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from headroom.audit.readers.fields import UnknownFormatError, UnreadableError
from headroom.audit.readers.fio import finished
from headroom.audit.readers.format import Format
from headroom.audit.readers.parts import Part, of_tool, pieces, with_documents
from headroom.audit.readers.tables import told, with_columns
from headroom.audit.result import Result
from headroom.errors import EnvironmentUnfitError, HeadroomError
from headroom.experiment.protocol import plug_ins
from headroom.input_file import MAX_DATA_BYTES, MalformedError, decode_json, read_text

GROUP = "headroom.readers"
KIND = "reader of results"
_HEAD_LINES = 5
_HEAD_BYTES = 1 << 16
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

    Those that find where a result begins come before those that do not, and general ones are last;
    otherwise Headroom's own come before those of other packages.
    """
    found, broken = {}, []
    for name in format_names():
        try:
            found[name] = find_format(name)
        except EnvironmentUnfitError as error:
            broken.append(error)
    entries = plug_ins.plug_ins(GROUP)
    order = sorted(
        found,
        key=lambda name: (
            found[name].is_general,
            found[name].start is None,
            not plug_ins.is_own(entries[name]),
        ),
    )
    return {name: found[name] for name in order}, broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What was read of a text: results of one format, or why a part of it has none."""

    kind: str
    results: Sequence[Result] = ()
    problem: HeadroomError | None = None


def read_results(path: Path, wanted: str = "") -> tuple[str, Sequence[Result]]:
    """Return the format of a file and its results, for a file with one format alone.

    See `read_all`.
    """
    found = read_all(read_text_of(path), path.name, wanted, place=str(path))
    return found[0].kind, [one for part in found for one in part.results]


def read_text_of(path: Path) -> str:
    """Return the text of a file.

    Raises
    ------
    UnreadableError
        It is not text.
    """
    try:
        return read_text(path, most_bytes=MAX_DATA_BYTES)
    except MalformedError as error:
        raise UnreadableError(
            f"{path}: not a text file",
            cure="of vegeta's binary results use `vegeta report -type=json` or `encode --to csv`",
        ) from error


def read_all(
    text: str,
    source: str,
    wanted: str = "",
    *,
    place: str = "",
    columns: Mapping[str, str] | None = None,
) -> Sequence[Read]:
    """Return all results of a text, which may hold several in whatever is around them.

    Parameters
    ----------
    text, source
        The text, and the name of its file.
    wanted
        Name of its format; empty to recognise it.
    place
        Path of the file, for messages.
    columns
        What columns of tables mean, by name; then nothing but tables is read.

    Raises
    ------
    UnreadableError
        No format fits, or nothing of what fits is complete.
    EnvironmentUnfitError
        The wanted format cannot be imported.
    """
    place = place or source
    offered = {wanted: find_format(wanted)} if wanted else formats()[0]
    if columns:
        offered = {"table": with_columns(columns)}
    found = list(_of_whole(text, source, place, offered)) or list(
        _of_parts(text, source, place, offered)
    )
    if not found:
        raise _unknown(text, place, offered, wanted)
    done = [one for one in found if one.problem is None]
    if not done and found[0].problem is not None:
        raise found[0].problem
    if not any(one.results for one in done):
        raise UnreadableError(
            f"{place}: no result in this file of {done[0].kind}", cure="run it for longer"
        )
    return [*_numbered(list(_once(done))), *(one for one in found if one.problem is not None)]


def _of_whole(text: str, source: str, place: str, offered: Mapping[str, Format]) -> Iterator[Read]:
    """Yield what is read of a text that is one document, or rows of one format."""
    lines = [line for line in text[:_HEAD_BYTES].splitlines() if line.strip()][:_HEAD_LINES]
    with suppress(MalformedError):
        document = decode_json(text, "", type=Any)
        for name in _fitting("json", document, offered):
            yield _read(name, offered[name], document, source, place)
            return
    for name in _fitting("lines", lines, offered):
        yield _read(name, offered[name], text, source, place)
        return


def _of_parts(text: str, source: str, place: str, offered: Mapping[str, Format]) -> Iterator[Read]:
    """Yield what is read of the parts of a text, in their order."""
    for piece in pieces(text):
        is_wanted = partial(_is_known, offered=offered)
        documents = list(with_documents(piece, is_wanted))
        for part in finished(documents):
            if part.document is not None:
                name = next(_fitting("json", part.document, offered))
                yield _read(name, offered[name], part.document, source, place)
            else:
                yield from _of_text(part, source, place, offered)


def _is_known(document: Any, offered: Mapping[str, Format]) -> bool:  # noqa: ANN401 - JSON
    return next(_fitting("json", document, offered), None) is not None


def _of_text(part: Part, source: str, place: str, offered: Mapping[str, Format]) -> Iterator[Read]:
    found: list[tuple[int, Read]] = []
    for name, one in offered.items():
        if one.kind != "text" or (one.start is None and found):
            continue
        stretches = [part] if one.start is None else of_tool(part, one.start, one.header)
        for stretch in stretches:
            if name in _fitting("text", stretch.text, {name: one}):
                at = f"{place}:{stretch.line}"
                found.append((stretch.line, _read(name, one, stretch.text, source, at)))
    yield from (read for _, read in sorted(found, key=lambda both: both[0]))


def _read(name: str, one: Format, content: Any, source: str, place: str) -> Read:  # noqa: ANN401
    try:
        return Read(kind=name, results=one.read(content, source))
    except UnreadableError as error:
        return Read(kind=name, problem=error)
    except _UNEXPECTED as error:
        return Read(
            kind=name,
            problem=UnreadableError(
                f"{place}: not a complete file of {name}: {type(error).__name__} at {error}",
                cure="give the file as the tool wrote it, or choose another --format",
            ),
        )


def _once(found: Sequence[Read]) -> Iterator[Read]:
    """Yield what was read, without runs that a text tells again in another format."""
    for place, part in enumerate(found):
        others = [
            one for before in found[:place] if before.kind != part.kind for one in before.results
        ]
        kept = [one for one in part.results if not any(_is_same(one, other) for other in others)]
        if kept or not part.results:
            yield replace(part, results=kept)


def _is_same(one: Result, other: Result) -> bool:
    """Return whether two results are of one job, with one throughput and one length."""
    if (one.tool, one.name) != (other.tool, other.name):
        return False
    pairs = ((one.throughput, other.throughput), (one.duration_s, other.duration_s))
    return all(a and b and a.low <= b.high and b.low <= a.high for a, b in pairs)


def _numbered(found: Sequence[Read]) -> Iterator[Read]:
    """Yield what was read, with a number behind names that several runs share."""
    names = Counter(one.name for part in found for one in part.results)
    if len(found) == 1:
        yield from found
        return
    seen: Counter[str] = Counter()
    for part in found:
        results = []
        for one in part.results:
            seen[one.name] += 1
            name = f"{one.name}, run {seen[one.name]}" if names[one.name] > 1 else one.name
            results.append(replace(one, name=name))
        yield replace(part, results=results)


def _unknown(
    text: str, place: str, offered: Mapping[str, Format], wanted: str
) -> UnknownFormatError:
    reason = ""
    if text.lstrip().startswith(("{", "[")):
        try:
            decode_json(text, "", type=Any)
        except MalformedError as error:
            reason = f"not valid JSON{error.message}"
    if wanted:
        also = f" ({reason})" if reason and offered[wanted].kind == "json" else ""
        return UnknownFormatError(
            f"{place}: not a file of {wanted}{also}; expected {offered[wanted].expected}",
            cure="leave --format out to recognise the file",
        )
    also = f"; {reason}" if reason else ""
    tables = list(told(text, {}))
    if tables:
        return UnknownFormatError(
            f"{place}: no known format fits{also}; of its table, {tables[0]}",
            cure="name a rate and a time: --column NAME=throughput --column NAME=response_ms_mean",
        )
    return UnknownFormatError(
        f"{place}: no known format fits{also}",
        cure=f"give the whole output of one of {', '.join(offered)}, or a table with a header",
    )


def _fitting(kind: str, content: Any, offered: Mapping[str, Format]) -> Iterator[str]:  # noqa: ANN401
    """Yield the names of the formats that fit; one that does not expect the content does not."""
    for name, one in offered.items():
        try:
            if one.kind == kind and content and one.fits(content):
                yield name
        except _UNEXPECTED:
            continue
