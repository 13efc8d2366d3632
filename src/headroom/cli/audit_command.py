"""`headroom audit`: hold results of other tools against the laws that every benchmark obeys."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from headroom.audit.audit import Given, audit, named
from headroom.audit.readers.recognise import format_names, formats, read_results
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
from headroom.errors import ExitCode

Files: TypeAlias = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Results as the tool wrote them.")
]
Format: TypeAlias = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME", help=f"Format, if not recognised: {', '.join(format_names())}."
    ),
]


def read_files(files: Sequence[Path], format_name: str) -> list[tuple[Path, str, Sequence[Result]]]:
    """Return each file with its format and its results; report readers that cannot be used."""
    for error in () if format_name else formats()[1]:
        print_lines(error_console(), f"note: {error}")
    return [(path, *read_results(path, format_name)) for path in files]


def audit_files(
    files: Files,
    *,
    format_name: Format = "",
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
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Check whether the results of a benchmark can be true.

    Exits with 3 if they break a law, with 2 if a file is not readable.
    """
    given = Given(clients=clients, think_s=think, cpus=cpus, offered=rate, loop=loop or "")
    results = [
        given.added_to(named(result, among=len(files)))
        for _, _, found in read_files(files, format_name)
        for result in found
    ]
    answer = audit(results)
    if as_json:
        write_json("audit", data(answer))
    else:
        console = result_console(color)
        style = "bold red" if answer.contradictions else "bold"
        print_lines(console, verdict(answer), style=style)
        for text, look in lines(answer):
            print_lines(console, text, style=look)
    if answer.contradictions:
        raise typer.Exit(ExitCode.CLAIMS_DIFFER)
