"""A table of a few columns with bars, laid out for a width, as lines of styled text.

Invariant: no line is wider than the width; columns fall away from the right before a bar is
shorter than `MIN_BAR`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text

MIN_BAR = 10
_BAR_SHARE = 4
"""Part of the width that bars have at least."""
_GAP = 2
_EIGHTHS = " ▏▎▍▌▋▊▉█"
Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column of a table."""

    head: str
    cells: Sequence[str]
    is_number: bool = False
    style: str = ""
    is_kept: bool = False
    """Whether it never falls away."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: columns, then the bars, then columns behind them, and notes.

    Parameters
    ----------
    columns
        Columns before the bars; the first is the label.
    bars
        Length of each bar as a share of the longest; None for a row without a bar; empty for a
        table without bars.
    behind
        Columns behind the bars, the most useful first.
    notes
        Behind each row, empty for most, with a style.
    rules
        Text of a rule before the row of that number.
    """

    columns: Sequence[GridColumn]
    bars: Sequence[float | None] = ()
    behind: Sequence[GridColumn] = ()
    notes: Sequence[tuple[str, str]] = ()
    rules: Sequence[tuple[int, str]] = ()
    is_unicode: bool = True
    max_label: int = 30

    @property
    def has_heads(self) -> bool:
        """Whether a line of heads comes first."""
        return any(column.head for column in (*self.columns, *self.behind))

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.columns[0].cells)

    def lines(self, rows: Sequence[int | None], width: int) -> list[Text]:
        """Return the table with the given rows; None stands for those that are left out."""
        shown = self._fitting(width)
        bar = self._bar_width(shown, width)
        heads = self._line([column.head for column in shown], shown, "", bar)
        found = [heads] if self.has_heads else []
        previous = -1
        for place, row in enumerate(rows):
            if row is None:
                following = rows[place + 1] if place + 1 < len(rows) else None
                left = (self.count if following is None else following) - previous - 1
                found.append(Text(f"… {left:,} more", style="dim"))
                continue
            for before, text in self.rules:
                if previous < before <= row:
                    found.append(_rule(text, width, is_unicode=self.is_unicode))
            found.append(self._row(row, shown, bar))
            previous = row
        for line in found:
            line.truncate(width)
            line.rstrip()
        return found

    def _fitting(self, width: int) -> list[GridColumn]:
        """Return the columns that fit, with room for a bar if there are bars."""
        shown = [*self.columns, *self.behind]
        bar = max(MIN_BAR, width // _BAR_SHARE) + _GAP if self.bars else 0
        room = width - bar - self._note_width()
        while self._total(shown) > room:
            free = [column for column in shown[1:] if not column.is_kept]
            if not free:
                break
            shown = [column for column in shown if column is not free[-1]]
        return shown

    def _width(self, column: GridColumn) -> int:
        """Return the width of a column, long labels cut."""
        widest = max(map(cell_len, [column.head, *column.cells]), default=0)
        return min(widest, self.max_label)

    def _total(self, columns: Sequence[GridColumn]) -> int:
        return sum(self._width(column) + _GAP for column in columns) - _GAP

    def _note_width(self) -> int:
        widths = [cell_len(text) + _GAP for text, _ in self.notes if text]
        return max(widths, default=0)

    def _bar_width(self, shown: Sequence[GridColumn], width: int) -> int:
        if not self.bars:
            return 0
        return max(width - self._total(shown) - self._note_width() - _GAP, 0)

    def _row(self, row: int, shown: Sequence[GridColumn], bar: int) -> Text:
        drawn = ""
        if bar >= MIN_BAR // 2 and self.bars:
            drawn = draw_bar(self.bars[row], bar, is_unicode=self.is_unicode)
        line = self._line([column.cells[row] for column in shown], shown, drawn, bar)
        if self.notes and self.notes[row][0]:
            text, style = self.notes[row]
            line.append(f"{' ' * _GAP}{text}", style=style)
        return line

    def _line(
        self, cells: Sequence[str], shown: Sequence[GridColumn], drawn: str, bar: int
    ) -> Text:
        line = Text()
        is_drawn = not self.bars
        for place, (cell, column) in enumerate(zip(cells, shown, strict=True)):
            if column in self.behind and not is_drawn:
                line.append(set_cell_size(drawn, bar) + " " * _GAP)
                is_drawn = True
            width = self._width(column)
            text = fitted(cell, width)
            filler = " " * (width - cell_len(text))
            text = f"{filler}{text}" if column.is_number else f"{text}{filler}"
            is_head = cell is column.head
            line.append(text, style="dim" if is_head else (column.style if cell != "-" else ""))
            line.append(" " * _GAP if place < len(shown) - 1 or not is_drawn else "")
        if not is_drawn:
            line.append(set_cell_size(drawn, bar))
        return line


def fitted(text: str, width: int) -> str:
    """Return a text cut to a width, with an ellipsis if it was.

    Examples
    --------
    >>> fitted("a long name", 7), fitted("short", 7)
    ('a long…', 'short')
    """
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, max(width - 1, 0)).rstrip()}…"


def draw_bar(share: float | None, width: int, *, is_unicode: bool) -> str:
    """Return a bar of a share of the width, to an eighth of a sign.

    Examples
    --------
    >>> draw_bar(0.5, 5, is_unicode=True), draw_bar(0.5, 6, is_unicode=False)
    ('██▌', '###')
    """
    if share is None or width <= 0:
        return ""
    eighths = round(max(min(share, 1.0), 0.0) * width * 8)
    if not is_unicode:
        return "#" * round(eighths / 8)
    full, rest = divmod(eighths, 8)
    return f"{'█' * full}{_EIGHTHS[rest] if rest else ''}"


def _rule(text: str, width: int, *, is_unicode: bool) -> Text:
    sign = "─" if is_unicode else "-"
    label = fitted(text, max(width - 6, 1))
    tail = sign * max(width - cell_len(label) - 4, 0)
    return Text(f"{sign}{sign} {label} {tail}", style="orange3")


def chosen_rows(count: int, at_most: int, important: Sequence[int]) -> list[int | None]:
    """Return the rows to show: the ends, and those around the important ones; None for a gap.

    Parameters
    ----------
    count
        Rows of the table.
    at_most
        Lines, of which each gap takes one.
    important
        Rows that count most.

    Examples
    --------
    >>> chosen_rows(5, 6, [2]), chosen_rows(20, 8, [10])
    ([0, 1, 2, 3, 4], [0, None, 8, 9, 10, 11, None, 19])
    """
    if count <= at_most:
        return list(range(count))
    nearest = [row + step for step in (0, -1) for row in important]
    near = [row + step for step in (1, -2, 2) for row in important]
    kept: list[int] = []
    for row in (*nearest, 0, count - 1, *near, 1, count - 2, *range(2, count)):
        if 0 <= row < count and row not in kept:
            longer = sorted([*kept, row])
            if len(_with_gaps(longer, count)) <= at_most:
                kept = longer
    return _with_gaps(kept, count)


def _with_gaps(rows: Sequence[int], count: int) -> list[int | None]:
    found: list[int | None] = []
    previous = -1
    for row in rows:
        if row > previous + 1:
            found.append(None)
        found.append(row)
        previous = row
    return [*found, None] if previous < count - 1 else found
