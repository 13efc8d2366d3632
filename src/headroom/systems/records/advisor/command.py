"""`headroom records advise`: the fastest layout of a user's records on this processor."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
import typer

from headroom.cli import options
from headroom.cli.output import ColorMode, error_console, result_console, write_json
from headroom.errors import StudyError
from headroom.experiment.protocol.options import Options
from headroom.systems.records.advisor.question import Question

app = typer.Typer(
    name="records",
    help="Records in memory: how to lay them out on this processor.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.callback()
def records() -> None:
    """Lay out records in memory for this processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseCommand(Options):
    """The options of `headroom records advise`."""

    question: Question
    records: Annotated[
        str, typer.Option("--records", metavar="N", help="Records of the table, such as 2e6.")
    ] = "1e6"
    time_s: Annotated[
        float | None, typer.Option("--time", min=1.0, help="Time (s) of the search. [default: 90]")
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="Search for 15 s; fewer finalists.")] = (
        False
    )
    cpu: Annotated[int | None, typer.Option("--cpu", min=0, help="Processor to measure on.")] = None
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Orders and keys.")] = 1
    as_json: options.AsJson = False
    quiet: options.Quiet = False
    color: options.Color = ColorMode.AUTO


@app.command("advise")
@options.command(AdviseCommand)
def advise(asked: AdviseCommand) -> None:
    """Choose node size, layout, index node, pages and batch for your records, and say why."""
    from headroom.systems.records.advisor import advice, shown  # noqa: PLC0415 - heavy libraries

    question = msgspec.structs.replace(asked.question, records=_count(asked.records))
    limit_s = asked.time_s or (advice.QUICK_TIME_S if asked.quick else advice.TIME_S)
    console = error_console(asked.color)
    status = console.status("starting") if console.is_terminal and not asked.quiet else None

    def say(what: str, share: float) -> None:
        if status is not None:
            status.update(f"{min(share, 1.0):4.0%} {what}")

    with advice.on_cpu(asked.cpu) as chosen:
        if status is not None:
            status.start()
        try:
            found = advice.advise(
                question, time_s=limit_s, seed=asked.seed, is_quick=asked.quick, say=say
            )
        finally:
            if status is not None:
                status.stop()
    if asked.as_json:
        write_json("record-advice", shown.advice_data(found, chosen))
    else:
        shown.show(found, chosen, result_console(asked.color))


def _count(text: str) -> int:
    """Return a number of records; whole numbers may be written as 2e6.

    Examples
    --------
    >>> _count("2e6"), _count("1_000")
    (2000000, 1000)
    """
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (1.0 <= number < 2**32 and number.is_integer()):
        raise StudyError(
            f"`--records {text}` is not a whole number from 1 to 4,294,967,295",
            cure="write a number such as 500000 or 2e6",
        )
    return int(number)
