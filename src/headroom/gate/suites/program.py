"""Any program: what one process of it takes."""

from headroom.gate.suites.number import call
from headroom.gate.suites.tool import Output, Sample

__all__ = ["call", "samples"]


def samples(output: Output) -> list[Sample]:
    """Return processor and wall time of the process, its children included."""
    return [
        Sample(name="", metric="processor_time_s", value=output.processor_time_s),
        Sample(name="", metric="wall_s", value=output.wall_s),
    ]
