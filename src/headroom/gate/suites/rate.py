"""A command that prints a number of which more is better."""

from dataclasses import replace

from headroom.gate.suites import number
from headroom.gate.suites.number import call
from headroom.gate.suites.tool import Output, Sample

__all__ = ["call", "samples"]


def samples(output: Output) -> list[Sample]:
    """Return the last number."""
    return [replace(one, metric="rate", better="high") for one in number.samples(output)]
