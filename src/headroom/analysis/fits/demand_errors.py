"""Errors of predictions from fitted demands, by the kind of measurement behind the fit.

Response times at low load include wake-ups, cold caches and waits other than processor time.
Processor time itself changes by a factor of two to four up to saturation. The scatter of the
measurements does not show this, so a prediction carries the error that the same procedure had on
other systems. The closer the measurement was to the prediction, the smaller the error. The kind of
evidence is derived from the loads of the source points, or declared by the study.

The error applies to the demand: log D +- t s, where s is the published standard deviation and the
degrees of freedom are one fewer than the published predictions. Past the knee, the throughput
carries the whole error. Below the knee, think times largely determine the throughput, and the model
gives the remaining effect.

Invariant: a prediction at more clients or a higher utilization than measured, or with other
servers, never counts as measured.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

import msgspec
import scipy

from headroom.analysis.evidence import DemandKind
from headroom.experiment.protocol.fit_method import DemandEvidence, LimitName, Load

SATURATED = 0.9
"""Utilization from which a point without think time counts as a burst."""
PAST_KNEE = 0.99
"""Utilization from which alternation helps: that of twice the clients of the knee. At the knee
itself the demand differs from that of a burst by more than alternated runs scatter."""
HELD: frozenset[LimitName] = frozenset(
    {"quota", "thread", "client", "disk", "connections", "lock", "pool"}
)
"""Limits of which an operation holds a place: how long hardly depends on the load."""
PAST_KNEE_HELD = 0.9
"""The same for places: measured at 1.3 and 2 times the knee by `benches.real_systems`."""
SHORT_S = 250e-6
"""Demand (s) below which the wake-ups of clients who think cost about as much as an operation."""
DemandGroup: TypeAlias = Literal["", "held", "short"]
"""Any demand; that of a place that operations hold; a short one that processors limit."""
TOLERANCE = 1.02
"""Ratio to the highest and the lowest measured utilization that still counts as measured."""
FARTHEST = 4.0
"""Times the clients of a burst, either way, from which its demand says nothing about others."""
WAITING = 2
"""Clients for each server, none of whom thinks, that fill a server of unknown utilization."""
FEWEST_VISITS = 3
"""Visits from which a burst counts as alternated with the other measurements."""
PUBLISHED = 0.90
"""Share of the errors within a published factor."""


class DemandError(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The published error of one kind of evidence."""

    count: int
    source: str
    factor: float | None = None
    log_error: float | None = None

    @property
    def spread(self) -> float:
        """Standard deviation of the logarithm of the demand.

        Examples
        --------
        >>> round(published()["low-load"].spread, 3)
        0.616
        """
        if self.log_error is not None:
            return self.log_error
        if self.factor is None:
            raise ValueError(f"neither factor nor log_error of {self.source!r}")
        quantile = float(scipy.special.stdtrit(self.degrees, 0.5 + PUBLISHED / 2.0))
        return math.log(self.factor) / quantile

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the spread."""
        return self.count - 1


@cache
def published() -> dict[str, DemandError]:
    """Return the published errors by kind of evidence."""
    text = (files("headroom.analysis.fits") / "demand_errors.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=dict[str, DemandError])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a prediction is from what was measured.

    Parameters
    ----------
    kind
        Kind of evidence that the prediction rests on.
    measured, predicted
        Loads of the source points, and of the predicted point.
    group
        Demands that change with load in their own way.
    """

    kind: DemandKind
    measured: Sequence[Load]
    predicted: Load
    group: DemandGroup = ""

    @property
    def error(self) -> DemandError:
        """The published error of this kind, and of the group if it has its own."""
        known = published()
        return known.get(f"{self.kind}-{self.group}") or known[self.kind]


