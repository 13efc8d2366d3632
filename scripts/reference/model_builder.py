"""The page of the model builder, from its docstrings."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import headroom.simulation
from scripts.reference.docstrings import one_line, opening, parameter_section, section
from scripts.reference.tables import NOTICE, table

BETWEEN_PARTS = {
    *("to_data", "to_code", "law_from_data", "check"),
    *("names", "calls", "laws", "station_rows", "pool_rows"),
}
"""Functions that only other parts of Headroom call."""

IMPORT = re.compile(r"^>>> from headroom\.simulation import [^\n]*\n", re.MULTILINE)


def model_builder() -> str:
    """Return the page of the model builder, from its docstrings."""
    module = headroom.simulation
    parts = [NOTICE, "# Model builder\n", f"{opening(module)}\n"]
    parts.append("The examples import their names from `headroom.simulation`.\n")
    for name in sorted(module.__all__, key=lambda name: (not name[0].isupper(), name)):
        item = getattr(module, name)
        if name in BETWEEN_PARTS:
            continue
        if inspect.isclass(item):
            parts += _class_section(name, item)
        elif inspect.isfunction(item):
            parts += [f"## `{name}{_signature(item)}`\n", _doc_section(item)]
    return "\n".join(parts)


def _class_section(name: str, item: type) -> Iterator[str]:
    yield f"## `{name}`\n"
    yield _doc_section(item)
    for method, function in vars(item).items():
        is_hidden = method.startswith("_") or method in BETWEEN_PARTS
        if is_hidden or not inspect.isfunction(inspect.unwrap(function)):
            continue
        yield f"### `{name}.{method}{_signature(function)}`\n"
        yield _doc_section(function)


def _signature(function: Callable[..., Any]) -> str:
    """Return the call as a reader writes it: names, stars and defaults, no types."""
    signature = inspect.signature(function)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return str(
        signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    ).replace("\n", " ")


def _doc_section(item: object) -> str:
    """Return a NumPy docstring as Markdown; its examples run as tests of the code itself."""
    doc = inspect.getdoc(item) or ""
    parts = [f"{opening(item)}\n", table(("parameter", "meaning"), _parameter_rows(doc))]
    for title in ("Returns", "Raises", "Notes"):
        body = section(doc, title)
        if body:
            parts.append(f"*{title}:* {one_line(body)}\n")
    heading, prompt, code = IMPORT.sub("", section(doc, "Examples")).partition(">>> ")
    parts.append(f"{heading.strip()}\n" if heading.strip() else "")
    if code:
        parts.append(f"```pycon\n{prompt}{code}\n```\n")
    return _single_backticks("\n".join(part for part in parts if part))


def _parameter_rows(doc: str) -> list[tuple[str, str]]:
    """Return names and meaning, one row for the names that a docstring explains together."""
    names: dict[str, list[str]] = {}
    for name, text in parameter_section(doc).items():
        names.setdefault(text, []).append(f"`{name}`")
    return [(", ".join(group), text) for text, group in names.items()]


def _single_backticks(text: str) -> str:
    return re.sub(r"``([^`\n]+)``", r"`\1`", text)
