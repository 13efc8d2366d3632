"""The study file's published JSON schema, from the types that check it.

It includes the set-up of each registered system, selected by the `name` in the table
`[experiment.system]`. `headroom describe study-file` comes from the same types.
"""

from typing import Any

import msgspec

from headroom.experiment.protocol import registry
from headroom.experiment.study.file.type_errors import LARGEST
from headroom.experiment.study.study import Study

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def study_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of `study.toml`, systems of this machine included.

    Examples
    --------
    >>> study_schema()["$defs"]["Study"]["required"]
    ['schema', 'name', 'seed', 'experiment']
    """
    names = registry.system_names()
    kinds = [registry.find_system(name).setup_type for name in names]
    (study, *setups), definitions = msgspec.json.schema_components(
        [Study, *kinds], ref_template="#/$defs/{name}"
    )
    choices = {}
    for name, setup in zip(names, setups, strict=True):
        content = definitions[setup["$ref"].removeprefix("#/$defs/")]
        choices[f"system:{name}"] = _named(name, content)
    for setup in setups:  # each is under the name of its system now
        definitions.pop(setup["$ref"].removeprefix("#/$defs/"), None)
    system = definitions["Experiment"]["properties"]["system"]
    definitions["Experiment"]["properties"]["system"] = {
        "description": system["description"],
        "oneOf": [{"$ref": f"#/$defs/{choice}"} for choice in choices],
        "discriminator": {"propertyName": "name"},
    }
    definitions["Experiment"]["anyOf"] = [{"required": ["model"]}, {"required": ["system"]}]
    for table in ("Experiment", "Quick"):
        count = definitions[table]["properties"]["replications"]
        count["anyOf"] = [
            {"type": "integer", "minimum": 1},
            *count.get("anyOf", [{"$ref": count.pop("$ref", "")}]),
        ]
    whole = {
        "$schema": DIALECT,
        "title": "Study file of Headroom",
        **study,
        "$defs": {**definitions, **choices},
    }
    bound_numbers(whole)
    return whole


def bound_numbers(node: Any) -> None:  # noqa: ANN401 - any part of a schema
    """Add the bounds that the loader puts on every number, if the types name none."""
    if isinstance(node, dict):
        if node.get("type") in ("integer", "number"):
            if not node.keys() & {"maximum", "exclusiveMaximum"}:
                node["maximum"] = LARGEST
            if not node.keys() & {"minimum", "exclusiveMinimum"}:
                node["minimum"] = -LARGEST
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            bound_numbers(part)


def _named(name: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a set-up with the key `name` that chooses the system."""
    properties = {"name": {"const": name, "description": "The system."}, **content["properties"]}
    return {
        **content,
        "properties": properties,
        "required": ["name", *content.get("required", [])],
        "additionalProperties": False,
    }
