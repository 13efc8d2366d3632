"""Write the reference pages; the code is their only source.

`make docs` writes the pages to `docs/reference/`, and a test compares them with the code.
"""

from collections.abc import Callable
from pathlib import Path

from scripts.reference.command_line import command_line
from scripts.reference.comparisons import comparisons
from scripts.reference.coverage import coverage
from scripts.reference.gates import gates
from scripts.reference.model_builder import model_builder
from scripts.reference.predictions import predictions
from scripts.reference.python_front import python_front
from scripts.reference.study_file import study_file
from scripts.reference.systems import systems

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "command-line.md": command_line,
    "study-file.md": study_file,
    "systems.md": systems,
    "model-builder.md": model_builder,
    "python.md": python_front,
    "comparisons.md": comparisons,
    "coverage.md": coverage,
    "gates.md": gates,
    "predictions.md": predictions,
}
"""File name of every generated page -> what writes its text."""


def reference_page(name: str) -> str:
    """Return the text of a generated page."""
    return _single_blank_lines(PAGES[name]())


def _single_blank_lines(text: str) -> str:
    lines = text.rstrip().splitlines()
    kept = [line for line, before in zip(lines, ["x", *lines], strict=False) if line or before]
    return "\n".join(kept) + "\n"
