"""A command that prints a number; the last one on stdout counts, and less is better."""

import re
from collections.abc import Sequence
from pathlib import Path

from headroom.gate.suites.tool import Call, Choice, Output, Sample, SuiteFailedError

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def call(argv: Sequence[str], scratch: Path, choice: Choice) -> Call:  # noqa: ARG001 - no options
    """Return the command as it is."""
    return Call(argv=argv)


def samples(output: Output) -> list[Sample]:
    """Return the last number."""
    found = _NUMBER.findall(output.stdout)
    if not found:
        raise SuiteFailedError("the command prints no number", cure="print one, on stdout")
    return [Sample(name="", metric="number", value=float(found[-1]), unit="1")]
