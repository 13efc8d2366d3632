"""`headroom audit`: hold results of other tools against the laws that every benchmark obeys."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from headroom.audit.audit import Given, audit, named
from headroom.audit.markdown import markdown
from headroom.audit.readers.fields import UnknownFormatError
from headroom.audit.readers.recognise import Read, format_names, formats, read_all, read_text_of
from headroom.audit.readers.tables import given_columns, told
from headroom.audit.result import Result
from headroom.audit.shown import data, lines, verdict
from headroom.cli import options
from headroom.cli.output import (
    ColorMode,
    error_console,
    print_lines,
    result_console,
    write_json,
)
from headroom.cli.usage import UsageError
from headroom.errors import EnvironmentUnfitError, ExitCode

_STANDARD_INPUT = Path("-")
_CLIPBOARD = (
    ("wl-paste", "--no-newline"),
    ("xclip", "-selection", "clipboard", "-o"),
    ("xsel", "--clipboard", "--output"),
    ("pbpaste",),
)
Files: TypeAlias = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", help="Results as the tool wrote them; - reads from a pipe."),
]
Format: TypeAlias = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME", help=f"Format, if not recognised: {', '.join(format_names())}."
    ),
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=MEANING",
        help="What a column of a table holds, as lat_us_avg=response_us_mean; repeatable.",
    ),
]


def read_files(
    files: Sequence[Path], format_name: str, columns: Sequence[str] | None = None
) -> list[tuple[Path, Sequence[Read]]]:
    """Return what is read of each file; report readers that fail and parts that are not read."""
    for error in () if format_name else formats()[1]:
        print_lines(error_console(), f"note: {error}")
    given, found = given_columns(columns or ()), []
    for path in files:
        try:
            found.append((path, _read(path, _text_of(path), format_name, given)))
        except UnknownFormatError:
            # Most documents of a repository have no results: `headroom audit docs/*.md`.
            if path.suffix != ".md":
                raise
            print_lines(error_console(), f"note: no result in {path}")
    return found


def _read(path: Path, text: str, wanted: str, given: Mapping[str, str]) -> Sequence[Read]:
    source = "standard input" if path == _STANDARD_INPUT else path.name
    found = read_all(text, source, wanted, place=str(path), columns=given)
    for one in found:
        if one.problem is not None:
            print_lines(error_console(), f"note: left out: {one.problem.message}")
    if any(one.kind == "table" for one in found):
        for line in told(text, given, only_read=True):
            print_lines(error_console(), f"note: {source}, table at {line}")
    return [one for one in found if one.problem is None]


def _text_of(path: Path) -> str:
    return sys.stdin.read() if path == _STANDARD_INPUT else read_text_of(path)


def _clipboard() -> str:
    """Return the text of the clipboard.

    Raises
    ------
    EnvironmentUnfitError
        No program that reads it is there, or there is none.
    """
    for argv in _CLIPBOARD:
        if shutil.which(argv[0]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=10)
            if done.returncode == 0:
                return done.stdout
    raise EnvironmentUnfitError(
        "the clipboard cannot be read",
        cure="install wl-clipboard, xclip or xsel; or paste the text into `headroom audit -`",
    )


def audit_files(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Results as tools wrote them; - is standard input."),
    ] = None,
    *,
    format_name: Format = "",
    column: Columns = None,
    clipboard: Annotated[
        bool, typer.Option("--clipboard", help="Read the text of the clipboard, too.")
    ] = False,
    clients: Annotated[
        float | None,
        typer.Option("--clients", min=0, help="Clients, or requests in flight at most."),
    ] = None,
    think: Annotated[
        float | None,
        typer.Option("--think", min=0, metavar="SECONDS", help="Mean pause of a client."),
    ] = None,
    cpus: Annotated[
        float | None, typer.Option("--cpus", min=0, help="Processors of the measured system.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", min=0, help="Scheduled requests per second.")
    ] = None,
    loop: Annotated[
        Literal["open", "closed"] | None, typer.Option("--loop", help="How the load was called.")
    ] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Answer in Markdown, to paste it into a thread.")
    ] = False,
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Check whether the results of a benchmark can be true.

    Reads files of benchmark tools, logs, and whatever is pasted around their output. Exits with 3
    if they break a law, with 2 if nothing is readable.
    """
    paths = list(files or ())
    if not paths and not clipboard:
        raise UsageError("Missing argument 'FILE...'.")
    found = read_files(paths, format_name, column)
    if clipboard:
        text = _clipboard()
        found.append((Path("clipboard"), _read(Path("clipboard"), text, format_name,
                                               given_columns(column or ()))))  # fmt: skip
    given = Given(clients=clients, think_s=think, cpus=cpus, offered=rate, loop=loop or "")
    answer = audit([given.added_to(one) for one in _results(found)])
    if as_json:
        write_json("audit", data(answer))
    elif as_markdown:
        print_lines(result_console(ColorMode.NEVER), markdown(answer))
    else:
        console = result_console(color)
        style = "bold red" if answer.contradictions else "bold"
        print_lines(console, verdict(answer), style=style)
        for text, look in lines(answer):
            print_lines(console, text, style=look)
    if answer.contradictions:
        raise typer.Exit(ExitCode.CLAIMS_DIFFER)


def _results(found: Sequence[tuple[Path, Sequence[Read]]]) -> Iterator[Result]:
    for _, parts in found:
        for part in parts:
            yield from (named(one, among=len(found)) for one in part.results)
