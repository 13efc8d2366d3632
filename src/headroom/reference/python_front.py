"""The page of the Python front, from its docstrings."""

import inspect
from collections.abc import Iterator

import headroom as hr
from headroom.reference.docstrings import one_line, opening
from headroom.reference.model_builder import class_section, entries
from headroom.reference.tables import items

INTRODUCTION = """\
`import headroom as hr` gives everything that the command does. Names load when they are first
used. [Use Headroom from Python](../guides/use-from-python.md) shows the way through them, the
[notebooks](../notebooks/01-first-queue.ipynb) show them at work.

All values are in base units: seconds, bytes, jobs per second. Everything that a user can correct
raises a `HeadroomError` with `message` and `cure`. Functions that run something raise
`KeyboardInterrupt` after Ctrl-C; finished replications of a study are kept.
"""
BUILT = ("Study", "Experiment")
RETURNED = ("Result", "Sweep", "Point", "Estimate", "Solved", "WhatIfs", "Sized", "Fitted")


def python_front() -> str:
    """Return the page of the Python front, from its docstrings."""
    shown = {name: getattr(hr, name) for name in hr.__all__}
    functions = {
        name: item
        for name, item in shown.items()
        if inspect.isfunction(item) and item.__module__.startswith("headroom.api")
    }
    parts = ["# Python\n", INTRODUCTION, "## Functions\n"]
    parts += entries(functions, "###", "hr.", "")
    for name in (*BUILT, *RETURNED):
        parts += class_section(name, shown[name])
        parts += _properties(shown[name])
    others = {
        name: item
        for name, item in shown.items()
        if name not in {*functions, *BUILT, *RETURNED} and callable(item)
    }
    rows = [(f"`hr.{name}`", _meaning(item)) for name, item in others.items()]
    parts += ["## Other names\n", "As in the model builder and the study file.\n", items(rows)]
    return "\n".join(parts)


def _properties(item: type) -> Iterator[str]:
    rows = [
        (f"`{name}`", one_line(inspect.getdoc(member) or ""))
        for name, member in inspect.getmembers(item)
        if not name.startswith("_")
        and not inspect.isfunction(member)
        and isinstance(inspect.getattr_static(item, name), property)
    ]
    if rows:
        yield "Attributes:\n"
        yield items(rows)


def _meaning(item: object) -> str:
    text = one_line(opening(item)).removeprefix("Return ")
    return text[:1].upper() + text[1:]
