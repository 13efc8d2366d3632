"""The page of the model builder, from its docstrings."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import headroom.simulation
from headroom.reference.docstrings import one_line, opening, parameter_section, section
from headroom.reference.tables import items

BETWEEN_PARTS = {
    *("to_data", "to_code", "law_from_data", "check"),
    *("names", "calls", "laws", "station_rows", "pool_rows"),
}
"""Functions that only other parts of Headroom call."""

SHOWN_ELSEWHERE = {
    *("ArrivalProcess", "Distribution.draw", "Model.with_servers", "Program.set"),
    *("canonical_json", "expected_visits", "offered_loads"),
}
"""Docstrings whose example the page leaves out, because another section shows the same call."""

FEWEST_KEYWORDS = 3
"""Keywords of a call that the list of parameters shows with their defaults, instead of the call."""

EMPTY = inspect.Parameter.empty
IMPORT = re.compile(r"^>>> from headroom\.simulation import [^\n]*\n", re.MULTILINE)


GROUPS = {
    "Distribution": "Distributions",
    "ArrivalProcess": "Arrival processes",
    "Expression": "Expressions",
    "": "Other functions",
}
"""Type of what a function returns -> heading; the last one is for all others."""

IN_A_TABLE = {"Distribution", "Expression"}
"""Types whose functions are explained in a row, without the example of the docstring."""


def model_builder() -> str:
    """Return the page of the model builder, from its docstrings."""
    module = headroom.simulation
    parts = ["# Model builder\n", f"{opening(module)}\n"]
    parts.append("The examples import their names from `headroom.simulation`.\n")
    shown = {name: getattr(module, name) for name in sorted(module.__all__)}
    for name in BETWEEN_PARTS:
        shown.pop(name, None)
    classes = {name: item for name, item in shown.items() if inspect.isclass(item)}
    functions = {name: item for name, item in shown.items() if inspect.isfunction(item)}
    for name, item in classes.items():
        if not _is_one_row(item) or _methods(item):
            parts += class_section(name, item)
    rows = [
        (f"`{name}`", _row_text(item))
        for name, item in classes.items()
        if _is_one_row(item) and not _methods(item)
    ]
    parts += ["## Other classes\n", items(rows)]
    for kind, heading in GROUPS.items():
        group = {name: item for name, item in functions.items() if _group(item) == kind}
        parts += [f"## {heading}\n", *entries(group, "###", "", kind)]
    return "\n".join(parts)


def _group(function: Callable[..., Any]) -> str:
    kind = str(inspect.signature(function).return_annotation).rpartition(".")[2].strip("'>")
    return kind if kind in GROUPS else ""


def class_section(name: str, item: type) -> Iterator[str]:
    """Yield the section of a class with its methods."""
    yield f"## `{name}`\n"
    yield _doc_section(item)
    yield from entries(_methods(item), "###", f"{name}.", "")


def _methods(item: type) -> dict[str, Callable[..., Any]]:
    return {
        name: function
        for name, function in vars(item).items()
        if not name.startswith("_")
        and name not in BETWEEN_PARTS
        and inspect.isfunction(inspect.unwrap(function))
    }


def entries(
    functions: Mapping[str, Callable[..., Any]], level: str, prefix: str, kind: str
) -> Iterator[str]:
    """Yield a table of the functions that a sentence explains, and a section for each other."""
    short = {
        name: function
        for name, function in functions.items()
        if _is_one_row(function, with_example=kind in IN_A_TABLE)
    }
    rows = [(f"`{name}{_signature(item)}`", _row_text(item)) for name, item in short.items()]
    yield items(rows)
    for name, function in functions.items():
        if name not in short:
            yield f"{level} `{prefix}{name}{_short_signature(function)}`\n"
            yield _doc_section(function)


def _is_one_row(item: object, *, with_example: bool = False) -> bool:
    """Return whether a docstring has nothing to show but its opening, or an example as well."""
    doc = inspect.getdoc(item) or ""
    titles = ("Parameters", "Returns", "Raises", "Notes")
    has_example = bool(_example(item)) and not with_example
    return not has_example and not any(section(doc, title) for title in titles)


def _row_text(item: object) -> str:
    return _single_backticks(one_line(_opening_text(item)))


def _opening_text(item: object) -> str:
    text = opening(item).removeprefix("Return ")
    return text[:1].upper() + text[1:]


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


def _short_signature(function: Callable[..., Any]) -> str:
    """Return the call without the keywords that the list below explains with their defaults."""
    explained = parameter_section(inspect.getdoc(function) or "")
    keywords = _keywords(function)
    if len(keywords) < FEWEST_KEYWORDS or not keywords.keys() <= explained.keys():
        return _signature(function)
    return re.sub(r"\*, .*\)$", "*, ...)", _signature(function))


def _keywords(function: object) -> dict[str, inspect.Parameter]:
    if not callable(function) or inspect.isclass(function):
        return {}
    parameters = inspect.signature(function).parameters.values()
    return {item.name: item for item in parameters if item.kind is item.KEYWORD_ONLY}


def _doc_section(item: object) -> str:
    """Return a NumPy docstring as Markdown; its examples run as tests of the code itself."""
    doc = inspect.getdoc(item) or ""
    parts = [f"{_opening_text(item)}\n", items(_parameter_rows(item, doc))]
    for title in ("Returns", "Raises", "Notes"):
        body = section(doc, title)
        if body:
            text = re.sub(r"\b(\w+Error|KeyboardInterrupt) (?=[A-Z])", r"`\1`: ", one_line(body))
            parts.append(f"*{title}:* {text}\n")
    heading, prompt, code = _example(item).partition(">>> ")
    parts.append(f"{heading.strip()}\n" if heading.strip() else "")
    if code:
        parts.append(f"```pycon\n{prompt}{code}\n```\n")
    return _single_backticks("\n".join(part for part in parts if part))


def _example(item: object) -> str:
    """Return the example of a docstring without its imports, empty if it is shown elsewhere."""
    if getattr(item, "__qualname__", "") in SHOWN_ELSEWHERE:
        return ""
    return IMPORT.sub("", section(inspect.getdoc(item) or "", "Examples"))


def _parameter_rows(item: object, doc: str) -> list[tuple[str, str]]:
    """Return names and meaning, one row for the names that a docstring explains together."""
    names: dict[str, list[str]] = {}
    keywords = _keywords(item)
    explained = parameter_section(doc)
    is_short = len(keywords) >= FEWEST_KEYWORDS and keywords.keys() <= explained.keys()
    for name, text in explained.items():
        has_default = is_short and name in keywords and keywords[name].default is not EMPTY
        shown = f"{name}={keywords[name].default!r}" if has_default else name
        names.setdefault(text, []).append(f"`{shown}`")
    return [(", ".join(group), text) for text, group in names.items()]


def _single_backticks(text: str) -> str:
    return re.sub(r"``([^`\n]+)``", r"`\1`", text)
