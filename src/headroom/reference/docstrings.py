"""Parser for NumPy-style docstrings, for the reference pages."""

import ast
import inspect
import re
import textwrap

_SECTION = r"^{}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)"


def section(doc: str, title: str) -> str:
    r"""Return the body of one section, empty if there is none.

    Examples
    --------
    >>> section("Add.\n\nReturns\n-------\nint\n\nNotes\n-----\nFast.", "Returns")
    'int'
    """
    match = re.search(_SECTION.format(title), doc, re.DOTALL | re.MULTILINE)
    return match[1].strip() if match else ""


def one_line(text: str) -> str:
    """Return a text with single spaces."""
    return re.sub(r"\s+", " ", inspect.cleandoc(text)).strip()


def attribute_docs(struct: type) -> dict[str, str]:
    """Return field -> meaning, from the strings below fields and the section Parameters."""
    docs: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if base.__module__.startswith("headroom"):
            docs |= parameter_section(inspect.getdoc(base) or "")
            docs |= _strings_below_fields(base)
    return docs


def _strings_below_fields(struct: type) -> dict[str, str]:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    assert isinstance(tree, ast.ClassDef)  # noqa: S101  # the source of a class is a class
    strings_below_fields = {}
    for item, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            text = _string_of(below)
            if text:
                strings_below_fields[item.target.id] = one_line(text)
    return strings_below_fields


def _string_of(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return str(node.value.value)
    return ""


def parameter_section(doc: str) -> dict[str, str]:
    r"""Return name -> meaning of the section Parameters.

    Examples
    --------
    >>> parameter_section("Add.\n\nParameters\n----------\na, b\n    Numbers.\nc\n    More.\n")
    {'a': 'Numbers.', 'b': 'Numbers.', 'c': 'More.'}
    """
    meanings: dict[str, str] = {}
    body = section(doc, "Parameters")
    for names, text in re.findall(r"^(\w[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n)+)", body, re.MULTILINE):
        for name in re.split(r",\s*", names.partition(" : ")[0]):
            meanings[name] = one_line(text)
    return meanings


def opening(item: object) -> str:
    """Return the text of a docstring before its first section."""
    text = inspect.getdoc(item) or ""
    return re.split(r"^\w+\n-+\n", text, maxsplit=1, flags=re.MULTILINE)[0].strip()
