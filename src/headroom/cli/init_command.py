"""`headroom init`: write a commented starter study that runs as it is."""

import shlex
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.output import ColorMode, result_console
from headroom.errors import StudyError


class Starter(StrEnum):
    """The starter studies."""

    MODEL = "model"
    COMMAND = "command"
    MACHINE = "machine"
    STORAGE = "storage"


_BESIDE = {Starter.MACHINE: ("headroom.systems.transactions", "machines/spax.toml", "machine.toml")}
"""What a starter takes from elsewhere: package, path in it, name in the new folder."""


def init(
    folder: Annotated[Path, typer.Argument(help="Folder to create; an empty one is fine.")],
    *,
    system: Annotated[
        Starter,
        typer.Option(
            help="A simulation model, a real program as a black box, a machine, or a disk."
        ),
    ] = Starter.MODEL,
) -> None:
    """Write a commented starter study that runs as it is."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(
            f"{folder} exists and is not an empty folder",
            cure="choose another folder; init never overwrites anything",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for source in files("headroom.cli").joinpath("starters", system.value).iterdir():
        if source.is_file():
            (folder / source.name).write_bytes(source.read_bytes())
    if system in _BESIDE:
        package, path, name = _BESIDE[system]
        (folder / name).write_bytes(files(package).joinpath(path).read_bytes())
    result_console(ColorMode.AUTO).print(
        f"wrote {folder}/study.toml; next: headroom run {shlex.quote(str(folder))}",
        markup=False,
        soft_wrap=True,
    )
