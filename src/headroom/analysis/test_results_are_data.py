"""The analysis words errors alone: `headroom.report.sentences` words results."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
WORDS = 3
"""Words of a string that make it a sentence."""
ERRORS_TOLD = {"analyse.py", "claims/law.py", "formulas.py"}
"""Modules that pass on the message of an error, or of a model, in one string each."""


def sentences_of(code: str) -> list[str]:
    """Return the strings with several words that are neither of an error nor a docstring."""
    found = _texts(ast.parse(code))
    return [text for text in found if sum(map(_is_word, text.split())) >= WORDS]


def _is_word(part: str) -> bool:
    return part.strip(",;:").isalpha()


def _texts(node: ast.AST) -> Iterator[str]:
    if _is_of_an_error(node) or (isinstance(node, ast.Expr) and _is_text(node.value)):
        return
    if _is_text(node):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        yield "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
        return
    for child in ast.iter_child_nodes(node):
        yield from _texts(child)


def _is_text(node: ast.AST) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


def _is_of_an_error(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name.endswith("Error")
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return isinstance(node, ast.Raise) or (is_call and node.func.id.endswith("Error"))  # type: ignore[attr-defined]


def test_sentences_of_a_module_are_found() -> None:
    code = '"""A docstring of words."""\nraise ValueError("not a result")\nx = f"run it {1} times"'
    assert sentences_of(code) == ["run it  times"]


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(FOLDER.rglob("*.py")) if not path.name.startswith("test_")],
    ids=lambda path: path.relative_to(FOLDER).as_posix(),
)
def test_a_module_makes_no_sentences(path: Path) -> None:
    allowed = path.relative_to(FOLDER).as_posix() in ERRORS_TOLD
    found = sentences_of(path.read_text(encoding="utf-8"))
    assert len(found) <= allowed, "store evidence, and word it in headroom.report.sentences"
