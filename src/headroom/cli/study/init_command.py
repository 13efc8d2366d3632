"""`headroom init`: write a study that runs unchanged: a starter, a shipped one, an imported one."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import StudyError
from headroom.experiment.protocol import plug_ins
from headroom.experiment.protocol.starters import find_starter, starter_names
from headroom.experiment.study.file.shipped import copy_shipped, shipped_names, shipped_study
from headroom.experiment.study.file.study_file import load_study
from headroom.sessions.trust import remember

IMPORTERS = "headroom.importers"
"""Entry points of the readers of other tools' files."""
DEFAULT = "model"
"""The starter that is written if none is named."""


def _likes() -> dict[str, str]:
    """Return the names for `--like`: name -> starter."""
    return {like: name for name in starter_names() for like in find_starter(name).variants()}


def _with(name: str, system: str) -> str:
    """Return the starter that has a variant; refuse an unknown name."""
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


class ShippedStudy(msgspec.Struct, frozen=True, kw_only=True):
    """One study of `headroom init --list`."""

    name: str
    title: str


def _print_shipped(*, as_json: bool) -> None:
    rows = [
        ShippedStudy(name=name, title=load_study(shipped_study(name)).study.heading)
        for name in shipped_names()
    ]
    if as_json:
        write_json("shipped-studies", rows)
        return
    width = max(len(row.name) for row in rows)
    for row in rows:
        result_console().print(f"{row.name:<{width}}  {row.title}", markup=False, soft_wrap=True)


def _write_imported(source: Path, folder: Path) -> None:
    """Write the study that asks what a file of another tool asks."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", source.stem)
    name = name if name[:1].isalpha() else f"fio-{name}"
    text = _importer(source)(source, name=name, here=Path.cwd())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(text, encoding="utf-8")


def _write_from(source: str, folder: Path) -> None:
    """Write a study from a file of another tool, or copy a shipped one: files come first."""
    path = Path(source)
    if path.is_dir() and source not in shipped_names():
        raise StudyError(
            f"--from {source}: this is a folder",
            cure="copy a study of yours with `cp -r`; --from takes a job file of fio, or a study "
            "of `headroom init --list`",
        )
    if path.is_file() or path.suffix or path.name != source:
        _write_imported(path, folder)
    else:
        copy_shipped(source, folder)


def init(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder to create; an empty one is fine.")
    ] = None,
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
        str,
        typer.Option(
            "--from",
            metavar="STUDY|JOB.FIO",
            help="A study that ships with Headroom (see --list), or a job file of fio: write the "
            "study that asks the same, one experiment a job.",
        ),
    ] = "",
    is_list: Annotated[
        bool, typer.Option("--list", help="List the studies that ship with Headroom, and stop.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --list: as JSON.")] = False,
) -> None:
    """Write a commented starter study that runs as it is, or a copy of a shipped study."""
    if is_list:
        _print_shipped(as_json=as_json)
        return
    if as_json or folder is None:
        raise StudyError(
            "--json needs --list" if as_json else "the folder of the new study is missing",
            cure="headroom init my-study, or headroom init --list",
        )
    starter = find_starter(_with(like, system) if like else system)
    if source and (like or system != DEFAULT):
        raise StudyError(
            "--from cannot be combined with --system or --like",
            cure="remove --system and --like, or --from",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(
            f"{folder} exists and is not an empty folder",
            cure="choose another folder; init never overwrites anything",
        )
    if source:
        _write_from(source, folder)
    else:
        starter.write(folder, like=like)
    remember(folder, None, for_good=True)
    result_console(ColorMode.AUTO).print(
        f"wrote {folder}/study.toml; next: headroom run {shlex.quote(str(folder))}",
        markup=False,
        soft_wrap=True,
    )
