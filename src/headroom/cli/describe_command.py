"""`headroom describe`: the reference, offline."""

import sys
from typing import Annotated

import typer
from rich.markdown import Markdown
from rich.table import Table

from headroom.cli import options
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.reference.topics import described, topics


def describe(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A system, a registered model, study-file, model-builder or python; none: list "
            "all."
        ),
    ] = None,
    *,
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Print the reference of a system, a model or the study file: keys, parameters, metrics."""
    console = result_console(color)
    if name is not None:
        text = described(name)
        if as_json:
            write_json("describe", {"name": name, "markdown": text})
        elif console.is_terminal:
            console.print(Markdown(text))
        else:
            sys.stdout.write(text)
        return
    if as_json:
        write_json("describe", topics())
        return
    table = Table("name", "what it is", box=None, pad_edge=False)
    for topic, about in topics().items():
        table.add_row(topic, about)
    console.print(table)
