"""The root of the command line: global options, error messages and exit codes.

A command is loaded only when it is called, so that no command waits for the libraries of others.
"""

import errno
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from headroom.cli.help_lines import PANELS, help_line, panel_of
from headroom.cli.output import error_console
from headroom.cli.usage import UsageError, usage_error
from headroom.errors import EnvironmentUnfitError, ExitCode, HeadroomError, StudyError
from headroom.experiment.protocol import plug_ins
from headroom.version import version

COMMANDS = {
    "demo": ("study.demo_command", "demo"),
    "run": ("study.run_command", "run"),
    "trust": ("study.trust_command", "trust"),
    "status": ("study.inspect_commands", "status"),
    "show": ("study.show_command", "show"),
    "report": ("study.inspect_commands", "report"),
    "list": ("study.inspect_commands", "list_studies"),
    "compare": ("gate.compare_command", "compare"),
    "gate": ("gate.gate_command", "gate"),
    "history": ("gate.history_command", "history"),
    "observe": ("observe_command", "observe"),
    "what-limits": ("gate.what_limits_command", "what_limits"),
    "what-if": ("model.what_if_command", "what_if"),
    "size": ("model.size_command", "size"),
    "solve": ("model.solve_command", "solve"),
    "model": ("model.model_command", "app"),
    "audit": ("audit_command", "audit_files"),
    "import": ("import_command", "import_files"),
    "init": ("study.init_command", "init"),
    "doctor": ("doctor_command", "doctor"),
    "describe": ("describe_command", "describe"),
    "schema": ("study.export_command", "schema"),
    "export": ("study.export_command", "export"),
}
"""Module of `headroom.cli` and function of each command."""
GROUP = "headroom.commands"
"""Entry points of the commands that layers bring."""


@cache
def load(name: str) -> typer.Typer:
    """Return a command of `COMMANDS` or of a layer, loaded now."""
    if name in COMMANDS:
        module, function = COMMANDS[name]
        found = getattr(import_module(f"headroom.cli.{module}"), function)
    else:
        found = plug_ins.find(name, plug_ins.plug_ins(GROUP), kind="command")
    if isinstance(found, typer.Typer):
        return found
    alone = typer.Typer(**_STYLE)
    alone.command(name)(found)
    return alone


def command_names() -> list[str]:
    """Return the names of all commands, in the order of the help."""
    own = [name for names in PANELS.values() for name in names]
    rest = [name for name in COMMANDS if name not in own]
    return [*own, *rest, *sorted({*plug_ins.plug_ins(GROUP)} - {*COMMANDS})]


def _line(name: str) -> TyperCommand:
    """Return a command that has nothing but its line of the help."""
    if name in COMMANDS:
        module, function = COMMANDS[name]
        module = f"headroom.cli.{module}"
    else:
        module, _, function = plug_ins.plug_ins(GROUP)[name].value.partition(":")
    line = help_line(module, function)
    return TyperCommand(name, help=line, short_help=line, rich_help_panel=panel_of(name))


