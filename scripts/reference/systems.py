"""The page of the registered systems: keys, metrics, registered models."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.registry import find_system, system_names
from headroom.experiment.system import Parameter
from headroom.systems.model.metrics import (
    failure_metrics,
    group_metrics,
    resource_metrics,
    visit_metrics,
)
from headroom.systems.model.share_metrics import share_metrics_of_all
from scripts.reference.docstrings import opening
from scripts.reference.fields import fields_table
from scripts.reference.parameters import (
    FEWEST_SHARED,
    difference_table,
    metric_table,
    parameter_table,
    shared,
)
from scripts.reference.tables import NOTICE, table

EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "command": ({"argv": ["true"]}, "Metrics of every command"),
    "storage": (
        {"targets": {"memory": {"kind": "file", "path": "{memory}"}}},
        "Metrics of 4 KiB random reads",
    ),
}
"""System -> a set-up whose metrics the page shows, and the heading above them."""

SAME_PARAMETERS = {"server": "spax"}
"""Model -> model of the same parameters: the page shows only what differs."""

CLASS_METRIC = re.compile(r"class\.[^.]+\.")


def systems() -> str:
    """Return the page of the registered systems, their set-up and what they report."""
    parts = [NOTICE, "# Systems\n"]
    parts.append(
        "`[experiment.system]` names a system; its other keys belong to that system. A plug-in "
        "adds systems with the entry point group `headroom.systems`.\n\n"
        "*Source* is the kind of source of a default. The report of a study prints the full "
        "source of each value, as do the files in `src/headroom/systems`.\n"
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
    yield f"### Parameters of `{name}`\n"
    yield parameter_table(_example_of(name).parameters())


def _metrics_section(name: str) -> Iterator[str]:
    system = _example_of(name)
    defaults = {item.name: item.default for item in system.parameters() if item.default is not None}
    metrics = system.metrics(defaults)
    of_the_whole = [item for item in metrics if not CLASS_METRIC.match(item.name)]
    yield f"### {EXAMPLES[name][1]}\n"
    yield metric_table(of_the_whole)
    of_classes = {CLASS_METRIC.sub("", item.name) for item in metrics} - {
        item.name for item in of_the_whole
    }
    if len(of_the_whole) < len(metrics) and not of_classes:
        yield (
            "\nEach class `C` of the load (`read`, `write`, ...) has throughput, times and bytes, "
            "as `class.C.METRIC`.\n"
        )


def _example_of(name: str) -> Any:  # noqa: ANN401  # any system
    system_type = find_system(name)
    setup = msgspec.convert(EXAMPLES[name][0], system_type.setup_type)
    return system_type.load(setup, base=Path())


def _resource_metrics() -> str:
    """Return the metrics that a model has for itself and for its stations, pools and classes."""
    each = resource_metrics(classes=["NAME"], stations=["NAME"], pools=["NAME"])
    return (
        "### Metrics of every model\n\n"
        "`NAME` is the name of a station, pool or class. The whole model has the metrics of a "
        "class, without `class.NAME.`.\n\n"
        + metric_table(each)
        + "\nWith several classes, each class `C` also has "
        + " and ".join(
            f"{_names_of_visits(kind)} as `{kind}.NAME.class.C.METRIC`"
            for kind in ("station", "pool")
        )
        + " (up to 400 pairs of class and station or pool).\n"
        "\nA group of stations also has\n\n"
        + metric_table(group_metrics())
        + "\nIf a station can be full or fail, or an attempt can fail, there are also\n\n"
        + metric_table(failure_metrics())
        + "\nThe time in the system of each class divides into these shares, for the stations `S` "
        "and pools `P` of its program (up to 400 pairs); they add up to 1\n\n"
        + table(
            ("metric", "unit", "meaning"),
            [(f"`{item.name}`", item.unit, item.description) for item in share_metrics_of_all()],
        )
    )


def _names_of_visits(kind: str) -> str:
    names = [item.name.rpartition(".")[2] for item in visit_metrics() if item.name.startswith(kind)]
    return ", ".join(f"`{name}`" for name in names)


def _registered_models() -> Iterator[str]:
    system_type = find_system("model")
    entries = sorted(entry_points(group="headroom.models"), key=lambda item: item.name)
    parameters = {
        entry.name: system_type.load(
            msgspec.convert({"model": entry.name}, system_type.setup_type), base=Path()
        ).parameters()
        for entry in entries
    }
    parameters["storage"] = _example_of("storage").parameters()
    earlier = ["storage"]
    for entry in entries:
        yield f"### Registered model `{entry.name}`\n"
        loaded = entry.load()
        yield f"{getattr(loaded, 'about', None) or opening(loaded)}\n"
        yield from _model_parameters(entry.name, parameters, earlier)
        earlier.append(entry.name)


def _model_parameters(
    name: str, parameters: Mapping[str, Sequence[Parameter]], earlier: Sequence[str]
) -> Iterator[str]:
    """Yield the parameters of a model; those that an earlier model has as well by name only."""
    own = list(parameters[name])
    if name in SAME_PARAMETERS:
        base = SAME_PARAMETERS[name]
        yield f"It has the parameters of `{base}`, with these differences:\n"
        yield difference_table(own, {item.name: item for item in parameters[base]})
        return
    references = []
    while True:
        closest = max(earlier, key=lambda other: len(shared(own, parameters[other])))
        common = shared(own, parameters[closest])
        if len(common) < FEWEST_SHARED:
            break
        references.append(f"As in `{closest}`: {', '.join(f'`{item}`' for item in common)}.\n")
        own = [item for item in own if item.name not in common]
    yield parameter_table(own)
    yield from references


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
