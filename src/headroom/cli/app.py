"""The command line's root: global options, error messages and exit codes in one place."""

import errno
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headroom.cli import (
    export_command,
    init_command,
    inspect_commands,
    model_command,
    run_command,
    size_command,
    solve_command,
    what_if_command,
)
from headroom.cli.output import error_console
from headroom.errors import EnvironmentUnfitError, ExitCode, HeadroomError, StudyError
from headroom.version import version


class HeadroomGroup(TyperGroup):
    """Turns errors with a cure into a message and a documented exit code."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own signature, whose types are private
        """Run the chosen command; anything that is not a known error keeps its traceback."""
        try:
            return super().invoke(ctx)
        except HeadroomError as error:
            _report(error)
            raise typer.Exit(error.exit_code) from error
        except OSError as error:
            known = _known_system_error(error, has_journal=ctx.invoked_subcommand in _WITH_JOURNAL)
            if known is None:
                raise
            _report(known)
            raise typer.Exit(known.exit_code) from error
        except KeyboardInterrupt as error:
            error_console().print("headroom: interrupted; finished replications are saved")
            raise typer.Exit(ExitCode.INTERRUPTED) from error


def _report(error: HeadroomError) -> None:
    console = error_console()
    console.print(f"headroom: error: {error.message}", markup=False, style="red")
    if error.cure:
        console.print(f"  cure: {error.cure}", markup=False)


_WITH_JOURNAL = {"run", "what-if", "size"}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EROFS, errno.EPERM}
_MISSING = {errno.ENOENT, errno.ENXIO}
_IN_THE_WAY = {errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY}


def _known_system_error(error: OSError, *, has_journal: bool) -> HeadroomError | None:
    """Return the operating system's refusal as an error with a cure, None for other causes."""
    place = f" ({error.filename2 or error.filename})" if error.filename else ""
    if error.errno in _FULL:
        rest = "every finished replication is in the journal"
        return EnvironmentUnfitError(
            f"the disk is full{place}; {rest if has_journal else 'what was written is cut short'}",
            cure="free some space and run the same command again",
        )
    if error.errno in _FORBIDDEN:
        return EnvironmentUnfitError(
            f"not allowed to write{place}: {error.strerror}",
            cure="change the permissions of that folder, or copy the study to one of yours",
        )
    if error.errno in _MISSING:
        return StudyError(
            f"there is no such place{place}", cure="create the folder first, or name another"
        )
    if error.errno in _IN_THE_WAY:
        return EnvironmentUnfitError(
            f"something else is in the way{place}: {error.strerror}",
            cure="move it away; a folder stands where a file is needed, or the other way round",
        )
    if error.errno == errno.ENAMETOOLONG:
        return StudyError(f"the path is too long{place}", cure="use a shorter path")
    return None


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


app.command("run")(run_command.run)
app.command("status")(inspect_commands.status)
app.command("show")(inspect_commands.show)
app.command("report")(inspect_commands.report)
app.command("list")(inspect_commands.list_studies)
app.command("what-if")(what_if_command.what_if)
app.command("size")(size_command.size)
app.command("solve")(solve_command.solve)
app.add_typer(model_command.app, name="model")
app.command("init")(init_command.init)
app.command("schema")(export_command.schema)
app.command("export")(export_command.export)


def run() -> None:
    """Run the command line; a reader that closed the pipe early is not an error."""
    try:
        app()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.DONE)
