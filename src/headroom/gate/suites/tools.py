"""The tools by name."""

from collections.abc import Mapping

from headroom.errors import StudyError
from headroom.gate.suites import (
    criterion,
    go_test,
    google_benchmark,
    hyperfine,
    jmh,
    k6,
    number,
    program,
    pytest_benchmark,
    rate,
)
from headroom.gate.suites.tool import Tool

TOOLS: Mapping[str, Tool] = {
    "criterion": criterion,
    "go": go_test,
    "google-benchmark": google_benchmark,
    "hyperfine": hyperfine,
    "jmh": jmh,
    "k6": k6,
    "number": number,
    "program": program,
    "pytest-benchmark": pytest_benchmark,
    "rate": rate,
}
UNFILTERED = {"hyperfine", "k6", "number", "program", "rate"}
"""Tools whose processes have all of their rows or none."""
SHORTENED = TOOLS.keys() - UNFILTERED
"""Tools that are told to take a tenth of their usual time."""


def tool_of(name: str) -> Tool:
    """Return the tool of a name."""
    if name not in TOOLS:
        raise StudyError(f"no such tool: `{name}`", cure=f"choose among {', '.join(TOOLS)}")
    return TOOLS[name]
