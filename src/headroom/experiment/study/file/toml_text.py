"""Write a study file: TOML data as text that a person can edit.

Invariant: reading the text gives the content back. Tables that fit are written on one line, as
people write them in studies; comments are left to the caller.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

LINE_LENGTH = 100
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DELETE = "\x7f"
"""The only character that TOML wants escaped and JSON does not."""


def toml_text(content: Mapping[str, Any]) -> str:
    """Return a study as TOML.

    Parameters
    ----------
    content
        As `tomllib` reads it: numbers, texts, truth values, lists and tables.

    Examples
    --------
    >>> print(toml_text({"schema": 1, "experiment": [{"name": "a", "fixed": {"depth": 4}}]}))
    schema = 1
    <BLANKLINE>
    [[experiment]]
    name = "a"
    fixed = { depth = 4 }
    <BLANKLINE>
    """
    arrays = {key: value for key, value in content.items() if _is_array_of_tables(value)}
    rest = {key: value for key, value in content.items() if key not in arrays}
    blocks = _table_blocks("", rest)
    for key, tables in arrays.items():
        for table in tables:
            first, *others = _table_blocks(key, table)
            blocks += [f"[[{key}]]\n{first}", *others]
    return "\n".join(blocks)


def _is_array_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _table_blocks(name: str, table: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table, then a block for each table in it that is too long for one."""
    lines, blocks = [], []
    for key, value in table.items():
        line = f"{_key(key)} = {toml_value(value)}"
        if isinstance(value, Mapping) and len(line) > LINE_LENGTH:
            own = f"{name}.{_key(key)}" if name else _key(key)
            rows = [f"{_key(inner)} = {toml_value(content)}\n" for inner, content in value.items()]
            blocks.append(f"[{own}]\n{''.join(rows)}")
        else:
            lines.append(line + "\n")
    return ["".join(lines), *blocks]


def toml_value(value: object) -> str:
    """Return one value on one line.

    Examples
    --------
    >>> toml_value({"depth": [1, 2], "path": "/mnt/new", "is it": True})
    '{ depth = [1, 2], path = "/mnt/new", "is it" = true }'
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else str(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace(_DELETE, "\\u007f")
        case Mapping():
            rows = [f"{_key(key)} = {toml_value(content)}" for key, content in value.items()]
            return f"{{ {', '.join(rows)} }}" if rows else "{}"
        case Sequence():
            return f"[{', '.join(map(toml_value, value))}]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml_value(key)
