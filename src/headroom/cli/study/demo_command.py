"""`headroom demo`: one simulated and one measured study, from nothing to two pages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli import options, session
from headroom.cli.output import ColorMode, result_console
from headroom.cli.study.run_command import RunCommand, run_study
from headroom.errors import EnvironmentUnfitError, ExitCode
from headroom.experiment.machine.storage_facts import mount_of
from headroom.experiment.study.file.shipped import copy_shipped
from headroom.experiment.study.paths import PAGE_NAME, STUDY_NAME, results_folder
from headroom.sessions.trust import remember

SIMULATED, MEASURED = "quickstart", "sqlite_commits"
_IN_MEMORY = ("tmpfs", "ramfs")
_ON_DISK = Path("/var/tmp")  # noqa: S108 - a new folder is made in it
"""Where SQLite commits if the demo itself is in memory."""


def demo(
    folder: Annotated[
        Path, typer.Argument(help="Folder for the two studies; reused if it has them.")
    ] = Path("headroom-demo"),
    *,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, envvar="HEADROOM_JOBS", help="Parallel runs [cores]."),
    ] = None,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Simulate a web shop, measure SQLite on this machine, and write a page about each.

    Copies two studies that ship with Headroom and runs their quick variants.
    """
    studies = [folder / SIMULATED, folder / MEASURED]
    for study in studies:
        _prepare(study)
    codes = [_run(studies[0], jobs=jobs, quiet=quiet, color=color)]
    settings = _where_to_commit(studies[1], quiet=quiet)
    codes.append(_run(studies[1], jobs=jobs, quiet=quiet, color=color, settings=settings))
    _print_pages(studies, color)
    raise typer.Exit(max(codes))


def _prepare(study: Path) -> None:
    """Copy a study, unless an earlier demo has."""
    if not (study / STUDY_NAME).is_file():
        copy_shipped(study.name, study)
        remember(study, None, for_good=True)


def _where_to_commit(study: Path, *, quiet: bool) -> tuple[str, ...]:
    """Say which disk the commits go to; return the settings for one if the study is in memory."""
    for place in (study, _ON_DISK):
        mount = mount_of(place)
        if mount is None or mount.type not in _IN_MEMORY:
            disk = "" if mount is None else f" ({mount.type} on {mount.source})"
            session.note(f"SQLite commits to {place}{disk}", quiet=quiet)
            return () if place == study else (f"experiment.fixed.target={place}",)
    raise EnvironmentUnfitError(
        f"{study} and {_ON_DISK} are in memory, where a commit costs nothing",
        cure="name a folder on a disk: headroom demo /path/on/disk",
    )


def _run(
    study: Path,
    *,
    jobs: int | None,
    quiet: bool,
    color: ColorMode,
    settings: Sequence[str] = (),
) -> int:
    """Run the quick variant and return its exit code; an interruption ends the demo."""
    result_console(color).print(f"\n== headroom run {study} --quick", markup=False, soft_wrap=True)
    asked = RunCommand(
        study=study, quick=True, processes=jobs, settings=settings, quiet=quiet, color=color
    )
    try:
        run_study(asked)
    except typer.Exit as done:
        if done.exit_code not in {ExitCode.DONE, ExitCode.POINTS_FAILED}:
            raise
        return done.exit_code
    return ExitCode.DONE


def _print_pages(studies: Sequence[Path], color: ColorMode) -> None:
    console = result_console(color)
    console.print("\nThe pages, to open in a browser:", markup=False)
    for study in studies:
        page = results_folder(study, quick=True) / PAGE_NAME
        console.print(f"  {page.resolve().as_uri()}", markup=False, soft_wrap=True)
    console.print("Next: headroom doctor, headroom init my-study", markup=False)
