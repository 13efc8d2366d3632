"""`headroom model`: list, show, draw and trace models, without a study."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from headroom.cli import options
from headroom.cli.model.series_command import series
from headroom.cli.output import ColorMode, result_console, write_json
from headroom.cli.session import note
from headroom.errors import StudyError
from headroom.experiment.protocol import registry
from headroom.experiment.protocol.system import Modelled, Parameter, System, Value
from headroom.jmt import write_jsimg
from headroom.output_file import check_output, write_output
from headroom.quantities import format_with_unit
from headroom.report.model_picture import draw_model, list_model
from headroom.sessions.subjects import find_subject, parse_settings, with_config
from headroom.simulation import Model, model_data
from headroom.simulation.checks.remarks import remarks
from headroom.simulation.runs.trace_file import trace_model

app = typer.Typer(no_args_is_help=True, help="List, show, draw and trace models.")

_MOST_EVENTS = 10_000_000

Name: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A registered model, a model file.py (or file.py:function), or a file of JMT (.jsimg, "
        ".jmva) or lqns (.lqnx, .lqn).",
    ),
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Value of a parameter; repeatable."),
]


class ListedParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter as `headroom model list --json` prints it."""

    name: str
    unit: str
    default: Value | None
    low: float | None
    high: float | None
    description: str


class ListedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A registered model."""

    name: str
    parameters: list[ListedParameter]


def model_names() -> tuple[str, ...]:
    """Return the names of all registered models, sorted."""
    kind = registry.find_system("model")
    return kind.model_names() if issubclass(kind, Modelled) else ()


PARAMETERS_LISTED = 20
"""Parameters up to which a model is listed with them; of more, only their number is told."""


@app.command("list")
def list_models(*, as_json: options.AsJson = False, color: options.Color = ColorMode.AUTO) -> None:
    """List the registered models with their parameters, units and defaults."""
    found = [
        ListedModel(
            name=name, parameters=[_listed(parameter) for parameter in _system(name).parameters()]
        )
        for name in model_names()
    ]
    if as_json:
        write_json("models", found)
        return
    table = Table("model", "parameter", "default", "range", "meaning")
    for model in found:
        if len(model.parameters) > PARAMETERS_LISTED:
            count = f"{len(model.parameters)} of them"
            table.add_row(model.name, count, "", "", f"see: headroom model show {model.name}")
        for place, one in enumerate(model.parameters[: _listed_count(model)]):
            texts = (_default(one), _range(one), one.description)
            table.add_row(model.name if place == 0 else "", one.name, *map(Text, texts))
        table.add_section()
    result_console(color).print(table)


def _listed_count(model: ListedModel) -> int:
    """Return how many parameters of a model are listed: all, or none of very many."""
    return len(model.parameters) if len(model.parameters) <= PARAMETERS_LISTED else 0


def _listed(one: Parameter) -> ListedParameter:
    return ListedParameter(
        name=one.name,
        unit=one.unit,
        default=one.default,
        low=one.low,
        high=one.high,
        description=one.description,
    )


def _default(one: ListedParameter) -> str:
    return "" if one.default is None else format_with_unit(one.default, one.unit)


def _range(one: ListedParameter) -> str:
    low, high = (None if bound is None else format_with_unit(bound, "")
                 for bound in (one.low, one.high))  # fmt: skip
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}" if high else ""


@app.command("show")
def show(model: Name, *, settings: Settings = None) -> None:
    """Print a model: parameters, stations, pools, classes and programs."""
    system, config = _configured(model, settings)
    parameters = {parameter.name: parameter for parameter in system.parameters()}
    data = _data(system, config)
    if config:
        typer.echo("parameters")
    for name, value in config.items():
        one = parameters[name]
        meaning = f"; {one.description}" if one.description else ""
        typer.echo(f"  {name} = {format_with_unit(value, one.unit)}{meaning}")
    typer.echo(list_model(data))
    for remark in remarks(_model(system, config)):
        note(f"remark: {remark}")


@app.command("json")
def as_json(model: Name, *, settings: Settings = None) -> None:
    """Print a model as canonical JSON: the same bytes for the same model."""
    data = _data(*_configured(model, settings))
    typer.echo(json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False))


@app.command("picture")
def picture(
    model: Name,
    *,
    settings: Settings = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of stdout.")
    ] = None,
) -> None:
    """Draw a model as a queueing network, in SVG."""
    drawn = draw_model(_data(*_configured(model, settings)), is_file=True)
    if output is None:
        sys.stdout.write(drawn + "\n")
    else:
        write_output(output, drawn + "\n")
        typer.echo(output)


@app.command("trace")
def trace(
    model: Name,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    settings: Settings = None,
    events: Annotated[
        int, typer.Option(min=1, max=_MOST_EVENTS, help="Events to record, from the start.")
    ] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the run.")] = 1,
) -> None:
    """Run a model once and write its events for ui.perfetto.dev or chrome://tracing."""
    system, config = _configured(model, settings)
    count = trace_model(_model(system, config), output, seed=seed, event_count=events)
    typer.echo(f"{output}: {count:,} events; open it in https://ui.perfetto.dev")


@app.command("jsimg")
def jsimg(
    model: Name,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    settings: Settings = None,
) -> None:
    """Write a model as a file that JMT's JSIMgraph opens; see docs/guides/bring-your-model.md."""
    system, config = _configured(model, settings)
    check_output(output, reads=model)
    write_jsimg(_model(system, config), output)
    typer.echo(output)


app.command("series")(series)


def _system(name: str) -> System:
    return find_subject(name, "", None, ())[0].system


def _configured(name: str, settings: list[str] | None) -> tuple[System, Mapping[str, Value]]:
    """Return the system of a model and a value for each of its parameters."""
    subject = find_subject(name, "", None, ())[0]
    given = parse_settings(settings or [], subject.system.parameters())
    return subject.system, with_config(subject, given, ()).config


def _data(system: System, config: Mapping[str, Value]) -> Mapping[str, Any]:
    return model_data(_model(system, config))


def _model(system: System, config: Mapping[str, Value]) -> Model:
    if not isinstance(system, Modelled):
        raise StudyError("this system has no model to show", cure="name a model")
    return system.model(config)