def reach_of(
    predicted: Load,
    measured: Sequence[Load],
    declared: DemandEvidence = "automatic",
    group: DemandGroup = "",
) -> Reach:
    """Return which evidence there is for a point.

    Examples
    --------
    >>> low = [Load(clients=n, think_s=0.0, utilization=0.1 * n, servers=(2,)) for n in (1, 4)]
    >>> reach_of(Load(clients=96, think_s=0.0, utilization=1.0, servers=(2,)), low).kind
    'low-load'
    >>> reach_of(Load(clients=2, think_s=0.0, utilization=0.2, servers=(2,)), low).kind
    'measured'
    >>> burst = [Load(clients=96, think_s=0.0, utilization=1.0, servers=(2,), visits=3)]
    >>> [
    ...     reach_of(Load(clients=n, think_s=0.1, utilization=u, servers=(2,)), burst).kind
    ...     for n, u in ((96, 0.995), (96, 0.9), (48, 0.995), (8, 0.9))
    ... ]
    ['alternated-burst', 'target-burst', 'burst', 'low-load']
    >>> nearly = Load(clients=96, think_s=0.1, utilization=0.95, servers=(2,))
    >>> reach_of(nearly, burst).kind, reach_of(nearly, burst, group="held").kind
    ('target-burst', 'alternated-burst')
    """
    past_knee = PAST_KNEE_HELD if group == "held" else PAST_KNEE
    kind = _kind(predicted, measured, declared, past_knee)
    return Reach(kind=kind, measured=tuple(measured), predicted=predicted, group=group)


def group_of(limit: LimitName, demand_s: float) -> DemandGroup:
    """Return which demands change as this one does.

    Examples
    --------
    >>> group_of("pool", 0.004), group_of("processors", 0.004), group_of("processors", 40e-6)
    ('held', '', 'short')
    """
    if limit in HELD:
        return "held"
    return "short" if limit == "processors" and demand_s < SHORT_S else ""


def _kind(
    predicted: Load, measured: Sequence[Load], declared: DemandEvidence, past_knee: float
) -> DemandKind:
    if not measured or any(one.servers != predicted.servers for one in measured):
        return "low-load"
    bursts = [one for one in measured if one.clients != 1 and _is_burst(one)]
    if bursts and all(one.clients == 1 or one in bursts for one in measured):
        measured = bursts  # one client shows what an operation costs, not a load
    if _is_within(predicted, measured) and not all(map(_is_burst, measured)):
        return "alternated" if _is_alternated(measured) else "measured"
    return declared if declared != "automatic" else _found(predicted, measured, past_knee)


def _is_within(predicted: Load, measured: Sequence[Load]) -> bool:
    """Return whether utilization and clients are between those of measured points."""
    busy = [one.utilization for one in measured if one.utilization is not None]
    if predicted.utilization is None or not busy:
        return False
    if not min(busy) / TOLERANCE <= predicted.utilization <= TOLERANCE * max(busy):
        return False
    if predicted.clients is None:
        return True
    clients = [one.clients for one in measured if one.clients is not None]
    if not clients or not min(clients) <= predicted.clients <= max(clients):
        return False
    # Without think time the clients alone saturate: points with think time do not show that.
    return predicted.think_s != 0.0 or any(one.think_s == 0.0 for one in measured)


def _found(predicted: Load, measured: Sequence[Load], past_knee: float) -> DemandKind:
    """Return the kind of evidence for a point beyond the measured loads."""
    if predicted.clients is None or not all(map(_is_burst, measured)):
        return "low-load"
    ratios = [(one.clients or 0) / predicted.clients for one in measured]
    near = [ratio for ratio in ratios if 1.0 / FARTHEST <= ratio <= FARTHEST]
    if near and all(ratio == 1.0 for ratio in near):
        is_past_knee = predicted.utilization is not None and predicted.utilization >= past_knee
        return "alternated-burst" if is_past_knee and _is_alternated(measured) else "target-burst"
    return "burst" if near else "low-load"


def _is_alternated(measured: Sequence[Load]) -> bool:
    return all(one.visits >= FEWEST_VISITS for one in measured)


def _is_burst(load: Load) -> bool:
    if load.think_s != 0.0:
        return False
    if load.utilization is not None:
        return load.utilization >= SATURATED
    # Formulas do not know every model; clients in line without a pause fill any.
    return (load.clients or 0) > WAITING * max(load.servers, default=math.inf)
