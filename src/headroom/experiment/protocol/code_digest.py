"""A hash of Python code, for fingerprints of systems whose results it decides.

Comments, docstrings and empty lines are left out: a change of these measures nothing again. The
compiled code of a layer has hashes of its own (`src/headroom/sources.rs`).
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path


def code_digest(files: Iterable[Path]) -> str:
    """Return a hash of Python files; their names and their order do not matter.

    Examples
    --------
    >>> len(code_digest([Path(__file__)]))
    16
    """
    texts = sorted("\n".join(_code_lines(file.read_text(encoding="utf-8"))) for file in files)
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=8).hexdigest()


def _code_lines(text: str) -> Iterator[str]:
    left_out = set(_docstring_lines(text))
    for number, line in enumerate(text.splitlines(), start=1):
        if number not in left_out and line.strip() and not line.lstrip().startswith("#"):
            yield line.rstrip()


def _docstring_lines(text: str) -> Iterator[int]:
    """Yield the numbers of lines that are texts without any use, such as docstrings."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
