"""`headroom what-limits`: slow each part of a measured system, and say what limits it."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from headroom.cli import options, session
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import ExitCode
from headroom.experiment.study.file.study_file import load_study
from headroom.gate.slowed_arms import WhatLimits, causes_of
from headroom.report.compared.causes import render_causes
from headroom.sessions.trust import check_trust


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatLimitsCommand(WhatLimits):
    """The options of `headroom what-limits`."""

    study: options.StudyPath = Path()
    is_trusted: Annotated[
        bool, typer.Option("--trust", help="Agree to run the code of this folder, see `trust`.")
    ] = False
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    color: options.Color = ColorMode.AUTO


@options.command(WhatLimitsCommand)
def what_limits(asked: WhatLimitsCommand) -> None:
    """Slow each part of a measured system in turn, and say which one limits it."""
    voice = session.TerminalVoice(color=asked.color, is_quiet=asked.quiet)
    loaded = load_study(asked.study, asked.settings)
    check_trust(loaded, is_trusted=asked.is_trusted)
    with TemporaryDirectory(prefix="headroom-causes-") as folder:
        result = causes_of(
            loaded, Path(folder), asked, point_key=session.point_key, new_progress=voice.progress
        )
    if asked.as_json:
        write_json("causes", result)
    else:
        render_causes(result, result_console(asked.color))
    raise typer.Exit(ExitCode.INTERRUPTED if result.stopped == "interrupted" else ExitCode.DONE)
