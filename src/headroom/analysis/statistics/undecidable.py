"""Questions that a plan can never decide because it has too few replications.

Intervals of measured runs come from ranks, so their minimum number of runs follows from the
confidence alone: six for one median at 95%, more if several comparisons must hold together.

Invariant: what is named here has no interval after all planned replications, whatever they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from headroom.analysis.statistics.dispersion import FEWEST, SPREADS
from headroom.analysis.statistics.extremes import fewest_for_extreme
from headroom.analysis.statistics.intervals import CONFIDENCE
from headroom.analysis.statistics.signed_ranks import fewest_pairs
from headroom.experiment.protocol.agreement import Partners
from headroom.experiment.protocol.system import Column, Replays, Value
from headroom.experiment.study.plan import Plan, PlannedExperiment
from headroom.experiment.study.study import (
    AgreementClaim,
    Claim,
    ErrorsClaim,
    FlatClaim,
    MonotoneClaim,
    OrderingClaim,
    ValueClaim,
)

RESPONSES_SHOWN = 3
"""Metrics that are shown first, and compared, where a study names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecidable:
    """A question of an experiment, and how many replications it needs at least."""

    question: Literal["median", "comparison", "claim"]
    needs: int
    metrics: int = 0
    """Of a comparison."""
    base: Value | None = None
    """Of a comparison."""
    claim: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooFewReplications:
    """The replications that are planned, and the questions that need more."""

    planned: int
    key: str
    """The key of the study that sets their number."""
    questions: tuple[Undecidable, ...]

    @property
    def needs(self) -> int:
        """Replications that would do for all questions."""
        return max(one.needs for one in self.questions)


def undecidable(plan: Plan) -> dict[str, TooFewReplications]:
    """Return the experiments that have too few replications for their questions, by name.

    Parameters
    ----------
    plan
        The experiments that are planned.
    """
    found = {}
    for experiment in plan.experiments:
        if isinstance(experiment.system, Replays):
            continue  # No setting adds a recorded run.
        planned = experiment.most_replications
        short = [question for question in _questions(experiment, plan) if question.needs > planned]
        if short:
            table = "quick.replications" if plan.is_quick else "replications"
            key = "count" if experiment.spec.replications.count is not None else "maximum"
            found[experiment.spec.name] = TooFewReplications(
                planned=planned, key=f"{table}.{key}", questions=tuple(short)
            )
    return found


def _questions(experiment: PlannedExperiment, plan: Plan) -> Iterator[Undecidable]:
    """Yield the questions about an experiment, with the replications that each needs."""
    if experiment.system.column is Column.MEASURE:
        yield Undecidable(question="median", needs=_together(1))
        compare = experiment.spec.compare
        if compare is not None:
            count = len(compare.metrics or experiment.spec.responses) or _shown(experiment)
            yield Undecidable(
                question="comparison", needs=_together(count), metrics=count, base=compare.base
            )
    for claim in plan.study.claims:
        needs = _needed(claim, experiment, plan)
        if needs:
            yield Undecidable(question="claim", needs=needs, claim=claim.name)


def _shown(experiment: PlannedExperiment) -> int:
    """Return how many metrics are compared where the study names none."""
    return len(experiment.system.metrics(experiment.points[0].config)[:RESPONSES_SHOWN])


def _together(questions: int) -> int:
    """Return the fewest runs for intervals that hold together: the extremes enclose a median."""
    return fewest_pairs(1.0 - (1.0 - CONFIDENCE) / max(questions, 1))


def _needed(claim: Claim, experiment: PlannedExperiment, plan: Plan) -> int:
    """Return the replications of an experiment that a claim needs at least; 0 if that is open."""
    name, is_measured = experiment.spec.name, experiment.system.column is Column.MEASURE
    if name not in {claim.experiment, getattr(claim, "to_experiment", "")}:
        return 0
    metric = claim.metric if name == claim.experiment else getattr(claim, "to_metric", "")
    if experiment.derived_named(metric or claim.metric) is not None:
        return 0
    statistic = getattr(claim, "statistic", "centre")
    if isinstance(claim, ValueClaim) and claim.extreme_of is not None:
        return fewest_for_extreme(claim.extreme_of)
    if statistic in SPREADS:
        return FEWEST
    if statistic != "median" and not (is_measured and statistic == "centre"):
        return 0
    return _together(_comparisons(claim, plan))


def _comparisons(claim: Claim, plan: Plan) -> int:
    """Return how many intervals of a claim must hold together."""
    experiments = {experiment.spec.name: experiment for experiment in plan.experiments}
    own = experiments.get(claim.experiment)
    match claim:
        case AgreementClaim() | ErrorsClaim():
            return _met(claim, own, experiments.get(claim.to_experiment))
        case OrderingClaim():
            return len(claim.order) - 1
        case MonotoneClaim():
            return _levels(own, claim.factor) - 1
        case FlatClaim():
            return 2 * _levels(own, claim.factor, claim.start, claim.stop)
        case _:
            return 1


def _met(
    claim: AgreementClaim | ErrorsClaim,
    own: PlannedExperiment | None,
    other: PlannedExperiment | None,
) -> int:
    """Return how many points of both experiments meet."""
    if own is None or other is None:
        return 1
    partners = Partners([point.levels for point in other.points], to=claim.to)
    return sum(
        bool(partners.of(point.levels))
        for point in own.points
        if all(point.levels.get(name) == level for name, level in claim.where.items())
    )


def _levels(
    experiment: PlannedExperiment | None,
    factor: str,
    start: float | None = None,
    stop: float | None = None,
) -> int:
    """Return how many levels of a numeric factor lie in a range."""
    factors = {one.name: one for one in experiment.factors} if experiment else {}
    found = factors.get(factor)
    if found is None:
        return 1
    levels = [float(level) for level in found.levels if not isinstance(level, str)]
    return sum(
        (start is None or level >= start) and (stop is None or level <= stop) for level in levels
    )
