"""Tables fit the console, whatever names they contain."""

import io

import pytest
from rich.console import Console

from headroom.report.terminal.columns import Column, parts
from headroom.report.terminal.screen import Screen

DATABASE = "database-primary-replica-eu-west"
POOL = "connections-of-the-application"
SIZING = [
    Column("#", ["1", "2"], is_number=True),
    Column(f"station.{DATABASE}.servers", ["4", "16"], is_number=True),
    Column(f"pool.{POOL}.tokens", ["8", "32"], is_number=True),
    Column("Cost", ["12", "48"], is_number=True),
    Column("Verdict", ["meets", "fails"]),
    Column("Throughput", ["1,234.5 ±12.3/s"] * 2, is_number=True),
    Column("p95 response time", ["123.5 ±1.3 ms"] * 2, is_number=True),
    Column("n", ["10", "formula"]),
]
WHAT_IF = [
    Column("What if", [f"{DATABASE} 2 times as fast", f"{POOL} 5 to 10 tokens"]),
    Column("Throughput", ["1.301 times (1.294 to 1.309)"] * 2),
    Column("Mean response time", ["0.731 times (0.727 to 0.736)"] * 2),
    Column("Pairing saves", ["3.9", "32"], is_number=True),
    Column("Limits then", [DATABASE, POOL]),
]


def printed(columns: list[Column], width: int) -> list[str]:
    stream = io.StringIO()
    Screen(Console(file=stream, width=width, color_system=None)).table(columns)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("columns", [SIZING, WHAT_IF], ids=["size", "what-if"])
def test_every_word_stays_whole_at_every_width(columns: list[Column], width: int) -> None:
    """Cause: at 80 columns a table said "Throughpu" in one line and "t" in the next."""
    lines = printed(columns, width)
    assert max(map(len, lines)) <= width
    shown = " ".join(lines)
    for text in (text for column in columns for text in (column.head, *column.cells)):
        for word in text.split():
            assert all(part in shown for part in parts(word)), word


def test_a_table_that_cannot_keep_its_words_whole_is_printed_row_by_row() -> None:
    lines = [line.split() for line in printed(WHAT_IF, 60)]
    assert ["What", "if:", DATABASE, "2", "times", "as", "fast"] in lines
    assert ["Pairing", "saves", "3.9"] in lines


def test_what_fits_is_not_broken() -> None:
    lines = printed([Column("station.cpu.servers", ["4"], is_number=True)], 80)
    assert "station.cpu.servers" in lines[1]


VERDICTS = Column("Verdict", ["undecided", "holds"])


def _filled(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def test_the_ends_of_an_interval_go_into_a_line_of_their_own_before_a_word_is_broken() -> None:
    numbers = Column("Response time p99", ["210 (140 to 660)", "35 ±6"], is_number=True)
    wide, narrow = (_filled(printed([numbers, VERDICTS], width)) for width in (80, 26))
    assert any("210 (140 to 660)" in line for line in wide)
    assert [line.split() for line in narrow[-3:]] == [
        ["210", "undecided"],
        ["(140", "to", "660)"],
        ["35", "±6", "holds"],
    ]


def test_the_last_column_is_whole_where_others_have_long_words() -> None:
    """Cause: a word as long as "postmark_sync" pushed the verdict out of the console."""
    words = Column("Point", ["postmark_sync = never", "postmark_sync = fdatasync"])
    sides = [Column(head, ["191 ms (188 to 194)"] * 2) for head in ("Predicted", "Measured")]
    lines = printed([words, words, *sides, VERDICTS], 72)
    assert sum("undecided" in line for line in lines) == 1
    assert max(map(len, lines)) <= 72


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
def test_a_line_separator_in_a_name_does_not_break_the_row(sign: str) -> None:
    lines = printed([Column("Codec", [f"b{sign}c"]), Column("n", ["5"], is_number=True)], 80)
    assert sum("c" in line and "5" in line for line in lines) == 1
