"""JMH: a Java program that writes its results as JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headroom.gate.suites.tool import SECONDS, Call, Choice, Output, Sample, document, with_pairs

_FILE = "results.json"
_BRIEF = {"-f": "1", "-wi": "2", "-w": "200ms", "-i": "3", "-r": "200ms"}


def call(argv: Sequence[str], scratch: Path, choice: Choice) -> Call:
    """Return the command with a file for its results, and one fork of a second for each."""
    names = sorted({name.partition(":")[0] for name in choice.wanted})
    pattern = [Choice(wanted=names).pattern()] if names else []
    options = ["-rf", "json", "-rff", str(scratch / _FILE)]
    return Call(argv=[*with_pairs(argv, _BRIEF), *options, *pattern])


def samples(output: Output) -> list[Sample]:
    """Return the score of each benchmark: the time of an operation, or operations in a second."""
    return [_sample(row) for row in document(output.scratch / _FILE)]


def _sample(row: Mapping[str, Any]) -> Sample:
    levels = ",".join(f"{name}={level}" for name, level in row.get("params", {}).items())
    name = f"{row['benchmark']}:{levels}" if levels else row["benchmark"]
    score, unit = row["primaryMetric"]["score"], row["primaryMetric"]["scoreUnit"]
    over, _, under = unit.partition("/")
    if over == "ops":
        return Sample(
            name=name, metric="rate", value=score / SECONDS[under], unit="1/s", better="high"
        )
    return Sample(name=name, metric="wall_s", value=score * SECONDS[over])
