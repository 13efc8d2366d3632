"""`headroom catalogue`: starts the catalogue service, a separate program."""

import os
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated

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
Settings = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings (TOML); without it, the defaults."),
]


def program() -> Path:
    """Return the program of the service.

    It is searched in `HEADROOM_CATALOGUE`, in the build folder of the repository, in the wheel
    `headroom-catalogue`, and in `PATH`.

    Raises
    ------
        EnvironmentUnfitError: There is none.

    """
    named = os.environ.get("HEADROOM_CATALOGUE")
    built = [_REPOSITORY / "target" / "catalogue" / kind / PROGRAM for kind in ("release", "debug")]
    found = shutil.which(PROGRAM)
    others = [*built, *_installed(), *([Path(found)] if found else [])]
    places = [Path(named)] if named else others
    for place in places:
        if os.access(place, os.X_OK) and place.is_file():
            return place
    if named:
        raise EnvironmentUnfitError(
            f"HEADROOM_CATALOGUE names {named}, and no program is there",
            cure="name the program, or unset the variable",
        )
    raise EnvironmentUnfitError(f"the program {PROGRAM} is not here", cure=_how_to_build())


def _installed() -> list[Path]:
    """Return the program of the wheel, wherever pip puts scripts: that may not be in `PATH`."""
    try:
        files = distribution(PROGRAM).files or ()
    except PackageNotFoundError:
        return []
    return [Path(str(file.locate())).resolve() for file in files if file.name == PROGRAM]


def companion(name: str) -> Path:
    """Return a program that was built together with that of the service.

    Raises
    ------
        EnvironmentUnfitError: There is none.

    """
    place = program().with_name(name)
    if not os.access(place, os.X_OK):
        raise EnvironmentUnfitError(
            f"the program {name} is not built beside {place.with_name(PROGRAM)}",
            cure=_how_to_build("--features load"),
        )
    return place


def _how_to_build(*options: str) -> str:
    if (_CRATE / "Cargo.toml").is_file():
        manifest = os.path.relpath(_CRATE / "Cargo.toml")
        target = os.path.relpath(_REPOSITORY / "target" / "catalogue")
        build = " ".join(["cargo build --release", *options])
        command = f"{build} --manifest-path {manifest} --target-dir {target}"
        return f"build it: `{command}`"
    return "install it: `pip install headroom-lab[catalogue]`"


def _become(command: str, config: Path | None, *arguments: str) -> None:
    """Replace this process by the program: signals of a supervisor reach it directly."""
    place = program()
    settings = () if config is None else ("--config", str(config))
    os.execv(place, [PROGRAM, command, *settings, *arguments])  # noqa: S606


@app.command("serve")
def serve(*, config: Settings = None) -> None:
    """Serve until SIGTERM; SIGHUP reads certificates and keys again."""
    _become("serve", config)


@app.command("set-password")
def set_password(
    user: Annotated[str, typer.Argument(help="The user; `root` exists from the beginning.")],
    *,
    config: Settings = None,
) -> None:
    """Read a password from the standard input, and let a user log in with it."""
    _become("set-password", config, "--", user)


@app.command("show-schema")
def show_schema(*, config: Settings = None) -> None:
    """Print the statements that make the tables, in the SQL of the settings' database."""
    _become("show-schema", config)


@app.command("show-config")
def show_config() -> None:
    """Print all settings with their defaults."""
    _become("show-config", None)
