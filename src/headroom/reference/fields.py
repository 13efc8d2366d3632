"""Lists of the keys that a msgspec struct accepts: type, default, meaning."""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from headroom.reference.docstrings import attribute_docs
from headroom.reference.tables import items


def fields_list(struct: type[msgspec.Struct], *, without: Collection[str] = ()) -> str:
    """Return the keys of a table of the study file: type, default, meaning."""
    rows = [row for row in _rows(struct) if row[0] not in without]
    return items([
        (f"{key} ({', '.join(filter(None, (kind, default)))})", meaning)
        for key, kind, default, meaning in rows
    ])  # fmt: skip


def common_keys(structs: Iterable[type[msgspec.Struct]]) -> list[str]:
    """Return the keys that mean the same in all of some tables, in the order of the first."""
    first, *others = [_rows(struct) for struct in structs]
    return [row[0] for row in first if all(row in rows for rows in others)]


def _rows(struct: type[msgspec.Struct]) -> list[tuple[str, str, str, str]]:
    meanings = attribute_docs(struct)
    return [
        (
            f"`{item.encode_name}`",
            _type_words(item.type),
            _default_words(item),
            meanings.get(item.name) or msgspec.json.schema(item.type).get("description", ""),
        )
        for item in msgspec.structs.fields(struct)
    ]


def _default_words(item: msgspec.structs.FieldInfo) -> str:
    if item.required:
        return "required"
    if item.default_factory is not msgspec.NODEFAULT:
        value = item.default_factory()
    else:
        value = item.default
    if isinstance(value, msgspec.Struct):
        value = {key: item for key, item in msgspec.to_builtins(value).items() if item}
    if value is None or value in ("", [], {}, ()):
        return ""
    return f"default `{msgspec.json.encode(value).decode()}`"


def _type_words(annotation: Any) -> str:  # noqa: ANN401  # any annotation
    r"""Return a type in the words of TOML, with its bounds.

    Examples
    --------
    >>> from typing import Annotated, Literal
    >>> _type_words(Annotated[int, msgspec.Meta(ge=1, le=10)]) == "integer, 1\N{EN DASH}10"
    True
    >>> _type_words(Annotated[int, msgspec.Meta(ge=1, lt=10)])
    'integer, at least 1, below 10'
    >>> _type_words(list[Literal["a", "b"]] | None)
    'list of "a" or "b"'
    """
    return _schema_words(msgspec.json.schema(annotation))


_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


def _schema_words(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(msgspec.json.encode(value).decode() for value in schema["enum"])
    if "anyOf" in schema:
        words = [_schema_words(item) for item in schema["anyOf"] if item != {"type": "null"}]
        return " or ".join(dict.fromkeys(words))
    kind = schema.get("type", "object" if "$ref" in schema else "any value")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {_schema_words(schema.get('items', {}))}".replace("of table", "of tables")
    bounds = [f"{word} {schema[key]:,g}" for key, word in _BOUNDS.items() if key in schema]
    if {"minimum", "maximum"} <= schema.keys():
        bounds = [f"{schema['minimum']:,}\N{EN DASH}{schema['maximum']:,}"]
    return ", ".join(["table" if kind == "object" else kind, *bounds])
