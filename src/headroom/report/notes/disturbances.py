"""Disturbances of the machine while it was measured, in sentences.

Invariant: restates `PointResult.disturbances`.
"""

from collections.abc import Mapping, Sequence

from headroom.analysis.results import ExperimentResult, PointResult
from headroom.report.words import count_noun, join_words

_CAUSES: Mapping[str, str] = {
    "others": "other programs used up to {} of the processors",
    "steal": "the host took up to {} of the processor time",
    "throttling": "the processor quota was exhausted in up to {} of its periods",
    "swapping": "swapping took up to {} of the time",
    "slower": "processor or memory were up to {} slower than at their fastest",
}


def disturbance_cautions(point: PointResult) -> list[str]:
    """Return the disturbances of the replications of one point, as one sentence."""
    if not point.disturbances:
        return []
    count = _concerned(point)
    return [f"{count} of {count_noun(point.done, 'replication')} disturbed: {causes_of([point])}."]


def disturbance_sentences(experiment: ExperimentResult) -> list[str]:
    """Return how much of a measured experiment was disturbed, by what, and what to do."""
    disturbed = [point for point in experiment.points if point.disturbances]
    if not disturbed:
        return []
    count = sum(_concerned(point) for point in disturbed)
    done = sum(point.done for point in experiment.points)
    where = f", at {len(disturbed)} of {count_noun(len(experiment.points), 'point')}"
    return [
        f"{count:,} of {count_noun(done, 'replication')} ({count / done:.0%}) ran on a disturbed "
        f"machine{where if len(experiment.points) > 1 else ''}: {causes_of(disturbed)}. Intervals "
        "may be wider, and times longer, than on an idle machine: stop what disturbs, then run "
        "again with --fresh."
    ]


def _concerned(point: PointResult) -> int:
    return len(
        {number for disturbance in point.disturbances for number in disturbance.replications}
    )


def causes_of(points: Sequence[PointResult]) -> str:
    """Return the causes at some points, each with its largest share, as a clause."""
    found: dict[str, float] = {}
    for one in (one for point in points for one in point.disturbances):
        found[one.kind] = max(found.get(one.kind, 0.0), one.share)
    return join_words([_CAUSES[kind].format(f"{share:.0%}") for kind, share in found.items()])
