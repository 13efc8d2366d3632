"""Small files that a replication leaves besides numbers: logs, charts, tables, pictures.

Those of the first replication of a point and of each failed one are kept, up to a limit.
"""

import csv
import io
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

ArtefactKind: TypeAlias = Literal["log", "text", "table", "picture"]
EACH_BYTES = 64 * 1024
"""Size (B) of which a log keeps its end; a larger artefact of another kind is left out."""
ALL_BYTES = 256 * 1024
"""Size (B) of all artefacts of a replication together."""
_CUT = "[the beginning was cut]\n"


class Artefact(msgspec.Struct, frozen=True, kw_only=True):
    """A named small file.

    Parameters
    ----------
    name
        File name: letters, digits, ``.``, ``_`` and ``-``; pictures end with ``.svg`` or ``.png``.
    kind
        ``log`` (its end matters most), ``text``, ``table`` (comma-separated, with a header) or
        ``picture``.
    content
        Bytes; UTF-8 unless it is a picture.

    Examples
    --------
    >>> Artefact(name="db.log", kind="log", content=b"ready").text()
    'ready'
    """

    name: str
    kind: ArtefactKind
    content: bytes

    def text(self) -> str:
        """Return the content of anything but a picture."""
        return self.content.decode("utf-8", errors="replace")

    def rows(self) -> list[dict[str, str]]:
        r"""Return the rows of a table by its header.

        Examples
        --------
        >>> Artefact(name="t.csv", kind="table", content=b"line,time s\na.c:3,0.5\n").rows()
        [{'line': 'a.c:3', 'time s': '0.5'}]
        """
        return list(csv.DictReader(io.StringIO(self.text())))


def within_limits(artefacts: Iterable[Artefact]) -> tuple[Artefact, ...]:
    """Return the artefacts that fit, logs cut to their ends.

    Examples
    --------
    >>> long = Artefact(name="a", kind="log", content=b"x" * 100_000)
    >>> len(within_limits([long])[0].content) <= EACH_BYTES
    True
    >>> within_limits([Artefact(name="b", kind="text", content=long.content)])
    ()
    """
    kept: list[Artefact] = []
    left = ALL_BYTES
    for artefact in artefacts:
        content = artefact.content
        if artefact.kind == "log" and len(content) > EACH_BYTES:
            content = _CUT.encode() + content[-(EACH_BYTES - len(_CUT)) :]
        if len(content) <= min(EACH_BYTES, left):
            left -= len(content)
            kept.append(msgspec.structs.replace(artefact, content=content))
    return tuple(kept)
