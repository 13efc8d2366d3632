"""Find the line of a key in a TOML document.

A small scanner for text that `tomllib` has already accepted; it builds no values and reports no
errors. Its paths equal those of the parsed document: a property test compares the two.
"""

from collections.abc import Iterator

KeyPath = tuple[str | int, ...]

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_END_OF_SCALAR = frozenset(",]}#\n")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
_CODE_LENGTHS = {"x": 2, "u": 4, "U": 8}


def key_lines(text: str) -> dict[KeyPath, int]:
    r"""Return the line (from 1) of each key, table and list element of a TOML document.

    Parameters
    ----------
    text
        A document that `tomllib.loads` accepts.

    Examples
    --------
    >>> key_lines("[web]\nusers = [1,\n  2]\n")[("web", "users", 1)]
    3
    """
    return _Scanner(text.replace("\r\n", "\n")).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text + "\n"
        self._at = 0
        self._line = 1
        self._lines: dict[KeyPath, int] = {}
        self._table_counts: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip_blank(newlines=True):
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> KeyPath:
        line = self._line
        self._step()
        is_list = self._peek() == "["
        if is_list:
            self._step()
        keys = self._keys()
        while self._peek() == "]":
            self._step()
        path = (*self._resolved(keys[:-1], line), keys[-1])
        if is_list:
            number = self._table_counts.get(path, 0)
            self._table_counts[path] = number + 1
            self._note(path, line)
            path = (*path, number)
        else:
            path = self._in_last(path)
        self._note(path, line)
        return path

    def _resolved(self, keys: list[str], line: int) -> KeyPath:
        """Return the path of a header's parents; a list of tables means its last table."""
        path: KeyPath = ()
        for key in keys:
            path = self._in_last((*path, key))
            self._note(path, line)
        return path

    def _in_last(self, path: KeyPath) -> KeyPath:
        count = self._table_counts.get(path, 0)
        return (*path, count - 1) if count else path

    def _pair(self, table: KeyPath) -> None:
        line = self._line
        path = table
        for key in self._keys():
            path = (*path, key)
            self._note(path, line)
        self._step()  # the equals sign
        self._value(path)

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip_blank(newlines=False)
            keys.append(self._key())
            self._skip_blank(newlines=False)
            if self._peek() != ".":
                return keys
            self._step()

    def _key(self) -> str:
        if self._peek() in "\"'":
            return self._string()
        start = self._at
        while self._peek() in _BARE:
            self._step()
        return self._text[start : self._at]

    def _value(self, path: KeyPath) -> None:
        self._skip_blank(newlines=False)
        first = self._peek()
        if first == "[":
            self._list(path)
        elif first == "{":
            self._inline_table(path)
        elif first in "\"'":
            self._string()
        else:
            while self._peek() not in _END_OF_SCALAR:
                self._step()

    def _list(self, path: KeyPath) -> None:
        self._step()
        for number, _ in enumerate(self._elements("]")):
            self._note((*path, number), self._line)
            self._value((*path, number))

    def _inline_table(self, path: KeyPath) -> None:
        self._step()
        for _ in self._elements("}"):
            self._pair(path)

    def _elements(self, end: str) -> Iterator[None]:
        """Stop at the start of each element; steps over commas and the closing bracket."""
        while True:
            self._skip_blank(newlines=True)
            if self._peek() == end:
                self._step()
                return
            if self._peek() == ",":
                self._step()
                continue
            yield

    def _string(self) -> str:
        quote = self._peek()
        if self._text.startswith(quote * 3, self._at):
            self._long_string(quote)
            return ""
        self._step()
        characters = []
        while self._peek() != quote:
            is_escape = self._peek() == "\\" and quote == '"'
            characters.append(self._escape() if is_escape else self._step())
        self._step()
        return "".join(characters)

    def _long_string(self, quote: str) -> None:
        self._steps(3)
        while not self._text.startswith(quote * 3, self._at):
            self._steps(2 if self._peek() == "\\" and quote == '"' else 1)
        self._steps(3)
        while self._peek() == quote:  # up to two quotes may belong to the text
            self._step()

    def _escape(self) -> str:
        self._step()
        letter = self._step()
        if letter in _CODE_LENGTHS:
            digits = self._steps(_CODE_LENGTHS[letter])
            return chr(int(digits, 16))
        return _ESCAPES[letter]

    def _skip_blank(self, *, newlines: bool) -> bool:
        """Skip spaces and comments, and empty lines if requested; False at the end."""
        blank = " \t\n" if newlines else " \t"
        while self._at < len(self._text):
            if self._peek() in blank:
                self._step()
            elif self._peek() == "#":
                while self._peek() != "\n":
                    self._step()
            else:
                return True
            if not newlines and self._at < len(self._text) and self._peek() == "\n":
                return True
        return False

    def _note(self, path: KeyPath, line: int) -> None:
        self._lines.setdefault(path, line)

    def _peek(self) -> str:
        return self._text[self._at]

    def _steps(self, count: int) -> str:
        return "".join(self._step() for _ in range(count))

    def _step(self) -> str:
        character = self._text[self._at]
        self._at += 1
        self._line += character == "\n"
        return character
