"""What became of the work of an experiment, as a statement of its answer.

Invariant: it stands in the answer as soon as anything is lost or late at any point.
"""

from headroom.analysis.answer.design import setting_of
from headroom.analysis.answer.numbers import has_results
from headroom.analysis.answer_evidence import Losses
from headroom.analysis.results import ExperimentResult, PointResult


def losses_of(experiment: ExperimentResult) -> Losses | None:
    """Return what became of the work at the point that loses most; None if nothing is lost."""
    losing = [point for point in experiment.points if point.outcomes]
    if not losing:
        return None
    worst = max(losing, key=_share)
    return Losses(
        outcome=worst.outcomes[0],
        where=setting_of(experiment, worst),
        points=len(losing),
        judged=sum(map(has_results, experiment.points)),
    )


def _share(point: PointResult) -> float:
    """Return the share of the work of a point that was lost or late."""
    return sum(one.share for one in point.outcomes[0].lost)
