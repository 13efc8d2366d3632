"""k6: a load driver that exports the summary of its run as JSON."""

from collections.abc import Sequence
from pathlib import Path

from headroom.gate.suites.tool import Call, Choice, Output, Sample, document

_FILE = "summary.json"
_PARTS = ("med", "p(95)")


def call(argv: Sequence[str], scratch: Path, choice: Choice) -> Call:  # noqa: ARG001 - no filter
    """Return the command with a file for its summary; its own options say how long it runs."""
    return Call(argv=[*argv, f"--summary-export={scratch / _FILE}"])


def samples(output: Output) -> list[Sample]:
    """Return median and 95th percentile of each duration, and the iterations in a second."""
    found = []
    for name, metric in document(output.scratch / _FILE)["metrics"].items():
        values = metric.get("values", metric)  # A script's own summary has one level more.
        if name.endswith("_duration"):
            found += [
                Sample(name=f"{name} {part}", metric="wall_s", value=1e-3 * values[part])
                for part in _PARTS
                if part in values
            ]
        elif name == "iterations":
            rate = values["rate"]
            found.append(Sample(name=name, metric="rate", value=rate, unit="1/s", better="high"))
    return found
