"""`headroom init`: write a commented starter study that runs as it is."""

import re
import shlex
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.output import ColorMode, result_console
from headroom.errors import StudyError
from headroom.fio import read_fio


class Starter(StrEnum):
    """The starter studies."""

    MODEL = "model"
    COMMAND = "command"
    MACHINE = "machine"
    STORAGE = "storage"


_BESIDE = {Starter.MACHINE: ("headroom.systems.transactions", "machines/spax.toml", "machine.toml")}
"""What a starter takes from elsewhere: package, path in it, name in the new folder."""


_LIKE = """\
# Your machine: like {name!r}, but for what stands here. `headroom model show model.py` lists every
# number, with its unit and where it is from; write down those that differ, and how you know.
like = "{name}"

[processor]
# processor_mhz = {{ value = 3500.0, source = "data sheet: the processors of our machine" }}

[load]
# terminals = {{ value = 25, source = "measured: connections at noon" }}
"""


def machine_names() -> list[str]:
    """Return the machines that a new one can be like, sorted."""
    package, path, _ = _BESIDE[Starter.MACHINE]
    folder = files(package).joinpath(path.rpartition("/")[0])
    return sorted(
        one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml")
    )


def _like(name: str, system: Starter) -> Starter:
    """Return the starter of a machine that is like another; refuse one that nobody knows."""
    if system not in {Starter.MODEL, Starter.MACHINE}:
        raise StudyError(
            f"--like names a machine, and --system {system} is none", cure="leave one of them out"
        )
    if name not in machine_names():
        raise StudyError(
            f"there is no machine {name!r}", cure=f"name one of {', '.join(machine_names())}"
        )
    return Starter.MACHINE


def init(
    folder: Annotated[Path, typer.Argument(help="Folder to create; an empty one is fine.")],
    *,
    system: Annotated[
        Starter,
        typer.Option(
            help="A simulation model, a real program as a black box, a machine, or a disk."
        ),
    ] = Starter.MODEL,
    like: Annotated[
        str,
        typer.Option(
            "--like",
            metavar="MACHINE",
            help="Of a machine: write only what differs from one that Headroom knows "
            f"({', '.join(machine_names())}).",
        ),
    ] = "",
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="JOB.FIO",
            help="A job file of fio: write the study that asks the same, one experiment a job.",
        ),
    ] = None,
) -> None:
    """Write a commented starter study that runs as it is."""
    if source is not None and (like or system is not Starter.MODEL):
        raise StudyError(
            "--from says what the study is, and so do --system and --like",
            cure="leave them out",
        )
    if like:
        system = _like(like, system)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(
            f"{folder} exists and is not an empty folder",
            cure="choose another folder; init never overwrites anything",
        )
    if source is not None:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", source.stem)
        name = name if name[:1].isalpha() else f"fio-{name}"
        text = read_fio(source, name=name, here=Path.cwd())
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "study.toml").write_text(text, encoding="utf-8")
    else:
        _write_starter(folder, system, like)
    result_console(ColorMode.AUTO).print(
        f"wrote {folder}/study.toml; next: headroom run {shlex.quote(str(folder))}",
        markup=False,
        soft_wrap=True,
    )


def _write_starter(folder: Path, system: Starter, like: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part in files("headroom.cli").joinpath("starters", system.value).iterdir():
        if part.is_file():
            (folder / part.name).write_bytes(part.read_bytes())
    if like:
        (folder / "machine.toml").write_text(_LIKE.format(name=like), encoding="utf-8")
    elif system in _BESIDE:
        package, path, name = _BESIDE[system]
        (folder / name).write_bytes(files(package).joinpath(path).read_bytes())
