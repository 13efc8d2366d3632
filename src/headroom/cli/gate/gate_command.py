"""`headroom gate`: compare base and head of this repository as a CI job does."""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Annotated

import msgspec
import typer

from headroom.cli import options, session
from headroom.cli.gate.comment import posted
from headroom.cli.gate.compare_command import CompareCommand, exit_code_of, show
from headroom.cli.gate.job import base_of
from headroom.cli.gate.subjects import Here, compared
from headroom.cli.output import ColorMode
from headroom.errors import StudyError
from headroom.experiment.protocol.options import option
from headroom.gate.git import known_commit, prefix_of
from headroom.gate.meaning import command_of
from headroom.gate.question import share_of
from headroom.gate.result import ComparisonResult
from headroom.gate.revisions import Revision, built
from headroom.gate.suites.compare import compare_suite
from headroom.gate.suites.running import Suite
from headroom.gate.suites.tools import TOOLS, tool_of
from headroom.report.compared.markdown import gate_markdown

_SHORT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCommand(CompareCommand):
    """The options of `headroom gate`."""

    subjects: Annotated[
        Sequence[str],
        typer.Argument(
            metavar="COMMAND",
            help="Commands in quotes, of programs or of the tool that --suite names; or a study.",
        ),
    ] = ()
    rev: Sequence[str] = ()
    names: Sequence[str] = ()
    until: float | None = None
    force: bool = False
    warm_up: int = 0
    prepare: Sequence[str] = ()
    runs: int | None = option(
        "--runs",
        "A fixed number of blocks [16 to 64, as noise needs; suites of many rows: 8 to 32].",
        low=2,
    )
    max_runs: int = option("--max-runs", "Maximum number of blocks.", low=2, default=100)
    max_time_s: float | None = option(
        "--max-time",
        "Begin no further look after this time [a suite: 3 times that of its usual run].",
        metavar="SECONDS",
        low=0.0,
    )
    same_within: float = 0.02
    fail_on_regression: float | None = option(
        "--fail-on-regression",
        "Exit 3 if anything is surely worse and possibly by this much; exit 4 if it could not "
        "have been seen.",
        metavar="SHARE",
        read=share_of,
        written="3%",
        default=0.03,
    )
    base: str | None = option(
        "--base", "Revision to compare with [where the change of this CI job began].",
        metavar="REVISION",
    )  # fmt: skip
    head: str = option("--head", "Revision to judge.", metavar="REVISION", default="HEAD")
    suite: str | None = option(
        "--suite",
        f"Tool of the commands; each row of its results is judged: {', '.join(TOOLS)}.",
        metavar="TOOL",
    )
    title: str = option("--title", "Name of this gate among others of a change.", default="Gate")
    summary: str | None = option(
        "--summary", "Append the result as Markdown to this file.", metavar="FILE",
        envvar="GITHUB_STEP_SUMMARY",
    )  # fmt: skip
    comment: bool = option(
        "--comment",
        "Also write it as one comment on the pull request, updated by later runs; needs "
        "GITHUB_TOKEN with pull-requests: write.",
        default=False,
    )
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    color: options.Color = ColorMode.AUTO


@options.command(GateCommand)
def gate(asked: GateCommand) -> None:
    """Compare base and head of this repository as a CI job does, and stop a regression."""
    # What is built and measured has no business with it.
    token = os.environ.pop("GITHUB_TOKEN", "")
    start_s = monotonic()
    if not asked.subjects:
        raise StudyError("nothing to measure", cure="headroom gate --build 'make' 'bin/program'")
    head = known_commit(Path(), asked.head)
    base = known_commit(Path(), asked.base) if asked.base else base_of(Path(), head)
    names = [f"base {base[:_SHORT]}", f"head {head[:_SHORT]}"]
    asked = replace(asked, names=names)
    session.note(f"comparing {names[1]} with {names[0]}", quiet=asked.quiet)
    result = _compared(asked, base, head)
    result = msgspec.structs.replace(result, command=shlex.join(["headroom", *sys.argv[1:]]))
    notes = [
        f"{names[1]} against {names[0]}, both built and measured in this job: "
        f"{monotonic() - start_s:.0f} s in all.",
        f"{' '.join(filter(None, [asked.suite, *asked.subjects]))}.",
    ]
    _tell(result, asked, notes, token)
    show(result, asked)
    raise typer.Exit(exit_code_of(result))


def _tell(result: ComparisonResult, asked: GateCommand, notes: list[str], token: str) -> None:
    """Write summary and comment; say what became of the comment."""
    if asked.comment and result.gate is not None:
        text = gate_markdown(result, title=asked.title, notes=notes)
        said = posted(text, asked.title, token, os.environ)
        session.note(said, quiet=False)
        notes = [*notes, f"{said[:1].upper()}{said[1:]}."]
    if asked.summary:
        with Path(asked.summary).open("a", encoding="utf-8") as file:
            file.write(gate_markdown(result, title=asked.title, notes=notes))


def _compared(asked: GateCommand, base: str, head: str) -> ComparisonResult:
    if asked.suite is None and all(Path(name).is_dir() for name in asked.subjects):
        voice = session.TerminalVoice(color=asked.color, is_quiet=asked.quiet)
        with TemporaryDirectory(prefix="headroom-gate-") as folder:
            here = Here(question=asked, folder=Path(folder), new_progress=voice.progress)
            return compared(asked.subjects, [base, head], here)
    name = asked.suite or "program"
    tool = tool_of(name)
    revisions = [
        Revision(label=label, commit=commit)
        for label, commit in zip(asked.names, (base, head), strict=True)
    ]
    with built(Path(), revisions, asked.build) as roots:
        folders = [root / prefix_of(Path()) for root in roots]
        suite = Suite(
            name=name,
            tool=tool,
            commands=[command_of(line, folders[0]).argv for line in asked.subjects],
            time_limit_s=asked.time_limit_s,
            any_exit_code=asked.ignore_failure,
        )
        return compare_suite(
            suite, folders, labels=asked.names, question=asked,
            about=[{"commit": base}, {"commit": head}],
            note=lambda text: session.note(text, quiet=asked.quiet),
        )  # fmt: skip
