"""Evidence for the metric of a claim: its points, their samples, and which points it covers.

Invariant: whatever keeps a claim from being decided is a `NoEvidenceError` with its reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headroom.analysis.evidence import Absent, Allowed, ClaimEvidence, MissingEvidence
from headroom.analysis.results import Margin, PredictedPair, Verdict
from headroom.analysis.statistics.intervals import Interval, Sample
from headroom.analysis.statistics.pairing import RunOfPoint
from headroom.analysis.statistics.versus import Place, Side, place_of
from headroom.experiment.protocol.system import Column, Value
from headroom.experiment.study.study import Claim, Where

INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Region:
    """The range that a claim allows: all numbers from `low` to `high`, both included."""

    low: float = -INFINITY
    high: float = INFINITY

    def allowed(self) -> Allowed:
        """Return this region in the form that a result keeps, where an open side is None."""
        return Allowed(
            low=None if self.low == -INFINITY else self.low,
            high=None if self.high == INFINITY else self.high,
        )


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A point as claims see it: its levels, and its sample of the claim's metric if any."""

    levels: Mapping[str, Value]
    sample: Sample | None
    why_absent: Absent | None = None
    """Why there is no sample, where that is known."""
    runs: Sequence[RunOfPoint] = ()
    """Its replications, if the claim compares points."""
    margin: Margin | None = None
    """Of a prediction with fitted parameters: its possible error, in addition to the scatter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of the study for the metric of a claim.

    Parameters
    ----------
    points
        All points of the claim's experiment, in the order of the study file; empty if the
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
    over
        Of a derived metric: factors in which a point differs from those it is compared with.
    """

    points: Sequence[MeasuredPoint]
    unit: str = ""
    factor_units: Mapping[str, str] | None = None
    column: Column = Column.MODEL
    is_quick: bool = False
    to: "Evidence | None" = None
    over: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of a claim."""

    verdict: Verdict
    evidence: ClaimEvidence
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    pairs: Sequence[PredictedPair] = ()


class NoEvidenceError(Exception):
    """A claim cannot be decided.

    Parameters
    ----------
    missing
        Why.
    """

    def __init__(self, missing: MissingEvidence) -> None:
        super().__init__(missing.code)
        self.missing = missing


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
        raise NoEvidenceError(
            MissingEvidence(code="several_points", levels=dict(where), count=len(points))
        )
    return side_of(points[0], claim.metric, evidence)


def side_of(point: MeasuredPoint, metric: str, evidence: Evidence) -> Side:
    """Return a point as one side of a comparison."""
    sample = sample_of(point, metric)
    return Side(sample=sample, metric=metric, column=evidence.column, runs=point.runs)


def sample_of(point: MeasuredPoint, metric: str) -> Sample:
    """Return the replications of a metric at a point; raise `NoEvidenceError` if it has none."""
    if point.sample is None:
        raise NoEvidenceError(
            MissingEvidence(
                code="no_results",
                metric=metric,
                levels=dict(point.levels),
                absent=point.why_absent,
            )
        )
    return point.sample


def selected(where: Where, evidence: Evidence) -> list[MeasuredPoint]:
    """Return the points at `where`, one or more."""
    if not evidence.points:
        raise NoEvidenceError(MissingEvidence(code="not_run", is_quick=evidence.is_quick))
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
    return NoEvidenceError(
        MissingEvidence(
            code="not_planned", levels=dict(lacking or where), is_quick=evidence.is_quick
        )
    )