def spread_settings(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with a `--set` before each setting; a study's path is none.

    Examples
    --------
    >>> spread_settings(["run", "--set", "a=1", "b.c=2", "--quick", "d=3"])
    ['run', '--set', 'a=1', '--set', 'b.c=2', '--quick', 'd=3']
    """
    spread: list[str] = []
    for argument in arguments:
        follows = spread[-2:-1] == ["--set"]
        if follows and re.match(r"[A-Za-z_][\w.-]*=", argument) and not Path(argument).exists():
            spread.append("--set")
        spread.append(argument)
    return spread


class HeadroomGroup(TyperGroup):
    """Loads its commands late; turns errors with a hint into a message and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's signature
        """Return the names of all commands."""
        return command_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - as above
        """Return a command, None where there is none of that name."""
        if cmd_name not in COMMANDS and cmd_name not in plug_ins.plug_ins(GROUP):
            return None
        if ctx.meta.get(_IS_HELP):
            return _line(cmd_name)
        command: Any = typer.main.get_command(load(cmd_name))
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Write the help without loading a command."""
        ctx.meta[_IS_HELP] = True
        super().format_help(ctx, formatter)

    def make_context(self, *words: Any, **more: Any) -> Any:  # noqa: ANN401 - as above
        """Read the options before the command."""
        try:
            return super().make_context(*words, **more)
        except UsageError as error:
            raise _exit_of(error) from error

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as above
        """Parse the command line, with several settings after one `--set`."""
        for argument in args:
            if not _is_utf8(argument):
                raise UsageError(f"{_not_utf8(argument).message}: rename it")
        return super().parse_args(ctx, spread_settings(args))

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own signature, whose types are private
        """Run the chosen command; anything that is not a known error keeps its traceback."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            raise _exit_of(error) from error
        except HeadroomError as error:
            _report(error)
            raise typer.Exit(error.exit_code) from error
        except OSError as error:
            known = _known_system_error(error, has_journal=ctx.invoked_subcommand in _WITH_JOURNAL)
            if known is None:
                raise
            _report(known)
            raise typer.Exit(known.exit_code) from error
        except UnicodeEncodeError as error:
            if _is_utf8(error.object):
                raise
            _report(_not_utf8(error.object))
            raise typer.Exit(ExitCode.USAGE) from error
        except KeyboardInterrupt as error:
            has_journal = ctx.invoked_subcommand in _WITH_JOURNAL
            kept = "; finished replications are saved" if has_journal else ""
            error_console().print(f"headroom: interrupted{kept}")
            raise typer.Exit(ExitCode.INTERRUPTED) from error


def _is_utf8(text: str) -> bool:
    """Return whether a text can be written: a name of the file system may be of other bytes."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _not_utf8(text: str) -> StudyError:
    shown = text if len(text) <= _MOST_SHOWN else f"…{text[-_MOST_SHOWN:]}"
    name = os.fsencode(shown).decode(errors="backslashreplace")
    return StudyError(
        f"the name {name} is not UTF-8, so no result could have it",
        cure="rename the file or folder",
    )


def _exit_of(error: Exception) -> typer.Exit:
    """Print the mistake in the command line, unless it is only empty: then typer has helped."""
    if type(error).__name__ != "NoArgsIsHelpError":
        _report(usage_error(error, command_names()))
    return typer.Exit(ExitCode.USAGE)


def _report(error: HeadroomError) -> None:
    console = error_console()
    console.print(f"headroom: error: {error.message}", markup=False, style="red")
    if error.cure:
        console.print(f"  hint: {error.cure}", markup=False)


_IS_HELP = "headroom.help"
"""Key of a context: only the lines of the help are wanted."""
_MOST_SHOWN = 120
_WITH_JOURNAL = {"run", "what-if", "size"}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EROFS, errno.EPERM}
_MISSING = {errno.ENOENT, errno.ENXIO}
_IN_THE_WAY = {errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY}


def _known_system_error(error: OSError, *, has_journal: bool) -> HeadroomError | None:
    """Return the operating system's refusal as an error with a hint, None for other causes."""
    place = f" ({error.filename2 or error.filename})" if error.filename else ""
    if error.errno in _FULL:
        rest = "every finished replication is in the journal"
        return EnvironmentUnfitError(
            f"the disk is full{place}; {rest if has_journal else 'the output is incomplete'}",
            cure="free some space and run the same command again",
        )
    if error.errno in _FORBIDDEN:
        return EnvironmentUnfitError(
            f"not allowed to write{place}: {error.strerror}",
            cure="change the permissions of that folder, or copy the study to one of yours",
        )
    if error.errno in _MISSING:
        return StudyError(
            f"no such file or folder{place}", cure="create the folder first, or name another"
        )
    if error.errno in _IN_THE_WAY:
        return EnvironmentUnfitError(
            f"the path is already taken by something else{place}: {error.strerror}",
            cure="move it away: there is a folder where a file is needed, or the reverse",
        )
    if error.errno == errno.ENAMETOOLONG:
        return StudyError(f"the path is too long{place}", cure="use a shorter path")
    return None


_STYLE: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "markdown",
    "add_completion": False,
}
app = typer.Typer(
    cls=HeadroomGroup,
    name="headroom",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure real systems and simulate planned ones: how much headroom is left, and which "
    "part runs out first?",
)


def _print_version(is_wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if is_wanted:
        typer.echo(f"headroom {version()}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; a reader that closed the pipe early is not an error."""
    try:
        app()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.DONE)
