"""Print the first screen: question, answer, table, claims, how sure, care, and where the rest is.

Invariant: at most `MAX_LINES` lines, none wider than the console; the sentences are those of the
page. Blocks that do not fit are left out in a stated order, but never the answer, its first
consequence, and where the rest is.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from headroom.analysis.results import StudyResult
from headroom.experiment.study.paths import PAGE_NAME, results_folder
from headroom.report.first_screen.grid import chosen_rows
from headroom.report.first_screen.sentences.answer import AnswerWords, answer_words
from headroom.report.first_screen.sentences.sentence import NO_BREAK
from headroom.report.first_screen.table import decisive_table
from headroom.report.sentences.sizes import size_command
from headroom.report.terminal.screen import Screen
from headroom.report.titles import in_words_of_study
from headroom.report.words import count_noun

MAX_LINES = 24
_HEAD = 8
_JOINT = "\x1f"
"""Between words that stay on one line, while a text is wrapped."""
_MIN_WIDTH = 20


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that are printed together; `order` says when they give way, 0 never."""

    name: str
    lines: Sequence[Text]
    order: int = 0


@in_words_of_study
def render_first_screen(
    result: StudyResult, console: Console, *, folder: Path, command: str, reused: int = 0
) -> None:
    """Print the answer of a study in at most 24 lines.

    Parameters
    ----------
    result
        An analysed study with an answer.
    console
        Where to print; its width, colours and encoding are respected.
    folder
        Folder of the study, as its user named it.
    command
        The command that shows everything.
    reused
        Measurements that a run which has just ended did not have to take.
    """
    words = answer_words(result)
    writer = _Writer(Screen(console), max(console.width, _MIN_WIDTH))
    blocks = [
        _Block("head", writer.head(words)),
        _Block("answer", _cut(writer.paragraph(words.answer.text, style="bold"), 4, writer.width)),
        *(
            _Block(
                "follow", _cut(writer.paragraph(text), 3, writer.width), order=0 if not place else 6
            )
            for place, text in enumerate(one.text for one in words.follows)
        ),
        _Block("claims", writer.claims(words)),
        *(_Block("exception", lines, order=3) for lines in writer.exceptions(words)),
        _Block("sure", writer.sureness(words), order=4),
        *writer.cautions(words, reused=reused),
        _Block("size", writer.item("Ask", size_command(result, folder.as_posix())), order=5),
        _Block("more", writer.more(command, _contents(result))),
        _Block("page", writer.item("Page", _page(result, folder), style="dim")),
    ]
    for line in writer.composed(blocks, result):
        writer.screen.print(writer.finished(line))


def _contents(result: StudyResult) -> str:
    what_ifs = sum(len(point.what_ifs) for one in result.experiments for point in one.points)
    counts = [
        count_noun(len(result.experiments), "table"),
        count_noun(what_ifs, "what-if") if what_ifs else "",
        count_noun(len(result.claims), "claim") if result.claims else "",
    ]
    return ", ".join(filter(None, counts))


def _page(result: StudyResult, folder: Path) -> str:
    return (results_folder(folder, result.is_quick) / PAGE_NAME).as_posix()


