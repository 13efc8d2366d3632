"""Which points of a prediction were measured to differ by more than the noise of replications.

Points that differ only in the factors that a claim compares form a group, such as the sizes of one
table. A rank correlation over groups of equal values is that of their noise.

Invariant: only what was measured decides, never the prediction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import scipy

from headroom.analysis.claims.claim_evidence import Evidence, MeasuredPoint
from headroom.analysis.derived.quantity import Cell, measured_cell
from headroom.analysis.evidence import WithinNoise
from headroom.analysis.results import PredictedPair
from headroom.analysis.statistics.equality import p_value_of_equality
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.study import ErrorsClaim

FALSE_RATE = 0.05
"""Share of the groups that count, at most, whose values are equal."""
_FEWEST = 2
_Group: TypeAlias = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeyondNoise:
    """The pairs of groups that differ beyond noise, and how many were left out."""

    pairs: Sequence[PredictedPair]
    left_out: WithinNoise


def beyond_noise(
    claim: ErrorsClaim,
    pairs: Sequence[PredictedPair],
    measured: Sequence[MeasuredPoint],
    evidence: Evidence,
) -> BeyondNoise:
    """Return the pairs whose group was measured to differ.

    Parameters
    ----------
    claim
        The claim.
    pairs
        Predicted and measured values of all points.
    measured
        The same points as they were measured.
    evidence
        What was measured.
    """
    over = frozenset(claim.reference) or evidence.over
    groups: dict[_Group, list[MeasuredPoint]] = {}
    for point in measured:
        groups.setdefault(_group(point.levels, over), []).append(point)
    values = [_p_value(claim, points) for points in groups.values()]
    adjusted = scipy.stats.false_discovery_control(values) if values else []
    kept = {group for group, value in zip(groups, adjusted, strict=True) if value <= FALSE_RATE}
    found = [pair for pair in pairs if _group(pair.to_levels, over) in kept]
    left_out = WithinNoise(
        factors=sorted(over),
        groups=len(groups),
        left_out=len(groups) - len(kept),
        points=len(pairs) - len(found),
    )
    return BeyondNoise(pairs=found, left_out=left_out)


def _group(levels: Mapping[str, Value], over: frozenset[str]) -> _Group:
    return tuple((name, level) for name, level in levels.items() if name not in over)


def _p_value(claim: ErrorsClaim, points: Sequence[MeasuredPoint]) -> float:
    """Return how probable the differences of a group are by chance; 1 if that is unknown."""
    cells = [_cell(claim, point, place) for place, point in enumerate(points)]
    if len(cells) < _FEWEST or any(cell.parts is None for cell in cells):
        return 1.0
    return p_value_of_equality([cell.value for cell in cells], [cell.parts or {} for cell in cells])


def _cell(claim: ErrorsClaim, point: MeasuredPoint, place: int) -> Cell:
    """Return a measured value with its error, whose parts a derived quantity knows already."""
    sample = point.sample
    if sample is not None and sample.parts is not None:
        return Cell(levels=point.levels, value=sample.value, parts=sample.parts)
    metric = claim.to_metric or claim.metric
    return measured_cell(
        point.levels, sample, name=str(place), quantity=metric, statistic=claim.statistic
    )
