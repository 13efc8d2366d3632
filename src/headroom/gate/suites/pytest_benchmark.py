"""pytest-benchmark: pytest with its results as JSON."""

from collections.abc import Sequence
from pathlib import Path

from headroom.gate.suites.tool import Call, Choice, Output, Sample, document, with_defaults

_FILE = "results.json"


def call(argv: Sequence[str], scratch: Path, choice: Choice) -> Call:
    """Return the command with a file for its results, a tenth of its usual second each.

    Names of single tests do not replace the folders of a command line, so others are deselected.
    pytest deselects by the beginning of names: what begins a wanted one stays.
    """
    options = {"--benchmark-max-time": "0.1", "--benchmark-min-rounds": "3"}
    words = with_defaults(argv, options)
    words += [
        f"--deselect={name}"
        for name in choice.others
        if not any(one.startswith(name) for one in choice.wanted)
    ]
    return Call(argv=[*words, f"--benchmark-json={scratch / _FILE}"])


def samples(output: Output) -> list[Sample]:
    """Return the median wall time of each benchmark."""
    rows = document(output.scratch / _FILE)["benchmarks"]
    return [
        Sample(name=row["fullname"], metric="wall_s", value=row["stats"]["median"]) for row in rows
    ]
