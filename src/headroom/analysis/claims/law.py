"""Compare claims with a law, and find those that the law alone would pass.

A law is arithmetic on a few numbers, such as ``X = min(processors, buffers, disks)``. A claim that
the law passes follows from those numbers and is weak evidence for the simulator. A claim that the
law fails, or cannot answer, needs packets and queues.

Invariant: a claim is put to the law by the very code that puts it to the simulator, with exact
values in the place of samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from headroom.analysis.claims.claim_evidence import Evidence, MeasuredPoint
from headroom.analysis.evidence import MissingEvidence, UnboundedEvidence
from headroom.analysis.results import Basis, ClaimResult, PointResult
from headroom.analysis.statistics.intervals import Sample
from headroom.defects import fallback
from headroom.experiment.protocol.system import HasLaw
from headroom.experiment.study.plan import PlannedExperiment, Point
from headroom.experiment.study.study import Claim

DIGITS = 10
_TWICE = 2
"""Equal values that make a sample without scatter."""


def with_law(result: PointResult, experiment: PlannedExperiment, point: Point) -> PointResult:
    """Return the result of a point with what the law next to its system gives, if there is one."""
    system = experiment.system
    if not isinstance(system, HasLaw) or point.changes:
        return result
    return fallback(
        lambda: msgspec.structs.replace(result, law=_known(system.law(point.config), result)),
        lambda reason: msgspec.structs.replace(
            result, notes=[*result.notes, f"the law says nothing: {reason}"]
        ),
    )


def _known(law: Mapping[str, float], result: PointResult) -> dict[str, float]:
    return {
        metric: float(f"{value:.{DIGITS}g}")
        for metric, value in law.items()
        if metric in result.estimates
    }


def by_law(evidence: Evidence, metric: str, points: Sequence[PointResult]) -> Evidence:
    """Return the evidence of a claim with what the law says in the place of what runs say.

    Parameters
    ----------
    evidence
        What the runs say about the metric.
    metric
        The metric.
    points
        The results of the points of the evidence, in its order.
    """
    exact = [
        MeasuredPoint(one.levels, _exact(point.law, metric))
        for one, point in zip(evidence.points, points, strict=True)
    ]
    return replace(evidence, points=exact)


def _exact(law: Mapping[str, float], metric: str) -> Sample | None:
    return Sample(values=np.full(_TWICE, law[metric])) if metric in law else None


def with_basis(found: ClaimResult, claim: Claim, law: ClaimResult) -> ClaimResult:
    """Return a claim's result with what it rests on.

    Parameters
    ----------
    found
        The result by the runs.
    claim
        The claim.
    law
        The result by the law.
    """
    is_known = not isinstance(law.evidence, MissingEvidence | UnboundedEvidence)
    said = law.verdict if is_known else ""
    return msgspec.structs.replace(found, basis=_basis(claim, said), law=said)


def _basis(claim: Claim, law: str) -> Basis:
    if not claim.published:
        return "own"
    if claim.fitted:
        return "fitted"
    return "arithmetic" if law == "holds" else "simulator"
