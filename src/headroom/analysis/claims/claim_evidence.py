"""What is known of the metric of a claim: points, their samples, and which of them a claim means.

Invariant: whatever keeps a claim from being decided is a `NoEvidenceError` that says why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headroom.analysis.claims.claim_words import Region
from headroom.analysis.results import Margin, PredictedPair, Verdict
from headroom.analysis.statistics.intervals import Interval, Sample
from headroom.analysis.statistics.pairing import RunOfPoint
from headroom.analysis.statistics.versus import Place, Side, place_of
from headroom.experiment.protocol.system import Column, Value
from headroom.experiment.study.study import Claim, Where
from headroom.quantities import format_levels

LEFT_OUT = "not in the quick variant"


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A point as claims see it: its levels, and its sample of the claim's metric if any."""

    levels: Mapping[str, Value]
    sample: Sample | None
    why_absent: str = ""
    """Why there is no sample, where that is known."""
    runs: Sequence[RunOfPoint] = ()
    """Its replications, if the claim compares points."""
    margin: Margin | None = None
    """Of a prediction with fitted parameters: how far it may be off, besides the scatter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the study knows about the metric of a claim.

    Parameters
    ----------
    points
        All points of the claim's experiment, in the order of the study file; empty where the
        experiment was not run.
    unit
        Unit of the metric.
    factor_units
        Unit of each factor.
    column
        Whether the experiment measured.
    is_quick
        Whether only the quick variant was planned: a level that it lacks is left out on purpose.
    to
        Of a claim about two experiments: the same of the other one.
    """

    points: Sequence[MeasuredPoint]
    unit: str = ""
    factor_units: Mapping[str, str] | None = None
    column: Column = Column.MODEL
    is_quick: bool = False
    to: "Evidence | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found for a claim; `ours` is the figure in words."""

    verdict: Verdict
    reason: str
    ours: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    pairs: Sequence[PredictedPair] = ()


class NoEvidenceError(Exception):
    """A claim cannot be decided; the message says why."""


def decide(interval: Interval, region: Region) -> Verdict:
    """Return the verdict of one interval.

    Examples
    --------
    >>> sure = Interval(value=1.0, low=0.9, high=1.1, method="student-t")
    >>> decide(sure, Region(0.5, 2.0)), decide(sure, Region(1.0, 2.0)), decide(sure, Region(2.0))
    ('holds', 'undecided', 'differs')
    """
    return VERDICTS[place_of(interval, low=region.low, high=region.high)]


VERDICTS: Mapping[Place, Verdict] = {
    "inside": "holds",
    "above": "differs",
    "below": "differs",
    "unclear": "undecided",
}


def sample_at(where: Where, claim: Claim, evidence: Evidence) -> Sample:
    """Return the sample of the one point that `where` selects."""
    return side_at(where, claim, evidence).sample


def side_at(where: Where, claim: Claim, evidence: Evidence) -> Side:
    """Return the one point that `where` selects as one side of a comparison."""
    points = selected(where, evidence)
    if len(points) > 1:
        known = format_levels(where)
        raise NoEvidenceError(f"{known} selects {len(points)} points: name more factors in where")
    return side_of(points[0], claim.metric, evidence)


def side_of(point: MeasuredPoint, metric: str, evidence: Evidence) -> Side:
    """Return a point as one side of a comparison."""
    sample = sample_of(point, metric)
    return Side(sample=sample, metric=metric, column=evidence.column, runs=point.runs)


def sample_of(point: MeasuredPoint, metric: str) -> Sample:
    """Return the sample of a point."""
    if point.sample is None:
        why = f": {point.why_absent}" if point.why_absent else ""
        raise NoEvidenceError(f"no figures of {metric} at {format_levels(point.levels)}{why}")
    return point.sample


def selected(where: Where, evidence: Evidence) -> list[MeasuredPoint]:
    """Return the points at `where`, one or more."""
    if not evidence.points:
        raise NoEvidenceError(
            f"{LEFT_OUT}: the experiment" if evidence.is_quick else "the experiment was not run"
        )
    found = [
        point
        for point in evidence.points
        if all(point.levels.get(name) == level for name, level in where.items())
    ]
    if not found:
        raise missing(where, evidence)
    return found


def missing(where: Where, evidence: Evidence) -> NoEvidenceError:
    """Return why no point is at `where`, by the levels that no point has if there are such."""
    known = [point.levels for point in evidence.points]
    lacking = {
        name: level
        for name, level in where.items()
        if not any(levels.get(name) == level for levels in known)
    }
    words = format_levels(lacking or where)
    if evidence.is_quick:
        return NoEvidenceError(f"{LEFT_OUT}: {words}")
    return NoEvidenceError(f"no point with {words} was planned")
