"""The page of the registered systems: keys, metrics, registered models."""

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.protocol.registry import find_system, system_names
from headroom.experiment.protocol.system import Parameter
from headroom.systems.model.metrics import (
    failure_metrics,
    group_metrics,
    resource_metrics,
    visit_metrics,
)
from headroom.systems.model.share_metrics import share_metrics_of_all
from scripts.reference.docstrings import opening
from scripts.reference.fields import fields_table
from scripts.reference.tables import NOTICE, table

EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "model": ({"model": "mm1"}, "Metrics of the registered model `mm1`, whose station is `server`"),
    "command": ({"argv": ["true"]}, "Metrics of every command"),
    "storage": (
        {"targets": {"memory": {"kind": "file", "path": "{memory}"}}},
        "Metrics of 4 KiB random reads",
    ),
}
"""System -> a set-up whose metrics the page shows, and the heading above them."""


def systems() -> str:
    """Return the page of the registered systems, their set-up and what they report."""
    parts = [NOTICE, "# Systems\n"]
    parts.append(
        "`[experiment.system]` names a system; its other keys are the system's own. A plug-in "
        "adds systems with the entry point group `headroom.systems`.\n"
    )
    for name in system_names():
        parts += _system_section(name)
    return "\n".join(parts)


def _system_section(name: str) -> Iterator[str]:
    system = find_system(name)
    yield f"## `{name}` (column: {system.column.value})\n"
    yield f"{opening(system)}\n"
    yield "### Keys\n"
    yield fields_table(system.setup_type)
    for struct in _structs_within(system.setup_type):
        yield f"### `{name}`: {_words_of(struct)}\n"
        yield f"{opening(struct)}\n"
        yield fields_table(struct)
    if name == "storage":
        yield from _parameters_section(name)
    if name in EXAMPLES:
        yield from _metrics_section(name)
    if name == "model":
        yield _resource_metrics()
        yield from _registered_models()


def _parameters_section(name: str) -> Iterator[str]:
    setup, _ = EXAMPLES[name]
    system_type = find_system(name)
    system = system_type.load(msgspec.convert(setup, system_type.setup_type), base=Path())
    yield f"### Parameters of `{name}`\n"
    yield table(
        ("parameter", "unit", "default", "range", "meaning", "source"),
        [_parameter_row(item) for item in system.parameters()],
    )


def _metrics_section(name: str) -> Iterator[str]:
    setup, title = EXAMPLES[name]
    system_type = find_system(name)
    system = system_type.load(msgspec.convert(setup, system_type.setup_type), base=Path())
    defaults = {item.name: item.default for item in system.parameters() if item.default is not None}
    yield f"### {title}\n"
    yield table(
        ("metric", "unit", "better", "meaning"),
        [
            (f"`{item.name}`", item.unit, item.better.replace("none", ""), item.description)
            for item in system.metrics(defaults)
        ],
    )


def _resource_metrics() -> str:
    """Return the metrics that a model has once for each of its stations, pools and classes."""
    return (
        "### Metrics of every station, pool and class\n\n"
        "`NAME` is the name that the model gives to the station, pool or class.\n\n"
        + table(
            ("metric", "unit", "better", "meaning"),
            [
                (f"`{item.name}`", item.unit, item.better.replace("none", ""), item.description)
                for item in resource_metrics(classes=["NAME"], stations=["NAME"], pools=["NAME"])
            ],
        )
        + "\nWhere there are several classes, for each class `C` (up to 400 pairs of class and "
        "place)\n\n"
        + table(
            ("metric", "unit", "better", "meaning"),
            [
                (f"`{item.name}`", item.unit, item.better.replace("none", ""), item.description)
                for item in visit_metrics()
            ],
        )
        + "\nWhere `NAME` is a group of like stations there is also\n\n"
        + table(
            ("metric", "unit", "better", "meaning"),
            [
                (f"`{item.name}`", item.unit, item.better.replace("none", ""), item.description)
                for item in group_metrics()
            ],
        )
        + "\nWhere a station can be full or break, or an attempt can fail, there are also\n\n"
        + table(
            ("metric", "unit", "better", "meaning"),
            [
                (f"`{item.name}`", item.unit, item.better.replace("none", ""), item.description)
                for item in failure_metrics()
            ],
        )
        + "\nWhere the time of each class goes, for the stations `S` and pools `P` that its "
        "program comes to (up to 400 pairs of class and place); the shares add up to the whole\n\n"
        + table(
            ("metric", "unit", "meaning"),
            [(f"`{item.name}`", item.unit, item.description) for item in share_metrics_of_all()],
        )
    )


def _registered_models() -> Iterator[str]:
    system_type = find_system("model")
    for entry in sorted(entry_points(group="headroom.models"), key=lambda item: item.name):
        setup = msgspec.convert({"model": entry.name}, system_type.setup_type)
        yield f"### Registered model `{entry.name}`\n"
        loaded = entry.load()
        yield f"{getattr(loaded, 'about', None) or opening(loaded)}\n"
        parameters = system_type.load(setup, base=Path()).parameters()
        yield table(
            ("parameter", "unit", "default", "range", "meaning", "source"),
            [_parameter_row(item) for item in parameters],
        )


def _parameter_row(item: Parameter) -> tuple[str, ...]:
    low = "" if item.low is None else f"{item.low:g}"
    high = "" if item.high is None else f"{item.high:g}"
    default = "required" if item.default is None else f"{item.default}"
    range_ = ", ".join(map(str, item.choices)) or (f"{low} to {high}" if low or high else "")
    return (f"`{item.name}`", item.unit, default, range_, item.description, item.source)


def _structs_within(struct: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """Return the tables that a set-up may hold, in the order of its keys."""
    found: list[type[msgspec.Struct]] = []

    def walk(kind: Any) -> None:  # noqa: ANN401  # one of msgspec's own types
        if isinstance(kind, msgspec.inspect.StructType) and kind.cls is not struct:
            found.append(kind.cls)
        for name in ("item_type", "value_type"):
            if hasattr(kind, name):
                walk(getattr(kind, name))
        for inner in getattr(kind, "types", ()):
            walk(inner)

    root = msgspec.inspect.type_info(struct)
    assert isinstance(root, msgspec.inspect.StructType)  # noqa: S101  # a set-up is a struct
    for item in root.fields:
        walk(item.type)
    return list(dict.fromkeys(found))


def _words_of(struct: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", struct.__name__).lower()
