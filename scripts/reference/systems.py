"""The page of the registered systems: keys, metrics, registered models."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.protocol.reference import Section, reference_of
from headroom.experiment.protocol.registry import find_system, system_names
from headroom.experiment.protocol.system import Parameter, System
from scripts.reference.docstrings import opening
from scripts.reference.fields import fields_list
from scripts.reference.parameters import (
    FEWEST_OTHER_DEFAULTS,
    FEWEST_SHARED,
    LEGEND,
    Shown,
    defaults_text,
    differences,
    metric_rows,
    metric_table,
    other_defaults,
    parameter_table,
    shared,
)
from scripts.reference.tables import NOTICE, table

MODELS = "model"
"""The system whose models are registered by name."""

CLASS_METRIC = re.compile(r"class\.[^.]+\.")


def systems() -> str:
    """Return the page of the registered systems, their set-up and their metrics."""
    parts = [NOTICE, "# Systems\n"]
    parts.append(
        "`[experiment.system]` names a system; its other keys belong to that system. A plug-in "
        "adds systems with the entry point group `headroom.systems`.\n\n"
        f"{LEGEND}"
    )
    for name in system_names():
        parts += _system_section(name)
    return "\n".join(parts)


def _system_section(name: str) -> Iterator[str]:
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
    if name == MODELS:
        yield from _registered_models()


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


def _registered_models() -> Iterator[str]:
    system_type = find_system("model")
    entries = sorted(entry_points(group="headroom.models"), key=lambda item: item.name)
    parameters = {
        entry.name: system_type.load(
            msgspec.convert({"model": entry.name}, system_type.setup_type), base=Path()
        ).parameters()
        for entry in entries
    }
    shown: dict[str, Shown] = {}
    for name in system_names():
        if reference_of(name).has_parameters:
            parameters[name] = _loaded(name, reference_of(name).example).parameters()
            shown[name] = Shown(own=[item.name for item in parameters[name]])
    for entry in entries:
        yield f"### Registered model `{entry.name}`\n"
        loaded = entry.load()
        text = getattr(loaded, "about", None) or opening(loaded)
        yield f"{text.removeprefix('Return ')}\n"
        yield from _model_parameters(entry.name, parameters, shown)


def _model_parameters(
    name: str, parameters: Mapping[str, Sequence[Parameter]], shown: dict[str, Shown]
) -> Iterator[str]:
    """Yield the parameters of a model; those that an earlier model has as well by reference."""
    own = list(parameters[name])
    base = _model_of_the_same_parameters(name, parameters)
    if base != name:
        yield f"It has the parameters of `{base}`, with these defaults and ranges:\n"
        yield differences(own, {item.name: item for item in parameters[base]})
        return
    references = []
    of_others = {}
    while True:
        closest = max(shown, key=lambda other: len(shared(own, parameters[other])), default=name)
        common = shared(own, parameters[closest]) if closest != name else []
        if len(common) < FEWEST_SHARED:
            break
        references.append(shown[closest].reference(closest, common))
        of_others[f"those as in `{closest}`"] = common
        own = [item for item in own if item.name not in common]
    for other in shown:
        differing = other_defaults(own, {item.name: item for item in parameters[other]})
        if len(differing) >= FEWEST_OTHER_DEFAULTS:
            references.append(defaults_text(other, differing))
            of_others[f"its other defaults than in `{other}`"] = [item.name for item in differing]
            own = [item for item in own if item not in differing]
    shown[name] = Shown(own=[item.name for item in own], of_others=of_others)
    yield parameter_table(own)
    yield from references


def _model_of_the_same_parameters(name: str, parameters: Mapping[str, Sequence[Parameter]]) -> str:
    """Return the last of the models that have the parameters of this one by name."""
    names = {model: [item.name for item in items] for model, items in parameters.items()}
    return max(model for model in names if names[model] == names[name])


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
