"""google-benchmark: a program that writes its results as JSON."""

from collections.abc import Sequence
from pathlib import Path

from headroom.gate.suites.tool import (
    SECONDS,
    Call,
    Choice,
    Output,
    Sample,
    document,
    with_defaults,
)

_FILE = "results.json"


def call(argv: Sequence[str], scratch: Path, choice: Choice) -> Call:
    """Return the command with a file for its results, a tenth of its usual 0.5 s each."""
    options = {"--benchmark_min_time": "0.05"}  # Without a unit: versions before 1.8 know none.
    words = with_defaults(argv, options)
    if choice.wanted:
        words.append(f"--benchmark_filter={choice.pattern()}")
    words += [f"--benchmark_out={scratch / _FILE}", "--benchmark_out_format=json"]
    return Call(argv=words)


def samples(output: Output) -> list[Sample]:
    """Return processor and wall time of each benchmark; aggregates are made of these."""
    found = []
    for row in document(output.scratch / _FILE)["benchmarks"]:
        if row.get("run_type", "iteration") != "iteration" or row.get("error_occurred"):
            continue
        name, scale = row.get("run_name", row["name"]), SECONDS[row.get("time_unit", "ns")]
        found += [
            Sample(name=name, metric="processor_time_s", value=scale * row["cpu_time"]),
            Sample(name=name, metric="wall_s", value=scale * row["real_time"]),
        ]
    return found
