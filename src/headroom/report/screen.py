"""A console that takes the texts of a study as they are, and tables at any width.

Invariant: texts are never read as markup; what the console cannot show is written out.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from headroom.quantities import to_ascii

VERDICT_STYLES = {
    "holds": "green", "differs": "red", "undecided": "yellow", "meets": "green", "fails": "red",
}  # fmt: skip
_WORDS_AT_LEAST = 14
_NARROWER = (14, 11, 9, 7, 5)
"""Widths at which long words are broken, tried one after the other until a table fits."""
_BETWEEN = 3
"""Signs between two columns: a blank of each, and the line between them."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its head and its cells."""

    head: str
    cells: list[str]
    is_number: bool = False


def width_of(column: Column) -> int:
    """Return the least width of a column: numbers stay whole, words wrap once they are long."""
    words = [len(word) for text in (column.head, *column.cells) for word in text.split()]
    if column.is_number:
        return max([len(word) for word in column.head.split()] + [len(c) for c in column.cells])
    natural = max(map(len, (column.head, *column.cells)))
    return min(_WORDS_AT_LEAST, max(max(words, default=0), min(natural, _WORDS_AT_LEAST)))


def broken(cell: str) -> str:
    r"""Return a number with the ends of its interval in a line of their own.

    Examples
    --------
    >>> broken("200 (160 to 480)"), broken("200 ±12")
    ('200\n(160 to 480)', '200 ±12')
    """
    return cell.replace(" (", "\n(", 1)


def narrow_width_of(column: Column, longest: int, *, breaks_numbers: bool) -> int:
    """Return the least width of a column whose words are broken beyond `longest`.

    Numbers are never broken but before the ends of their interval; at other blanks only where
    `breaks_numbers` is given.

    Examples
    --------
    >>> column = Column("station.database.servers", ["8 to 16"], is_number=True)
    >>> narrow_width_of(column, 9, breaks_numbers=False)
    9
    >>> column = Column("p50", ["200 (160 to 480)"], is_number=True)
    >>> [narrow_width_of(column, 14, breaks_numbers=breaks) for breaks in (False, True)]
    [12, 4]
    """
    head = [len(word) for word in column.head.split()]
    if column.is_number:
        numbers = [
            part
            for one in column.cells
            for part in (one.split() if breaks_numbers else broken(one).split("\n"))
        ]
        return max(min(longest, max(head, default=0)), max(map(len, numbers), default=0))
    cells = [len(word) for cell in column.cells for word in cell.split()]
    return min(longest, max([*head, *cells], default=0))


def widths_within(columns: Sequence[Column], room: int) -> list[int]:
    """Return the least width of each column, words broken as seldom as fits into `room`."""
    widths = [width_of(column) for column in columns]
    for breaks_numbers in (False, True):
        for longest in _NARROWER:
            if sum(widths) + _BETWEEN * (len(widths) - 1) + 2 <= room:
                return widths
            widths = [
                narrow_width_of(column, longest, breaks_numbers=breaks_numbers)
                for column in columns
            ]
    return widths


def fixed_within(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[bool]:
    """Return which columns get their least width exactly, so that the others fit beside them.

    Numbers always do. Among the others the room is shared evenly, so one that needs more than its
    share would otherwise push the last column out of the console.

    Examples
    --------
    >>> columns = [Column("Point", ["postmark_sync = never"]), Column("Verdict", ["undecided"])]
    >>> fixed_within(columns, [13, 9], 80), fixed_within(columns, [13, 9], 27)
    ([False, False], [True, False])
    """
    fixed = [column.is_number for column in columns]
    natural = [max(map(len, (column.head, *column.cells))) for column in columns]
    room -= _BETWEEN * (len(columns) - 1) + 2
    while not all(fixed):
        taken = sum(width for width, is_fixed in zip(widths, fixed, strict=True) if is_fixed)
        share = (room - taken) / fixed.count(False)
        wanted = sum(one for one, is_fixed in zip(natural, fixed, strict=True) if not is_fixed)
        too_wide = [not f and width > share for f, width in zip(fixed, widths, strict=True)]
        if wanted <= room - taken or not any(too_wide):
            break
        fixed = [one or other for one, other in zip(fixed, too_wide, strict=True)]
    return fixed


@dataclass(frozen=True, slots=True)
class Screen:
    """A console that takes plain text and writes out what it cannot show."""

    console: Console

    def clean(self, text: str) -> str:
        """Return `text` without signs that steer a terminal or that it cannot show."""
        shown = "".join(sign if _is_shown(sign) else _escaped(sign) for sign in text)
        is_unicode = self.console.encoding.lower().startswith("utf")
        return shown if is_unicode else to_ascii(shown)

    def line(self, text: str = "", style: str = "") -> None:
        """Print one line."""
        self.print(Text(self.clean(text), style=style))

    def print(self, shown: RenderableType) -> None:
        """Print to the console; into a file or a pipe without blanks at the ends of lines."""
        if self.console.is_terminal:
            self.console.print(shown, highlight=False)
            return
        with self.console.capture() as caught:
            self.console.print(shown, highlight=False)
        for line in caught.get().splitlines():
            self.console.print(Text(line.rstrip()), highlight=False, soft_wrap=True)

    def item(self, head: str, text: str, style: str = "") -> None:
        """Print a heading and its text side by side, the text indented when it wraps."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(width=9, style="dim", no_wrap=True)
        grid.add_column(ratio=1, overflow="fold")
        grid.add_row(self.clean(head), Text(self.clean(text), style=style))
        self.print(grid)

    def table(self, columns: Sequence["Column"]) -> None:
        """Print a table; heads wrap at their words, numbers never.

        Where that is wider than the console, long words are broken, as seldom as possible.
        """
        widths = widths_within(columns, self.console.width)
        fixed = fixed_within(columns, widths, self.console.width)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold")
        for column, width, is_fixed in zip(columns, widths, fixed, strict=True):
            table.add_column(
                self.text(column.head),
                justify="right" if column.is_number else "left",
                width=width if is_fixed else None,
                min_width=width,
                overflow="fold",
            )
        for cells in zip(*(column.cells for column in columns), strict=True):
            styles = (VERDICT_STYLES.get(cell, "") for cell in cells)
            shown = [
                broken(cell) if column.is_number and len(cell) > width else cell
                for cell, column, width in zip(cells, columns, widths, strict=True)
            ]
            table.add_row(*map(self.text, shown, styles))
        self.print(table)

    def text(self, text: str, style: str = "") -> Text:
        """Return a text as the console can show it."""
        return Text(self.clean(text), style=style)


def _is_shown(sign: str) -> bool:
    return sign == "\n" or unicodedata.category(sign) not in {"Cc", "Cf", "Cs"}


def _escaped(sign: str) -> str:
    return " " if sign == "\t" else sign.encode("unicode_escape", "surrogatepass").decode("ascii")
