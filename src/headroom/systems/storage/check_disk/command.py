"""`headroom check-disk`: the study `disk_check` of the disks that a user names, in one line.

Invariant: a block device or an existing file is only read unless its words were typed at this call;
`run` decides which words are needed, and whether they allow anything.
"""

import os
import stat
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headroom.cli import options, session
from headroom.cli.output import ColorMode
from headroom.cli.study.run_command import RunCommand, run_study
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.machine.shell import quoted
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.shipped import STUDY_FILE, shipped_study
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.file.toml_text import toml_text
from headroom.experiment.study.paths import STUDY_NAME
from headroom.sessions.overwrite import needed
from headroom.systems.storage.check_disk.study import Disk, left_out, place_name, study_of

_MARK = "# Written by `headroom check-disk`"
_HEADER = """\
{mark}; the next call with the same paths overwrites it. Copy
# the folder to change the study. The README of the study disk_check explains each experiment.
"""


def check_disk(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A folder on the disk, a block device, or a file. Several are compared.",
        ),
    ],
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="About a minute and 120 MB instead of 20 minutes.")
    ] = False,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            metavar="FOLDER",
            help="Folder of the results. [default: disk-check-NAME in this folder]",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="EXPERIMENT", help="Ask this alone; repeatable."),
    ] = None,
    settings: options.Settings = None,
    overwrite: Annotated[
        list[str] | None,
        typer.Option(
            "--overwrite",
            metavar="'PATH SIZE'",
            help="Write as well, and destroy what is on a device or in a file: its path and its "
            "size in bytes. Without it both are only read. Repeatable.",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh/--reuse", help="Measure again what was measured before.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the planned files and writes, and stop.")
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Check a disk: how fast it is, whether it keeps its speed, and which of several is faster.

    Test files are made in a folder and removed at the end; existing files are not touched. The
    results stay in a separate folder: the same command again measures only what is missing.
    """
    disks = [_disk_at(path) for path in paths]
    if len({disk.path for disk in disks}) < len(disks):
        raise StudyError("a disk is named twice", cure="name each disk once")
    folder = into or Path("disk-check-" + "-vs-".join(place_name(disk.path) for disk in disks))
    template = tomllib.loads((shipped_study("disk_check") / STUDY_FILE).read_text("utf-8"))
    is_read_only = not overwrite and not all(disk.is_folder for disk in disks)
    _write(folder, study_of(template, disks, is_read_only=False))
    if is_read_only:
        reading = study_of(template, disks, is_read_only=True)
        session.note(_to_write(folder, settings, quick=quick), quiet=quiet)
        session.note(f"left out: {', '.join(left_out(template, reading))}", quiet=quiet)
        _write(folder, reading)
    session.note(f"the study and its results are in {folder}", quiet=quiet)
    run_study(
        RunCommand(
            study=folder,
            quick=quick,
            only=only or (),
            settings=settings or (),
            overwrite=overwrite or (),
            fresh=fresh,
            dry_run=dry_run,
            as_json=as_json,
            quiet=quiet,
            color=color,
        )
    )


def _disk_at(path: Path) -> Disk:
    """Return the kind of disk at a path; follows links, and keeps the given name."""
    named = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - resolves no link
    try:
        str(named).encode()
        mode = named.stat().st_mode
    except UnicodeEncodeError as error:
        raise StudyError(
            f"the path {str(path)!r} is not UTF-8, which a study file needs",
            cure="name a link to it",
        ) from error
    except OSError as error:
        raise StudyError(
            f"there is no disk, folder or file {path}: {error.strerror}",
            cure="correct the path; `lsblk --paths` lists devices and where they are mounted",
        ) from error
    if stat.S_ISDIR(mode):
        return Disk(path=named, kind="folder")
    if stat.S_ISBLK(mode):
        return Disk(path=named, kind="block_device")
    if stat.S_ISREG(mode):
        return Disk(path=named, kind="file")
    raise StudyError(
        f"{path} is neither a folder, nor a block device, nor a file",
        cure="name one of these; `lsblk --paths` lists the devices",
    )


def _write(folder: Path, study: dict[str, Any]) -> None:
    """Write the study into its folder, replacing an earlier one of this command."""
    file = folder / STUDY_NAME
    is_ours = file.is_file() and file.read_text("utf-8", errors="replace").startswith(_MARK)
    if folder.exists() and not is_ours and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(
            f"{folder} exists and was not written by this command",
            cure="name another folder for the results with --into",
        )
    folder.mkdir(parents=True, exist_ok=True)
    text = _HEADER.format(mark=_MARK) + toml_text(study)
    if not is_ours or file.read_text("utf-8") != text:
        file.write_text(text, encoding="utf-8")


def _to_write(folder: Path, settings: Sequence[str] | None, *, quick: bool) -> str:
    """Return as text why writes are not run on a disk, and how to enable them."""
    try:
        asked = needed(make_plan(load_study(folder, settings or ()), quick=quick, seed=None))
    except HeadroomError as error:
        return f"only reads are asked: {error.message}"
    words = " ".join(f"--overwrite {quoted(confirmation.words)}" for confirmation in asked)
    return f"only reads are asked: writes destroy what is there; to ask them as well, add {words}"
