"""The page of the registered systems: keys, metrics, registered models."""

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.protocol.reference import Section, reference_of
from headroom.experiment.protocol.registry import find_system, system_names
from headroom.experiment.protocol.system import Parameter, System
from scripts.reference.docstrings import opening
from scripts.reference.fields import fields_table
from scripts.reference.tables import NOTICE, table

MODELS = "model"
"""The system whose models are registered by name."""


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
    reference = reference_of(name)
    if reference.has_parameters:
        yield from _parameters_section(name, _loaded(name, reference.example))
    if reference.title:
        yield from _metrics_section(reference.title, _loaded(name, reference.example))
    for section in reference.sections():
        yield _section(section)
    if name == MODELS:
        yield from _registered_models()


def _loaded(name: str, example: Mapping[str, Any]) -> System:
    system_type = find_system(name)
    return system_type.load(msgspec.convert(example, system_type.setup_type), base=Path())


def _parameters_section(name: str, system: System) -> Iterator[str]:
    yield f"### Parameters of `{name}`\n"
    yield table(
        ("parameter", "unit", "default", "range", "meaning", "source"),
        [_parameter_row(item) for item in system.parameters()],
    )


def _metrics_section(title: str, system: System) -> Iterator[str]:
    defaults = {item.name: item.default for item in system.parameters() if item.default is not None}
    yield f"### {title}\n"
    yield table(
        ("metric", "unit", "better", "meaning"),
        [
            (f"`{item.name}`", item.unit, item.better.replace("none", ""), item.description)
            for item in system.metrics(defaults)
        ],
    )


def _section(section: Section) -> str:
    title = f"### {section.title}\n\n" if section.title else ""
    return f"{title}{section.text}\n\n{table(section.header, section.rows)}"


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
