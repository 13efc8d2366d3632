"""Parse XML safely into a tree of elements with line numbers.

Invariant: no document type, hence no entity, is ever expanded, nothing outside the file is opened,
and size and depth are bounded before memory is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from headroom.input_file import read_file
from headroom.jmt.place import Place

LARGEST_BYTES = 32 * 1024 * 1024
DEEPEST = 100
_CHUNK = 1 << 16


@dataclass(slots=True)
class Element:
    """One element: its tag, attributes, line, children and the text directly inside."""

    tag: str
    attributes: dict[str, str]
    place: Place
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> Iterator["Element"]:
        """Yield the children with `tag`."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> "Element | None":
        """Return the first child with `tag`, None if there is none."""
        return next(self.all(tag), None)

    def attribute(self, name: str) -> str:
        """Return an attribute that must be there."""
        if name not in self.attributes:
            raise self.place.error(
                f"<{self.tag}> has no {name}", cure=f'write <{self.tag} {name}="...">'
            )
        return self.attributes[name]

    @property
    def name(self) -> str:
        """JMT's name of a parameter: its name, else the last word of its class path."""
        return self.attributes.get("name") or self.attributes.get("classPath", "").split(".")[-1]

    @property
    def java_class(self) -> str:
        """Last word of the class path, which says what a strategy or a law is."""
        return self.attributes.get("classPath", "").split(".")[-1]

    @property
    def value(self) -> str:
        """Text of the <value> inside, without space around; empty if there is none."""
        inner = self.first("value")
        return "" if inner is None else inner.text.strip()


def parse_file(path: Path) -> Element:
    """Return the root element of an XML file.

    Raises
    ------
    HeadroomError
        The file cannot be read, is too large or too deep, is not well formed, or declares a
        document type.
    """
    return parse(read_file(path, most_bytes=LARGEST_BYTES), str(path))


def parse(content: bytes, file: str) -> Element:
    """Return the root element of an XML text; `file` is named in messages."""
    builder = _Builder(file)
    try:
        for start in range(0, len(content), _CHUNK):
            builder.parser.Parse(content[start : start + _CHUNK], False)  # noqa: FBT003 - its API
        builder.parser.Parse(b"", True)  # noqa: FBT003 - its API
    except (expat.ExpatError, LookupError, ValueError) as error:
        line = getattr(error, "lineno", 1)
        raise Place(file, line).error(
            f"this is not well-formed XML: {error}", cure="save the model again"
        ) from error
    return builder.root


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._open: list[Element] = []
        self.root = Element("", {}, Place(file, 1))

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        place = Place(self.file, self.parser.CurrentLineNumber)
        if len(self._open) >= DEEPEST:
            raise place.error(
                f"elements are nested deeper than {DEEPEST}", cure="save the model again"
            )
        element = Element(tag, attributes, place)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        self._open[-1].text += text

    def _doctype(self, *_declared: object) -> None:
        raise Place(self.file, self.parser.CurrentLineNumber).error(
            "the file declares a document type, which models do not have",
            cure="delete the <!DOCTYPE ...>",
        )
