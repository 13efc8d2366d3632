"""Which output may be coloured, and the format of JSON documents."""

import io
import json

import pytest
from rich.console import Console

from headroom.cli.output import (
    DOCUMENT_FORMAT,
    ColorMode,
    print_lines,
    result_console,
    write_json,
)


@pytest.mark.parametrize(
    ("mode", "environment", "is_coloured"),
    [
        (ColorMode.ALWAYS, {}, True),
        (ColorMode.ALWAYS, {"TERM": "dumb"}, True),
        (ColorMode.AUTO, {"TERM": "dumb", "HEADROOM_COLOR": "always"}, True),
        (ColorMode.AUTO, {"TERM": "dumb"}, False),
        (ColorMode.NEVER, {}, False),
        (ColorMode.AUTO, {"HEADROOM_COLOR": "always"}, True),
        (ColorMode.AUTO, {"HEADROOM_COLOR": "always", "NO_COLOR": "1"}, False),
        (ColorMode.AUTO, {"HEADROOM_COLOR": "nonsense"}, False),
    ],
)
def test_an_option_wins_over_no_color_and_that_over_the_variable(
    mode: ColorMode,
    environment: dict[str, str],
    is_coloured: bool,  # noqa: FBT001 - a column of the table above
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("NO_COLOR", "HEADROOM_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result_console(mode).print("[bold red]warm[/]")
    assert ("\x1b[" in capsys.readouterr().out) is is_coloured


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_columns_count_on_every_terminal(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLUMNS", "123")
    monkeypatch.delenv("LINES", raising=False)
    assert result_console(ColorMode.ALWAYS).width == 123


def test_a_json_document_names_its_kind_and_format(capsys: pytest.CaptureFixture[str]) -> None:
    write_json("status", [{"experiment": "load"}])
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "kind": "status",
        "format": DOCUMENT_FORMAT,
        "content": [{"experiment": "load"}],
    }


WORDS = (
    "headroom: target files: makes 500 files and more in /tmp/a-folder, removed after (postmark)"
)


def _printed(*, is_terminal: bool) -> list[str]:
    # A height too: for TERM=dumb the console would otherwise take itself to be of 80 columns.
    console = Console(
        file=io.StringIO(), width=40, height=25, force_terminal=is_terminal, color_system=None
    )
    print_lines(console, WORDS)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_note_is_wrapped_on_a_terminal_and_one_line_elsewhere() -> None:
    assert _printed(is_terminal=False) == [WORDS]
    first, *others = _printed(is_terminal=True)
    assert first == "headroom: target files: makes 500 files"
    assert others
    assert all(line.startswith("  ") and len(line) <= 40 for line in others)
    assert " ".join([first, *(line.strip() for line in others)]) == WORDS