@dataclass(frozen=True, slots=True)
class _Writer:
    """Wraps texts for one console."""

    screen: Screen
    width: int

    @property
    def is_unicode(self) -> bool:
        return self.screen.console.encoding.lower().startswith("utf")

    def clean(self, text: str) -> str:
        """Return a text on one line, as the console can show it."""
        return self._clean(text).replace(_JOINT, " ")

    def _clean(self, text: str) -> str:
        """Return the same with `_JOINT` for each space at which a line must not break."""
        one_line = text.replace("\n", " ")
        return _JOINT.join(map(self.screen.clean, one_line.split(NO_BREAK)))

    def head(self, words: AnswerWords) -> list[Text]:
        """Return the question in two lines at most, and at its right whether it was measured."""
        column = self.clean(words.column)
        room = min(cell_len(column) + 2, self.width - 10)
        lines = _cut(self.paragraph(words.question, style="dim", room=room), 2, self.width - room)
        first, *rest = lines or [Text()]
        gap = " " * max(self.width - cell_len(first.plain) - cell_len(column), 1)
        return [Text.assemble(first, gap, (column, "dim")), *rest]

    def paragraph(self, text: str, *, style: str = "", room: int = 0) -> list[Text]:
        """Return a text in lines; a number stays with its unit."""
        width = self.width - room
        lines = textwrap.wrap(
            self._clean(text), width, break_on_hyphens=False, break_long_words=True
        )
        narrow = [piece for line in lines for piece in _cells(line, width)]
        return [Text(line.replace(_JOINT, " "), style=style) for line in narrow]

    def item(self, head: str, text: str, *, style: str = "", head_style: str = "") -> list[Text]:
        """Return a heading with its text behind it, the text indented where it wraps."""
        if not text:
            return []
        lines = self.paragraph(text, style=style, room=_HEAD)
        starts = [self.clean(head).ljust(_HEAD), *[" " * _HEAD] * (len(lines) - 1)]
        return [
            Text.assemble((start, head_style or style), line)
            for start, line in zip(starts, lines, strict=True)
        ]

    def claims(self, words: AnswerWords) -> list[Text]:
        return self.item("Claims", words.claims)

    def more(self, command: str, contents: str) -> list[Text]:
        """Return the command that shows all, and what that is if it fits."""
        lines = self.item("More", f"{command}    {contents}", style="dim")
        return lines if len(lines) < 2 else self.item("More", command, style="dim")  # noqa: PLR2004

    def sureness(self, words: AnswerWords) -> list[Text]:
        """Return how sure the results are; where the widest interval is only if that fits."""
        lines = self.item("Sure", words.sureness)
        return lines if len(lines) < 2 else self.item("Sure", words.sureness.partition(" (")[0])[:1]  # noqa: PLR2004

    def exceptions(self, words: AnswerWords) -> list[list[Text]]:
        """Return the first claims that do not hold, those that differ first."""
        signs = {"differs": ("✗" if self.is_unicode else "x", "red"), "undecided": ("?", "yellow")}
        ordered = sorted(words.exceptions, key=lambda one: [*signs].index(one.verdict))
        return [
            _cut(self.item(sign, one.text, head_style=style), 1 if place else 2, self.width)
            for place, one in enumerate(ordered[:2])
            for sign, style in [signs[one.verdict]]
        ]

    def cautions(self, words: AnswerWords, *, reused: int) -> list[_Block]:
        """Return as many cautions as fit into two lines."""
        told = list(words.cautions)
        if reused:
            told.append(f"{count_noun(reused, 'measurement')} reused")
        while told:
            lines = self.item("! Care", "; ".join(told), head_style="yellow")
            if len(lines) <= 2 or len(told) == 1:  # noqa: PLR2004
                return [_Block("care", _cut(lines, 2, self.width))]
            told.pop()
        return []

    def composed(self, blocks: Sequence[_Block], result: StudyResult) -> list[Text]:
        """Return all lines, with the table in the room that is left."""
        found = decisive_table(result, is_unicode=self.is_unicode)
        least = found.least_lines if found else 0
        kept = _within(blocks, MAX_LINES - least - (3 if found else 2))
        used = sum(len(block.lines) for block in kept) + (3 if found else 2)
        top = [block for block in kept if block.name in {"head", "answer", "follow"}]
        lines: list[Text] = []
        for block in top:
            lines += [*block.lines, *([Text()] if block.name == "head" else [])]
        if found is not None:
            room = MAX_LINES - used
            rows = room - found.grid.has_heads - len(found.grid.rules)
            table = found.grid.lines(
                chosen_rows(found.grid.count, max(rows, 1), found.important), self.width
            )
            lines += [Text(), *table[:room]]
        lines.append(Text())
        for block in kept:
            if block not in top:
                lines += block.lines
        return lines[:MAX_LINES]

    def finished(self, line: Text) -> Text:
        """Return a line as the console can show it, no wider than that, its styles kept."""
        if line.plain == self.clean(line.plain):
            line.truncate(self.width)
            return line
        clean = Text()
        for segment in line.render(self.screen.console):
            clean.append(self.clean(segment.text), style=segment.style)
        clean.truncate(self.width)
        return clean


def _cut(lines: list[Text], at_most: int, width: int) -> list[Text]:
    """Return the first lines; an ellipsis ends the last one if some are left out."""
    if len(lines) <= at_most:
        return lines
    last = lines[at_most - 1].copy()
    last.truncate(width - 1)
    return [*lines[: at_most - 1], last.append("…")]


def _within(blocks: Sequence[_Block], room: int) -> list[_Block]:
    """Return the blocks that fit, those with the highest order left out first."""
    kept = [block for block in blocks if block.lines]
    while sum(len(block.lines) for block in kept) > room:
        free = [block for block in kept if block.order]
        if not free:
            break
        last = max(block.order for block in free)
        leaving = [block for block in free if block.order == last][-1]
        kept = [block for block in kept if block is not leaving]
    return kept


def _cells(line: str, width: int) -> list[str]:
    """Return a line in pieces that are no wider than `width` in cells, which wide signs need."""
    if cell_len(line) <= width:
        return [line]
    pieces, piece = [], ""
    for sign in line:
        if cell_len(piece + sign) > width:
            pieces.append(piece)
            piece = ""
        piece += sign
    return [*pieces, piece]
