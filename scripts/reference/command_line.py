"""The command-line page, from the declarations of the commands."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, TypeAlias, get_args, get_type_hints

from typer import Typer
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

from headroom.cli.app import app, command_names, load
from headroom.errors import ExitCode
from headroom.reference.docstrings import one_line
from headroom.reference.tables import items, table

EXIT_CODES = {
    ExitCode.DONE: "Done: all results are there.",
    ExitCode.POINTS_FAILED: "Some points failed, lack replications, or have no results "
    "though nothing disturbed them; the others are saved and shown.",
    ExitCode.USAGE: "Wrong usage: an option, a study file, a parameter or a model.",
    ExitCode.CLAIMS_DIFFER: "`--check` was given, and not every claim holds.",
    ExitCode.BLIND: "`gate` or `compare --fail-on-regression` found nothing, and could not "
    "have seen it.",
    ExitCode.ENVIRONMENT: "The machine is unsuitable: a program is missing, the disk is full, "
    "a journal is damaged or was removed during the run.",
    ExitCode.INTERRUPTED: "Interrupted; finished replications are saved: run it again to resume.",
}

COMMON = 4
"""Commands with the same option from which on the page explains it once."""

Row: TypeAlias = tuple[str, ...]


def command_line() -> str:
    """Return the page of the command line, from the declarations of the commands."""
    parts = ["# Command line\n", f"{one_line(str(app.info.help))}\n"]
    parts.append("## Exit codes\n")
    parts.append(
        table(("code", "meaning"), [(str(int(code)), EXIT_CODES[code]) for code in ExitCode])
    )
    parts.append(
        "Results go to stdout; progress, notes, errors and what models print go to stderr. "
        "`NO_COLOR` switches colours off.\n"
    )
    parts.append(
        'With `--json`, stdout holds one document `{"kind": ..., "format": ..., '
        '"content": ...}`: `kind` says what the content is, `format` changes when its fields '
        "change meaning. The content of `run` and `show` is that of `results.json`, which "
        "`headroom schema results` describes.\n"
    )
    commands = [
        (name, *_rows_of(callback), callback.__doc__ or "") for name, callback in _commands()
    ]
    counts = Counter(option for _, _, options, _ in commands for option in options)
    common = [option for option, count in counts.items() if count >= COMMON]
    parts += ["## Common options\n", _options(common)]
    counts = Counter(argument for _, arguments, _, _ in commands for argument in arguments)
    common += [argument for argument, count in counts.items() if count >= COMMON]
    parts += ["## Common arguments\n", items([row for row in common if row in counts])]
    for name, arguments, options, doc in commands:
        parts += _command_section(name, arguments, options, doc, common)
    return "\n".join(parts)


def _commands() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield each command with its full name, those of groups after the others."""
    loaded = {name: load(name) for name in command_names()}
    for name, found in sorted(loaded.items(), key=lambda item: _is_group(item[1])):
        for command in found.registered_commands:
            if command.name and command.callback:
                full = f"{name} {command.name}" if _is_group(found) else name
                yield full, command.callback


def _is_group(found: Typer) -> bool:
    """Return whether a command has others below it: one with a callback has, even a single one."""
    return len(found.registered_commands) > 1 or found.registered_callback is not None


def _rows_of(function: Callable[..., Any]) -> tuple[list[Row], list[Row]]:
    """Return the rows of the arguments and of the options of a command."""
    arguments: list[Row] = []
    options: list[Row] = []
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        kind, info = get_args(hints[parameter.name])[:2]
        if isinstance(info, ArgumentInfo):
            arguments.append((_metavar(info, parameter), _meaning(info, kind)))
        elif isinstance(info, OptionInfo) and not info.hidden:
            options.append((_option_names(info, parameter), _meaning(info, kind), _variable(info)))
    return arguments, options


def _command_section(
    name: str, arguments: list[Row], options: list[Row], doc: str, common: list[Row]
) -> Iterator[str]:
    words = " ".join(shown.strip("`") for shown, *_ in arguments)
    yield f"## headroom {name}\n"
    yield f"`{' '.join(filter(None, ['headroom', name, words, '[OPTIONS]']))}`\n"
    yield f"{one_line(doc)}\n"
    yield items([row for row in arguments if row not in common])
    yield _options([row for row in options if row not in common])
    shared = ", ".join(row[0] for row in options if row in common)
    yield f"Common options: {shared}.\n" if shared else ""


def _options(rows: list[Row]) -> str:
    """Return options with their meaning and the variable of the environment that sets them."""
    return items([
        (name, f"{meaning} Variable: {variable}." if variable else meaning)
        for name, meaning, variable in rows
    ])  # fmt: skip


def _metavar(info: ArgumentInfo, parameter: inspect.Parameter) -> str:
    name = info.metavar or parameter.name.upper()
    return f"`{name}`" if parameter.default is inspect.Parameter.empty else f"`[{name}]`"


def _option_names(info: OptionInfo, parameter: inspect.Parameter) -> str:
    # Typer keeps the first name in the place of the default.
    given = [info.default, *(info.param_decls or ())]
    names = [name for name in given if isinstance(name, str) and name.startswith("-")]
    names = names or [f"--{parameter.name.replace('_', '-')}"]
    metavar = f" {info.metavar}" if info.metavar else ""
    return f"`{', '.join(names)}{metavar}`"


def _meaning(info: ParameterInfo, kind: Any) -> str:  # noqa: ANN401  # any annotation
    words = one_line(info.help or "")
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        words += f" One of {', '.join(f'`{choice.value}`' for choice in kind)}."
    return words.strip()


def _variable(info: ParameterInfo) -> str:
    return f"`{info.envvar}`" if info.envvar else ""
