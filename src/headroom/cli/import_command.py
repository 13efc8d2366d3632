"""`headroom import`: results of other tools become a study of recorded runs."""

import re
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headroom.audit.audit import audit
from headroom.audit.importing import Source, given_factors, imported, left_out, levels_in
from headroom.audit.shown import verdict
from headroom.cli.audit_command import Columns, Files, Format, read_files
from headroom.cli.output import error_console, print_lines
from headroom.cli.study.run_command import RunCommand, run_study
from headroom.errors import StudyError
from headroom.experiment.study.file.toml_text import toml_text

_HEADER = """\
# Recorded by other tools, imported by `headroom import`: nothing is run. Add a model as another
# experiment to compare it, or fit it with [experiment.fit] from these.
"""


def import_files(
    files: Files,
    *,
    to: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Folder of the study to make.")
    ],
    factor: Annotated[
        list[str] | None,
        typer.Option(
            "--factor",
            metavar="NAME=VALUE,...",
            help="Level of the files: one for all, or one for each in their order; repeatable. "
            "Parts NAME=VALUE of file names are levels too.",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            "--rename", metavar="OLD=NEW", help="Name of a level in the study; repeatable."
        ),
    ] = None,
    format_name: Format = "",
    column: Columns = None,
) -> None:
    """Make a study of the results of other tools, to show, compare and fit.

    `headroom init --from` reads job definitions, to run them here; this reads results.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise StudyError(
            f"{to} exists and is not an empty folder",
            cure="choose another folder; import never overwrites anything",
        )
    given = given_factors(factor or [], len(files))
    sources = [
        Source(path=path, kind=one.kind, results=one.results, levels=levels_in(path, given, place))
        for place, (path, parts) in enumerate(read_files(files, format_name, column))
        for one in parts
    ]
    for text in left_out(sources):
        print_lines(error_console(), f"note: {text}")
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", to.resolve().name)
    renamed = {old: new[0] for old, new in given_factors(rename or [], 1).items()}
    name = name if name[:1].isalpha() else f"study-{name}"
    found = imported(sources, name=name, renamed=renamed)
    (to / "recorded").mkdir(parents=True, exist_ok=True)
    for place, content in found.files.items():
        (to / place).write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
    (to / "study.toml").write_text(_HEADER + toml_text(found.study), encoding="utf-8")
    answer = audit([result for source in sources for result in source.results])
    print_lines(error_console(), f"audit: {verdict(answer)}")
    run_study(RunCommand(study=to))
