"""`headroom doctor`: causes of bad measurements on this machine, each with a hint."""

import os
import platform
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from headroom.cli import options
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment.machine.doctor.examine import WORST_FIRST, examine
from headroom.experiment.machine.machine_facts import cpu
from headroom.experiment.protocol.finding import Finding, Verdict
from headroom.report.words import count_noun

_STYLES: dict[Verdict, str] = {"prevents": "red", "costs accuracy": "yellow", "fine": "green"}


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `headroom doctor --json`."""

    machine: str
    verdict: Verdict
    """The worst of all checks that have one."""
    findings: Sequence[Finding]


def doctor(
    folder: Annotated[
        Path, typer.Argument(help="Folder of your studies, whose disk is checked.")
    ] = Path(),
    *,
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Name the causes of bad measurements on this machine, each with a hint; changes nothing.

    Exits with 5 if something prevents measurements, else with 0.
    """
    if not folder.is_dir():
        raise StudyError(f"{folder} is not a folder", cure="name the folder of your studies")
    found = examine(folder)
    known: list[Verdict] = [one.verdict for one in found if one.verdict != "unknown"]
    worst = known[0] if known else "fine"
    machine = machine_in_words()
    if as_json:
        write_json("examination", Examination(machine=machine, verdict=worst, findings=found))
    else:
        console = result_console(color)
        for style, line in lines(machine, found, width=console.width):
            console.print(line, style=style, markup=False, soft_wrap=True)
    if worst == "prevents":
        raise typer.Exit(ExitCode.ENVIRONMENT)


def machine_in_words() -> str:
    """Return the processors and the kernel of this machine in a line."""
    count = count_noun(os.cpu_count() or 1, "processor")
    model = cpu().get("model") or platform.machine()
    return f"{count} ({model}), {platform.system()} {platform.release()}"


def lines(machine: str, found: Sequence[Finding], *, width: int) -> Iterator[tuple[str, str]]:
    """Yield the answer first, then each check: style and text, at most `width` wide.

    A hint is always one line, because users copy its commands.
    """
    yield "", f"This machine: {machine}"
    yield "bold", _answer(found)
    for verdict in WORST_FIRST:
        those = [one for one in found if one.verdict == verdict]
        if those:
            yield "", ""
            yield _STYLES.get(verdict, "dim"), verdict.capitalize()
        for one in those:
            yield from (("", line) for line in _lines_of(one, width))


def _answer(found: Sequence[Finding]) -> str:
    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in WORST_FIRST}
    checks = count_noun(len(found), "check")
    if counts["prevents"]:
        prevents = "prevents" if counts["prevents"] == 1 else "prevent"
        return f"{counts['prevents']} of {checks} {prevents} measurements."
    if counts["costs accuracy"]:
        cost = "costs" if counts["costs accuracy"] == 1 else "cost"
        return f"Measurements run; {counts['costs accuracy']} of {checks} {cost} accuracy."
    return f"Nothing here spoils measurements ({checks})."


def _lines_of(finding: Finding, width: int) -> Iterator[str]:
    yield from _wrapped(f"{finding.check}: {finding.state}", width, "  ", "    ")
    if finding.verdict != "fine" and finding.effect:
        yield from _wrapped(finding.effect, width, "    ", "    ")
    if finding.cure:
        yield f"    hint: {finding.cure}"


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
