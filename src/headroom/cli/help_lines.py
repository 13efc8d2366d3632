"""The lines of `headroom --help`, read from sources: no command is loaded to name it."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PANELS = {
    "Start": ("demo", "init", "doctor", "list", "describe", "schema"),
    "Studies": ("run", "trust", "status", "show", "report", "export"),
    "What limits a system, and what would change it": (
        "observe", "what-limits", "what-if", "size", "solve", "model",
    ),
    "Changes over time, and results of other tools": (
        "compare", "gate", "history", "audit", "import",
    ),
}  # fmt: skip
"""Commands by the heading under which the help lists them."""
OF_LAYERS = "Disks, memory, records and catalogues"


def panel_of(name: str) -> str:
    """Return the heading of a command; those that layers bring have their own.

    Examples
    --------
    >>> panel_of("run"), panel_of("check-disk") == OF_LAYERS
    ('Studies', True)
    """
    return next((panel for panel, names in PANELS.items() if name in names), OF_LAYERS)


@cache
def help_line(module: str, name: str) -> str:
    """Return the first sentence of a function's docstring, or the `help` of a group of commands.

    Empty if the source is not there, or says it in another way.

    Examples
    --------
    >>> help_line("headroom.cli.audit_command", "audit_files")
    'Check whether the results of a benchmark can be true.'
    """
    try:
        spec = find_spec(module)
        source = "" if spec is None or spec.origin is None else Path(spec.origin).read_text("utf-8")
        tree = ast.parse(source)
    except (ImportError, OSError, SyntaxError, ValueError):
        return ""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return _of_call(node.value, module)
    return ""


def _of_call(value: ast.expr, module: str) -> str:
    """Return the `help` of a group of commands, or the line of the function that is decorated."""
    if not isinstance(value, ast.Call):
        return ""
    found = next((one.value for one in value.keywords if one.arg == "help"), None)
    if isinstance(found, ast.Constant):
        return str(found.value)
    inner = value.args[-1] if value.args else None
    return help_line(module, inner.id) if isinstance(inner, ast.Name) else ""
