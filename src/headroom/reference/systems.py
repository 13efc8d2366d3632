"""The page of the registered systems: keys, metrics, registered models."""

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.protocol.reference import Section, reference_of
from headroom.experiment.protocol.registry import find_system, system_names
from headroom.experiment.protocol.system import System
from headroom.reference.docstrings import opening
from headroom.reference.fields import fields_list
from headroom.reference.parameters import (
    LEGEND,
    metric_rows,
    metric_table,
    parameter_table,
)
from headroom.reference.tables import table

MODELS = "model"
"""The system whose models are registered by name."""

CLASS_METRIC = re.compile(r"class\.[^.]+\.")


def systems() -> str:
    """Return the page of the registered systems, their set-up and their metrics."""
    parts = ["# Systems\n"]
    parts.append(
        "`[experiment.system]` names a system; its other keys belong to that system. A plug-in "
        "adds systems with the entry point group `headroom.systems`.\n\n"
        f"{LEGEND}"
    )
    for name in system_names():
        parts += system_section(name)
    parts += map(model_section, registered_models())
    return "\n".join(parts)


def system_section(name: str) -> Iterator[str]:
    """Yield what a system is: its keys, parameters and metrics."""
    system = find_system(name)
    yield f"## `{name}` (column: {system.column.value})\n"
    yield f"{opening(system)}\n"
    yield "### Keys\n"
    yield fields_list(system.setup_type)
    for struct in _structs_within(system.setup_type):
        yield f"### `{name}`: {_words_of(struct)}\n"
        yield f"{opening(struct)}\n"
        yield fields_list(struct)
    reference = reference_of(name)
    if reference.has_parameters:
        yield from _parameters_section(name, _loaded(name, reference.example))
    if reference.title:
        yield from _metrics_section(reference.title, _loaded(name, reference.example))
    for section in reference.sections():
        yield _section(section)


def _loaded(name: str, example: Mapping[str, Any]) -> System:
    system_type = find_system(name)
    return system_type.load(msgspec.convert(example, system_type.setup_type), base=Path())


def _parameters_section(name: str, system: System) -> Iterator[str]:
    yield f"### Parameters of `{name}`\n"
    yield parameter_table(system.parameters())


def _metrics_section(title: str, system: System) -> Iterator[str]:
    defaults = {item.name: item.default for item in system.parameters() if item.default is not None}
    metrics = system.metrics(defaults)
    of_the_whole = [item for item in metrics if not CLASS_METRIC.match(item.name)]
    yield f"### {title}\n"
    yield metric_table(of_the_whole)
    of_classes = {CLASS_METRIC.sub("", item.name) for item in metrics} - {
        item.name for item in of_the_whole
    }
    if len(of_the_whole) < len(metrics) and not of_classes:
        yield (
            "\nEach class `C` of the load (`read`, `write`, ...) has throughput, times and bytes, "
            "as `class.C.METRIC`.\n"
        )


def _section(section: Section) -> str:
    title = f"### {section.title}\n\n" if section.title else ""
    is_of_metrics = section.header == ("metric", "unit", "better", "meaning")
    rows = metric_rows(section.rows) if is_of_metrics else table(section.header, section.rows)
    return f"{title}{section.text}\n\n{rows}"


def model_section(name: str) -> str:
    """Return what the model registered by this name is, and its parameters."""
    entry = registered_models()[name]
    loaded = entry.load()
    text = (getattr(loaded, "about", None) or opening(loaded)).removeprefix("Return ")
    text = text[:1].upper() + text[1:]
    parameters = _loaded(MODELS, {"model": name}).parameters()
    return f"### Registered model `{name}`\n\n{text}\n\n{parameter_table(parameters)}"


def registered_models() -> dict[str, EntryPoint]:
    """Return the registered models by name, sorted."""
    entries = sorted(entry_points(group="headroom.models"), key=lambda item: item.name)
    return {entry.name: entry for entry in entries}


def _structs_within(struct: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """Return the tables that a set-up may hold, in the order of its keys."""
    structs: list[type[msgspec.Struct]] = []

    def walk(kind: Any) -> None:  # noqa: ANN401  # one of msgspec's own types
        if isinstance(kind, msgspec.inspect.StructType) and kind.cls is not struct:
            structs.append(kind.cls)
        for name in ("item_type", "value_type"):
            if hasattr(kind, name):
                walk(getattr(kind, name))
        for inner in getattr(kind, "types", ()):
            walk(inner)

    root = msgspec.inspect.type_info(struct)
    assert isinstance(root, msgspec.inspect.StructType)  # noqa: S101  # a set-up is a struct
    for item in root.fields:
        walk(item.type)
    return list(dict.fromkeys(structs))


def _words_of(struct: type) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", struct.__name__).lower()
