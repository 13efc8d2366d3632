"""`headroom init`: write a commented starter study that runs unchanged."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.output import ColorMode, result_console
from headroom.errors import StudyError
from headroom.experiment.protocol import plug_ins
from headroom.experiment.protocol.starters import find_starter, starter_names

IMPORTERS = "headroom.importers"
"""Entry points of the readers of other tools' files."""
DEFAULT = "model"
"""The starter that is written if none is named."""


def _likes() -> dict[str, str]:
    """Return what a starter can be like: name -> starter."""
    return {like: name for name in starter_names() for like in find_starter(name).variants()}


def _with(name: str, system: str) -> str:
    """Return the starter that has a variant; refuse a name that nobody knows."""
    likes = _likes()
    if name not in likes:
        raise StudyError(f"unknown machine {name!r}", cure=f"choose one of {', '.join(likes)}")
    if system not in {DEFAULT, likes[name]}:
        raise StudyError(
            f"--like {name} belongs to --system {likes[name]}, not {system}",
            cure="leave one of the two out",
        )
    return likes[name]


def _importer(source: Path) -> Callable[..., str]:
    """Return who reads a file of another tool: by its suffix, else the only one there is."""
    importers = plug_ins.plug_ins(IMPORTERS)
    by_suffix = source.suffix.removeprefix(".").lower()
    name = by_suffix if by_suffix in importers or len(importers) > 1 else next(iter(importers))
    found: Callable[..., str] = plug_ins.find(name, importers, kind="reader of files")
    return found


def init(
    folder: Annotated[Path, typer.Argument(help="Folder to create; an empty one is fine.")],
    *,
    system: Annotated[
        str,
        typer.Option(
            metavar="STARTER",
            help=f"Starter to copy: one of {', '.join(starter_names())}.",
        ),
    ] = DEFAULT,
    like: Annotated[
        str,
        typer.Option(
            "--like",
            metavar="MACHINE",
            help="Of a machine: write only what differs from one that Headroom knows "
            f"({', '.join(sorted(_likes()))}).",
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
    starter = find_starter(system)
    if source is not None and (like or system != DEFAULT):
        raise StudyError(
            "--from cannot be combined with --system or --like",
            cure="remove --system and --like, or --from",
        )
    if like:
        starter = find_starter(_with(like, system))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(
            f"{folder} exists and is not an empty folder",
            cure="choose another folder; init never overwrites anything",
        )
    if source is not None:
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", source.stem)
        name = name if name[:1].isalpha() else f"fio-{name}"
        text = _importer(source)(source, name=name, here=Path.cwd())
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "study.toml").write_text(text, encoding="utf-8")
    else:
        starter.write(folder, like=like)
    result_console(ColorMode.AUTO).print(
        f"wrote {folder}/study.toml; next: headroom run {shlex.quote(str(folder))}",
        markup=False,
        soft_wrap=True,
    )
