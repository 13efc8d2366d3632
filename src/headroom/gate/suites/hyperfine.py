"""hyperfine: a program that times command lines, with its results as JSON."""

from collections.abc import Sequence
from pathlib import Path

from headroom.gate.suites.tool import Call, Choice, Output, Sample, document, with_pairs

_FILE = "results.json"


def call(argv: Sequence[str], scratch: Path, choice: Choice) -> Call:  # noqa: ARG001 - no filter
    """Return the command with a file for its results, and two runs of each command line."""
    words = with_pairs(argv, {"--runs": "2", "--style": "none"})
    return Call(argv=[*words, "--export-json", str(scratch / _FILE)])


def samples(output: Output) -> list[Sample]:
    """Return processor and wall time of each command line."""
    found = []
    for row in document(output.scratch / _FILE)["results"]:
        name, processor_s = row["command"], row["user"] + row["system"]
        found += [
            Sample(name=name, metric="processor_time_s", value=processor_s),
            Sample(name=name, metric="wall_s", value=row["median"]),
        ]
    return found
