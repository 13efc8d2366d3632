"""How far predictions of real systems were off: the measured case that is closest to a fit.

`python -m benches.real_systems` measures the cases and writes the file that is read here.

Invariant: a case says what was measured before; it changes no prediction.
"""

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import msgspec

from headroom.analysis.results import MeasuredSystem
from headroom.experiment.protocol.fit_method import FittedSet, ServiceEvidence

QUIET = 0.1
"""Share of the processors up to which other programs count as nobody."""


FILE = "measured_systems.json"


@cache
def measured_systems() -> tuple[MeasuredSystem, ...]:
    """Return all measured systems."""
    content = (files("headroom.analysis.fits") / FILE).read_bytes()
    return msgspec.json.decode(content, type=tuple[MeasuredSystem, ...])


def closest_system(
    one: FittedSet, systems: Sequence[MeasuredSystem] | None = None
) -> MeasuredSystem | None:
    """Return the measured system that is closest to a fitted one; None if none compares.

    It was fitted from the same kind of points and has the same limit. Of several, those with
    neighbours alike come first, then clients alike, then the demand of an operation.
    """
    evidence = one.found.evidence
    if not isinstance(evidence, ServiceEvidence) or one.origin != "measured":
        return None
    some = measured_systems() if systems is None else systems
    alike = [s for s in some if (s.basis, s.limit) == (evidence.basis, evidence.limit)]
    clients = max((load.clients for load in one.loads if load.clients is not None), default=None)
    demand = next((p.value for p in one.found.parameters if p.name == "service_s"), None)
    is_quiet = (evidence.neighbours or 0.0) <= QUIET

    def distance(system: MeasuredSystem) -> tuple[bool, float, float]:
        return (
            (system.neighbours <= QUIET) != is_quiet,
            round(_factor(system.clients, clients), 1),
            _factor(system.service_s, demand),
        )

    return min(alike, key=distance, default=None)


def _factor(measured: float, asked: object) -> float:
    """Return how far two sizes are apart, as a logarithm; 0 if one is unknown."""
    if not isinstance(asked, int | float) or min(measured, asked) <= 0.0:
        return 0.0
    return abs(math.log(measured / asked))
