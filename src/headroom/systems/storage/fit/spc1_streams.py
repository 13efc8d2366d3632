"""The eight streams of the SPC-1-like workload as laws: rates, reads, sizes.

A device without positions does not see addresses, so the walks and runs of the streams are left
out here; rates, kinds and lengths follow the same laws as the requests of the measured column.

Source: Gill and others, FAST 2005 and USENIX 2007, "SPC-1 Like"; Daniel and Faith, IISWC 2005.
"""

from dataclasses import dataclass

KIB = 1024
BSU_PER_S = 50.0
"""Requests per second of one business scaling unit."""
MIXED_BYTES = (4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB)
MIXED_WEIGHTS = (0.40, 0.24, 0.20, 0.08, 0.08)


@dataclass(frozen=True, slots=True)
class Spc1Stream:
    """One stream: its share of all requests, its share of reads, and whether sizes are mixed."""

    name: str
    intensity: float
    read_share: float
    has_mixed_sizes: bool


SPC1_STREAMS = (
    Spc1Stream("asu1-1", 0.035, 0.5, has_mixed_sizes=False),
    Spc1Stream("asu1-2", 0.281, 0.5, has_mixed_sizes=False),
    Spc1Stream("asu1-3", 0.070, 1.0, has_mixed_sizes=True),
    Spc1Stream("asu1-4", 0.210, 0.5, has_mixed_sizes=False),
    Spc1Stream("asu2-5", 0.018, 0.3, has_mixed_sizes=False),
    Spc1Stream("asu2-6", 0.070, 0.3, has_mixed_sizes=False),
    Spc1Stream("asu2-7", 0.035, 1.0, has_mixed_sizes=True),
    Spc1Stream("asu3-8", 0.281, 0.0, has_mixed_sizes=True),
)
