"""Words of the text format of layered queueing networks, each with its line.

Invariant: a character that begins no word is refused; comments run from # to the end of a line.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from headroom.jmt.place import Place

_WORD = re.compile(
    r'(?P<space>[\s]+|\#[^\n]*)|(?P<string>"[^"]*")|->|-1(?![\w.])'
    r"|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])|\$?\w+|@\w+|[&+*,;:\[\]()=]"
)
END = "-1"
"""Ends a list."""

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Word:
    """A word and the line that it is in."""

    text: str
    place: Place


def words_of(text: str, file: str) -> list[Word]:
    """Return the words of a text; the last is empty."""
    words: list[Word] = []
    at, line = 0, 1
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            raise Place(file, line).error(
                f"{text[at]!r} begins no word of the format",
                cure="remove it; names consist of letters, digits and underscores",
            )
        if match["space"] is None:
            words.append(Word(match[0].strip('"') or match[0], Place(file, line)))
        line += match[0].count("\n")
        at = match.end()
    words.append(Word("", Place(file, line)))
    return words


class Words:
    """Words that are taken one after the other; `variables` have values of their own."""

    def __init__(self, text: str, file: str) -> None:
        self._words = words_of(text, file)
        self._at = 0
        self.variables: dict[str, str] = {}

    @property
    def next(self) -> str:
        """The next word, empty at the end of the file."""
        return self._words[self._at].text

    @property
    def place(self) -> Place:
        """The line of the next word."""
        return self._words[self._at].place

    def take(self, what: str) -> str:
        """Return the next word and go on; `what` it should be is named if the file ends here."""
        word = self._words[self._at]
        if not word.text:
            raise word.place.error(f"the file ends where {what} should be", cure="complete it")
        self._at += 1
        return word.text

    def value(self, what: str) -> str:
        """Return the next word, or the value of the variable that it is."""
        place, text = self.place, self.take(what)
        if text.startswith("$"):
            if text not in self.variables:
                raise place.error(
                    f"variable {text} has no value", cure=f"write {text} = NUMBER before G"
                )
            return self.variables[text]
        return text

    def skip(self, text: str) -> bool:
        """Return whether the next word is `text`, which is then taken."""
        is_next = self.next == text
        self._at += is_next
        return is_next

    def expect(self, text: str, cure: str) -> None:
        """Take a word that must be `text`."""
        place, found = self.place, self.take(repr(text))
        if found != text:
            raise place.error(f"{found!r} is where {text!r} should be", cure=cure)

    def until_end(self, what: str, take: Callable[[str], Read]) -> list[Read]:
        """Return what `take` makes of each word, up to the end of the list."""
        found = []
        while self.next != END:
            found.append(take(what))
        self.take(END)
        return found
