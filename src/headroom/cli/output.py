"""Consoles and JSON documents: which output goes where, and when it is coloured.

`NO_COLOR` and `--color` control colours; by default they depend on the terminal. JSON documents
carry their kind and format version, so that a program can reject unknown formats. Every command
loads this module, so the libraries behind it are loaded by the first console or document.
"""

import os
import sys
import textwrap
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console

DOCUMENT_FORMAT = 1
_NARROWEST = 20
"""Columns of a terminal below which nothing is wrapped any more."""
_HEIGHT = 25
"""Lines of a terminal that does not say how many it has."""


class ColorMode(StrEnum):
    """When to use colours."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def result_console(mode: ColorMode = ColorMode.AUTO) -> "Console":
    """Return the console of stdout: results only."""
    return _console(mode, is_error=False)


def error_console(mode: ColorMode = ColorMode.AUTO) -> "Console":
    """Return the console of stderr: progress, warnings, errors."""
    return _console(mode, is_error=True)


def _console(mode: ColorMode, *, is_error: bool) -> "Console":
    chosen = _mode_from_environment() if mode is ColorMode.AUTO else mode
    console = _console_of(chosen, is_error=is_error)
    if chosen is ColorMode.ALWAYS and console.is_dumb_terminal:
        # TERM says that the terminal knows no colours; "always" says so all the same. With a
        # height given, COLUMNS counts there too.
        return _console_of(chosen, is_error=is_error, color_system="standard", height=_HEIGHT)
    return console


def _console_of(
    chosen: ColorMode,
    *,
    is_error: bool,
    color_system: Literal["auto", "standard"] = "auto",
    height: int | None = None,
) -> "Console":
    from rich.console import Console  # noqa: PLC0415 - takes longer than all of `--version`

    return Console(
        stderr=is_error,
        soft_wrap=is_error,
        highlight=False,
        emoji=False,
        color_system=color_system,
        height=height,
        no_color=True if chosen is ColorMode.NEVER else None,
        force_terminal=True if chosen is ColorMode.ALWAYS else None,
    )


def print_lines(console: "Console", text: str, *, style: str = "") -> None:
    """Print a sentence: wrapped and indented on a terminal, elsewhere as the one line that it is.

    Words are never broken, so that a path can be copied.
    """
    lines = [text]
    if console.is_terminal:
        lines = textwrap.wrap(
            text,
            max(console.width, _NARROWEST),
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    for line in lines:
        console.print(line, markup=False, soft_wrap=True, style=style or None)


def _mode_from_environment() -> ColorMode:
    if os.environ.get("NO_COLOR"):
        return ColorMode.NEVER
    wanted = os.environ.get("HEADROOM_COLOR", "auto")
    return ColorMode(wanted) if wanted in set(ColorMode) else ColorMode.AUTO


def write_json(kind: str, content: Any) -> None:  # noqa: ANN401 - any JSON value
    """Write one JSON document to stdout: its `kind`, the envelope's `format`, the `content`."""
    import msgspec  # noqa: PLC0415 - as above

    document = {"kind": kind, "format": DOCUMENT_FORMAT, "content": msgspec.to_builtins(content)}
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    sys.stdout.write("\n")
