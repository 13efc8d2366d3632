"""`headroom memory`: the map of this machine's memory, and streams of accesses on any machine."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from headroom.cli import options
from headroom.cli.output import ColorMode, error_console, result_console, write_json
from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.memory import Level, Machine, simulate, stack_distances
from headroom.memory.here import allowed_cpus
from headroom.systems.memory_probe.shown import map_data, show_map, show_trace, trace_data
from headroom.systems.memory_probe.survey import survey

app = typer.Typer(
    name="memory",
    help="The memory of this machine, and caches that a stream of accesses meets.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
_UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_PARTS = 3


@app.command("probe")
def probe(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Sizes up to 64 MiB, fewer passes.")
    ] = False,
    cpu: Annotated[
        int | None, typer.Option("--cpu", min=0, help="Processor of the chases.")
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Print the memory map of this machine: caches, TLBs, bandwidth, hand-over times."""
    if cpu is not None and cpu not in allowed_cpus():
        raise EnvironmentUnfitError(
            f"this process may not use processor {cpu}",
            cure=f"choose one of {', '.join(map(str, allowed_cpus()))}",
        )
    console = error_console(color)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console,
        transient=True, disable=quiet or not console.is_terminal,
    ) as progress:  # fmt: skip
        bar = progress.add_task("memory")

        def say(what: str, done: int, total: int) -> None:
            progress.update(bar, description=what.ljust(34), completed=done, total=total)

        found = survey(cpu, quick=quick, say=say)
    if as_json:
        write_json("memory-map", map_data(found))
    else:
        show_map(found, result_console(color))


@app.command("trace")
def trace(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Accesses: of `valgrind --tool=lackey --trace-mem=yes`, or din."
        ),
    ],
    *,
    cache: Annotated[
        list[str] | None,
        typer.Option("--cache", metavar="SIZE:WAYS:LINE", help="A cache, the nearest first."),
    ] = None,
    instructions: Annotated[
        str | None,
        typer.Option("--instructions", metavar="SIZE:WAYS:LINE", help="A cache of instructions."),
    ] = None,
    rate: Annotated[
        float, typer.Option("--rate", help="Share of the lines whose distances count.")
    ] = 1.0,
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Print the misses of a stream of accesses in caches, and in caches of every size."""
    levels = [_level(text, place) for place, text in enumerate(cache or ["32KiB:8:64"], start=1)]
    own = None if instructions is None else _level(instructions, 1)
    result = simulate(file, Machine(levels=levels, instructions=own, classify=True))
    distances = stack_distances(file, line_bytes=levels[0].line_bytes, rate=rate)
    if as_json:
        write_json("memory-trace", trace_data(levels, result, distances))
    else:
        show_trace(levels, result, distances, result_console(color))


def _level(text: str, place: int) -> Level:
    """Return the cache that a user describes.

    Examples
    --------
    >>> _level("32KiB:8:64", 1).bytes
    32768
    """
    parts = text.split(":")
    try:
        size, ways, line = parts if len(parts) == _PARTS else (*parts, "64")
        number = size.rstrip("BKMGibkmg")
        scale = _UNITS[size[len(number) :].upper()]
        return Level(
            name=f"L{place}", bytes=int(float(number) * scale), ways=int(ways), line_bytes=int(line)
        )
    except (ValueError, KeyError) as error:
        raise StudyError(
            f"--cache {text!r} is no cache", cure="write SIZE:WAYS:LINE, such as 32KiB:8:64"
        ) from error
