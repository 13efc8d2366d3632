"""`headroom observe`: attach to a server that runs, and say how much more it carries."""

import re
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from headroom.cli import options, session
from headroom.cli.output import ColorMode, error_console, print_lines, result_console, write_json
from headroom.cli.study.run_command import RunCommand, run_study
from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.observe.answer import answer_of
from headroom.observe.counters import Counters
from headroom.observe.rates.adapter import KINDS, adapters_of
from headroom.observe.shown import sentences
from headroom.observe.study import folder_name, write_study
from headroom.observe.targets import target_of
from headroom.observe.windows import observe as observe_target
from headroom.units import parse_quantity

_WINDOWS = 60
"""Windows of an observation, unless they would be shorter or longer than these (s)."""
_SHORTEST_S, _LONGEST_S = 0.25, 10.0
_Pid = Annotated[
    int, typer.Option("--pid", metavar="PID", min=0, help="A process with its descendants.")
]
_Group = Annotated[
    str, typer.Option("--cgroup", metavar="GROUP", help="A control group: folder or part of name.")
]
_Port = Annotated[
    int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Who listens there.")
]
_Unit = Annotated[str, typer.Option("--service", metavar="UNIT", help="A unit of systemd.")]
_For = Annotated[
    str, typer.Option("--for", metavar="TIME", help="How long; Ctrl-C ends it earlier.")
]
_RATE = "A counter of completed operations; repeatable, the first is the load. Kinds: {}."
_Rates = Annotated[
    list[str] | None,
    typer.Option("--rate", metavar="[NAME=]KIND:PLACE", help=_RATE.format(", ".join(KINDS))),
]
_Window = Annotated[
    str, typer.Option("--window", metavar="TIME", help="Length of a window [a 60th].")
]
_To = Annotated[
    Path | None, typer.Option("--to", metavar="FOLDER", help="Folder of the study [observed-NAME].")
]
_Full = Annotated[
    bool, typer.Option("--full-statements", help="Texts of statements in full, with values.")
]


def observe(
    *,
    pid: _Pid = 0,
    cgroup: _Group = "",
    port: _Port = 0,
    service: _Unit = "",
    for_: _For = "10m",
    rate: _Rates = None,
    window: _Window = "",
    to: _To = None,
    full_statements: _Full = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Observe a server that runs: what limits it, and how much more it carries.

    Reads counters only and changes nothing. The result is a study folder with the recorded load
    and a model, for `show`, `report`, `run`, `what-if` and `compare`.
    """
    target = target_of(pid=pid, cgroup=cgroup, port=port, service=service)
    folder = to or Path(folder_name(target.label))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(
            f"{folder} exists and is not an empty folder",
            cure="choose another folder with --to; observe never overwrites anything",
        )
    adapters = adapters_of(rate or [], full_statements=full_statements)
    for adapter in adapters.values():
        adapter.count()
    for_s = _seconds(for_)
    shortest_s = max([_SHORTEST_S, *(one.shortest_s for one in adapters.values())])
    window_s = _seconds(window) if window else min(for_s / _WINDOWS, _LONGEST_S)
    console = error_console(color)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console,
        transient=True, disable=quiet or not console.is_terminal,
    ) as progress:  # fmt: skip
        bar = progress.add_task(target.label, total=for_s)
        seen = observe_target(
            Counters(target), adapters, for_s=for_s, window_s=max(window_s, shortest_s),
            say=lambda passed_s: progress.update(bar, completed=passed_s),
        )  # fmt: skip
    if not seen.windows:
        why = "a hypervisor took the processors" if seen.stolen else "it was stopped at once"
        raise EnvironmentUnfitError(
            f"no window of {seen.target} counts: {seen.gap or why}",
            cure="observe longer, or remove what disturbs",
        )
    answer = answer_of(seen)
    (_, first), *rest = sentences(answer, seen)
    lines = [first, *(f"{label:<10}{text}" for label, text in rest)]
    write_study(folder, seen, answer, lines)
    if as_json:
        write_json("observation", msgspec.to_builtins(answer) | {"observed": seen})
        return
    for line in lines:
        print_lines(result_console(color), line)
    session.note(f"the study is in {folder}: headroom show {folder}", quiet=quiet)
    run_study(RunCommand(study=folder, quiet=True, color=color))


def _seconds(text: str) -> float:
    """Return a time (s); a single m is minutes here.

    Examples
    --------
    >>> _seconds("10m"), _seconds("500ms"), _seconds("1h")
    (600.0, 0.5, 3600.0)
    """
    return parse_quantity(re.sub(r"(?<=\d)\s*m$", " min", text), "s")
