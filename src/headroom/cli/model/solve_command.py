"""`headroom solve`: evaluate formulas for a model or a study, without a run."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from headroom.cli import options, session
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.report.terminal.solved import render_solved
from headroom.sessions.solving import solve_model, solve_plan
from headroom.sessions.subjects import find_model, is_study
from headroom.sizing.space import parse_axis


def solve(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|STUDY",
            help="A registered model, a model file.py (or file.py:function), a file of JMT "
            "(.jsimg, .jmva) or lqns (.lqnx, .lqn), or a study.",
        ),
    ],
    *,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUES",
            help='Value or values of a parameter: "users=40", "users=1..100", "users=10,20,40", '
            'also of a station or pool: "station.cpu.servers=1..8"; repeatable.',
        ),
    ] = None,
    quick: options.Quick = False,
    as_json: options.AsJson = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Solve a model by theory: exactly, with a known error, or else by a short simulation."""
    axes = [parse_axis(text) for text in settings or []]
    if is_study(subject):
        points = list(solve_plan(session.open_plan(Path(subject), quick=quick), axes))
    else:
        found = solve_model(subject, find_model(subject), axes, asked=repr(subject))
        points = [structs.replace(one, simulate=_typed(one.simulate)) for one in found]
    if as_json:
        write_json("solutions", points)
    else:
        render_solved(points, result_console(color))


def _typed(call: str) -> str:
    """Return a call of `headroom` in Python as a line of a shell."""
    return f'python -c "import headroom as hr; print({call})"' if call else ""
