"""A console that prints the texts of a study verbatim, and tables at any width.

Invariant: texts are never read as markup; what the console cannot show is written out.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from headroom.quantities import to_ascii
from headroom.report.terminal.columns import Column, broken, layout, wrapped

VERDICT_STYLES = {
    "holds": "green", "differs": "red", "undecided": "yellow", "meets": "green", "fails": "red",
}  # fmt: skip


def printed(render: Callable[[Console], object], width: int) -> str:
    """Return the text that `render` prints on a console of that many columns, without colours.

    Neither is left to rich: in the kernel of a notebook it would display each line instead of
    writing it, and IPython's FORCE_COLOR would colour the text.
    """
    text = StringIO()
    console = Console(
        file=text, width=width, highlight=False, emoji=False,
        color_system=None, force_terminal=False, force_jupyter=False,
    )  # fmt: skip
    render(console)
    return text.getvalue()


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
        rendered = self.console.render_lines(shown, pad=False)
        lines = ("".join(segment.text for segment in line).rstrip() for line in rendered)
        self.console.print(Text("\n".join(lines)), highlight=False, soft_wrap=True)

    def item(self, head: str, text: str, style: str = "") -> None:
        """Print a heading and its text side by side, the text indented when it wraps."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(width=9, style="dim", no_wrap=True)
        grid.add_column(ratio=1, overflow="fold")
        grid.add_row(self.clean(head), Text(self.clean(text), style=style))
        self.print(grid)

    def table(self, columns: Sequence[Column]) -> None:
        """Print a table; if its words do not fit side by side, one block for each row."""
        columns = [
            Column(self.clean(one.head), list(map(self.clean, one.cells)), is_number=one.is_number)
            for one in columns
        ]
        widths = layout(columns, self.console.width)
        if widths is None:
            self._blocks(columns)
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold")
        for column, width in zip(columns, widths, strict=True):
            table.add_column(
                self.text(wrapped(column.head, width)),
                justify="right" if column.is_number else "left",
                width=width,
                overflow="fold",
            )
        for cells in zip(*(column.cells for column in columns), strict=True):
            shown = [
                broken(cell) if column.is_number and len(cell) > width else wrapped(cell, width)
                for cell, column, width in zip(cells, columns, widths, strict=True)
            ]
            styles = (VERDICT_STYLES.get(cell, "") for cell in cells)
            table.add_row(*map(self.text, shown, styles))
        self.print(table)

    def _blocks(self, columns: Sequence[Column]) -> None:
        """Print each row of a table below the other: the first cell, then heads and cells."""
        first, *others = columns
        head_width = min(max(len(other.head) for other in others), self.console.width // 2)
        width = self.console.width - head_width - 2
        for row, title in enumerate(first.cells):
            self.line()
            head = first.head if first.is_number else f"{first.head}:"
            self.line(wrapped(f"{head} {title}", self.console.width), "bold")
            grid = Table.grid(padding=(0, 2))
            grid.add_column(style="dim", width=head_width)
            grid.add_column(overflow="fold")
            for column in others:
                cell = column.cells[row]
                grid.add_row(
                    self.text(wrapped(column.head, head_width)),
                    self.text(wrapped(cell, width), VERDICT_STYLES.get(cell, "")),
                )
            self.print(grid)
        self.line()

    def text(self, text: str, style: str = "") -> Text:
        """Return a text as the console can show it."""
        return Text(self.clean(text), style=style)


def _is_shown(sign: str) -> bool:
    return sign == "\n" or unicodedata.category(sign) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _escaped(sign: str) -> str:
    return " " if sign == "\t" else sign.encode("unicode_escape", "surrogatepass").decode("ascii")
