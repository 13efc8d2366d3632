"""The reference pages of the site; code and stored benchmarks are their only source.

They are not kept: the site is built with them (`make site`), and `headroom describe` prints those
that speak of the code.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from headroom.reference.model_builder import model_builder
from headroom.reference.python_front import python_front
from headroom.reference.study_file import study_file
from headroom.reference.systems import systems
from headroom.reference.tables import single_blank_lines
from scripts.reference.command_line import command_line
from scripts.reference.comparisons import comparisons
from scripts.reference.coverage import coverage
from scripts.reference.gates import gates
from scripts.reference.known_answers import known_answers
from scripts.reference.predictions import predictions

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"

PAGES: Mapping[Path, Callable[[], str]] = {
    REFERENCE / name: write
    for name, write in {
        "command-line.md": command_line,
        "study-file.md": study_file,
        "systems.md": systems,
        "model-builder.md": model_builder,
        "python.md": python_front,
        "comparisons.md": comparisons,
        "coverage.md": coverage,
        "gates.md": gates,
        "known-answers.md": known_answers,
        "predictions.md": predictions,
    }.items()
}
"""Place of every generated page among the documents -> what writes its text."""


@cache
def reference_page(place: Path) -> str:
    """Return the text of a generated page."""
    return single_blank_lines(PAGES[place]())


def text_of(page: Path) -> str:
    """Return the text of a page, written by people or generated."""
    return reference_page(page) if page in PAGES else page.read_text(encoding="utf-8")
