"""`headroom show`: the answer of a study, or all results, from the cache if nothing has changed."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli import options
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.cli.study.kept_screens import KeptScreens, watched, words_of_show
from headroom.errors import StudyError
from headroom.experiment.study.paths import RESULTS_NAME, STUDY_NAME, results_folder


def show(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY|RESULTS",
            help="Folder of the study, its study.toml; or saved results: a folder, file or page.",
        ),
    ] = Path(),
    *,
    quick: options.Quick = False,
    seed: options.Seed = None,
    settings: options.Settings = None,
    point: Annotated[
        str | None,
        typer.Option(
            "--point",
            metavar="POINT",
            help="Everything about one point: its key, or its levels, e.g. users=40,disk_ms=6.0.",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            help='Find the load at which this limit breaks: "response_s_p95<=200ms"; repeatable.',
        ),
    ] = None,
    load: Annotated[
        str, typer.Option("--load", help="Factor that is the load [the first numeric one].")
    ] = "",
    current: Annotated[
        float | None,
        typer.Option("--current", help="Level of the load today: the headroom counts from it."),
    ] = None,
    shows_all: options.ShowsAll = False,
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Print the answer of a study in the terminal; with --all, all of its results."""
    if not limit and (load or current is not None):
        option = "--load" if load else "--current"
        raise StudyError(
            f"{option} is about a limit, and there is no --limit",
            cure='add one: --limit "response_s_p95<=200ms"',
        )
    console = result_console(color)
    if is_saved(study, quick=quick):
        from headroom.cli.study.shown import show_saved  # noqa: PLC0415 - as below

        show_saved(study, console, quick=quick, point=point, shows_all=shows_all, as_json=as_json,
            others={"seed": seed, "set": settings, "limit": limit, "load": load,
                    "current": current})  # fmt: skip
        return
    words = words_of_show(
        seed,
        settings,
        point=point,
        limits=limit,
        load=load,
        current=current,
        shows_all=shows_all,
    )
    screens = KeptScreens.of(study, words, console, quick=quick)
    kept = None if as_json else screens.get()
    if kept is not None:
        console.file.write(kept)
        return
    # A kept text is there before these are loaded.
    from headroom.analysis.stored_form import stored_form  # noqa: PLC0415
    from headroom.cli.session import looked_at  # noqa: PLC0415
    from headroom.cli.study.shown import (  # noqa: PLC0415
        Named,
        Shown,
        analysed,
        stored_instead,
        text_of,
    )
    from headroom.experiment.protocol.kept_code import CodeNotRunError  # noqa: PLC0415

    named = Named.of(study, quick=quick, seed=seed, settings=settings)
    try:
        with ExitStack() as stack:
            with watched() as watch:
                plan = stack.enter_context(
                    looked_at(study, quick=quick, seed=seed, settings=settings)
                )
            if limit:
                from headroom.cli.model.limit_option import with_limits  # noqa: PLC0415 - few ask

                plan = with_limits(plan, limit, load=load, current=current)
            found = analysed(plan)
    except CodeNotRunError as error:
        others = {"quick": quick, "seed": seed, "settings": settings}
        stored = None if limit else stored_instead(study, others, error)
        if stored is None:
            raise
        found = Shown(result=stored, journal=None, is_plain=False)
    if as_json:
        write_json("study-result", stored_form(found.result))
        return
    text = text_of(found.result, console, named, point=point, shows_all=shows_all)
    console.file.write(text)
    if found.is_plain:
        screens.put(text, watch, found.journal)


def is_saved(study: Path, *, quick: bool) -> bool:
    """Return whether a name means results without a study file, as Python programs write them."""
    if study.is_dir():
        places = (study / RESULTS_NAME, results_folder(study, quick) / RESULTS_NAME)
        return not (study / STUDY_NAME).exists() and any(place.is_file() for place in places)
    return study.suffix in {".json", ".html"} and study.is_file()
