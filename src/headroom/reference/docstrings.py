"""Parser for NumPy-style docstrings, for the reference pages."""

import inspect
import re

from headroom.experiment.protocol.declared import field_texts

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
    return docs | field_texts(struct)


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
