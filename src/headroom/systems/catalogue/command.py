"""`headroom catalogue`: starts the catalogue service, which is a program of its own."""

import os
import shutil
from pathlib import Path

import typer

from headroom.errors import EnvironmentUnfitError

PROGRAM = "headroom-catalogue"
_CRATE = Path(__file__).parent / "service"
_REPOSITORY = Path(__file__).parents[4]

app = typer.Typer(
    name="catalogue",
    help="A metadata catalogue that speaks AMGA's protocol.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def program() -> Path:
    """Return the program of the service.

    It is searched in `HEADROOM_CATALOGUE`, in the build folder of the repository, and in `PATH`.

    Raises:
        EnvironmentUnfitError: There is none.

    """
    named = os.environ.get("HEADROOM_CATALOGUE")
    built = [_REPOSITORY / "target" / "catalogue" / kind / PROGRAM for kind in ("release", "debug")]
    found = shutil.which(PROGRAM)
    places = [Path(named)] if named else [*built, *([Path(found)] if found else [])]
    for place in places:
        if os.access(place, os.X_OK) and place.is_file():
            return place
    if named:
        raise EnvironmentUnfitError(
            f"HEADROOM_CATALOGUE names {named}, which is no program",
            cure="name the program, or unset it",
        )
    raise EnvironmentUnfitError(f"the program {PROGRAM} is not built", cure=_how_to_build())


def _how_to_build() -> str:
    if (_CRATE / "Cargo.toml").is_file():
        manifest = os.path.relpath(_CRATE / "Cargo.toml")
        return (
            f"build it: `cargo build --release --manifest-path {manifest} "
            "--target-dir target/catalogue`"
        )
    return f"build it from a copy of Headroom's sources, and put {PROGRAM} into PATH"


def _become(context: typer.Context, command: str) -> None:
    """Replace this process by the program: signals of a supervisor reach it directly."""
    place = program()
    os.execv(place, [PROGRAM, command, *context.args])  # noqa: S606


@app.command("serve", context_settings=_PASSED_ON)
def serve(context: typer.Context) -> None:
    """Serve until SIGTERM; `--config FILE` names the settings."""
    _become(context, "serve")


@app.command("set-password", context_settings=_PASSED_ON)
def set_password(context: typer.Context) -> None:
    """Read a password from the standard input, and let a user log in with it."""
    _become(context, "set-password")


@app.command("show-config", context_settings=_PASSED_ON)
def show_config(context: typer.Context) -> None:
    """Print all settings with their defaults."""
    _become(context, "show-config")
