"""Points added to an experiment after its own points have run.

An added point is identical to the point that the study would have if it named the level: same
experiment, same key, same seeds. Naming the level later therefore reuses its rows; only the plan
marks the point.

Invariant: points and levels stay in the order of the study, added levels of a rising factor between
their neighbours.
"""

from collections.abc import Iterable
from dataclasses import replace

from headroom.experiment.protocol.system import Value
from headroom.experiment.study.fit_plan import fingerprint_of
from headroom.experiment.study.plan import FactorSpec, PlannedExperiment, Point
from headroom.experiment.study.seeds import point_key


def added_point(
    experiment: PlannedExperiment, like: Point, factor: FactorSpec, level: Value
) -> Point:
    """Return the point with another level of one factor.

    Parameters
    ----------
    experiment
        The experiment.
    like
        A point of it with the same levels of all other factors.
    factor, level
        The factor and its new level.

    Raises
    ------
    HeadroomError
        The system does not accept the level.
    """
    value = factor.parameter.check(level)
    levels = {**like.levels, factor.name: value}
    config = {**like.config, factor.name: value}
    seeds_of = experiment.spec.seeds_of
    content = experiment.system.fingerprint(config)
    return Point(
        experiment=experiment.spec.name,
        key=point_key(experiment.spec.name, levels),
        levels=levels,
        config=config,
        fingerprint=fingerprint_of(experiment.system, config, content),
        content=content,
        seed_key=point_key(seeds_of, levels) if seeds_of else "",
    )


def with_added(experiment: PlannedExperiment, added: Iterable[Point]) -> PlannedExperiment:
    """Return the experiment with more points, their levels among those of its factors."""
    new = list(added)
    factors = tuple(_with_levels(factor, new) for factor in experiment.factors)
    steps = [_steps(factor, factors) for factor in factors]
    points = sorted(
        (*experiment.points, *new),
        key=lambda point: [
            ranks[tuple(point.levels[name] for name in names)] for names, ranks in steps
        ],
    )
    return replace(
        experiment,
        factors=factors,
        points=tuple(points),
        added=experiment.added | {point.key for point in new},
    )


def _steps(
    factor: FactorSpec, factors: Iterable[FactorSpec]
) -> tuple[tuple[str, ...], dict[tuple[Value, ...], int]]:
    """Return a factor with those that move together, and the place of each of their steps."""
    together = [factor, *(other for other in factors if other.name in factor.zipped_with)]
    steps = zip(*(member.levels for member in together), strict=True)
    return tuple(member.name for member in together), {step: n for n, step in enumerate(steps)}


def _with_levels(factor: FactorSpec, added: Iterable[Point]) -> FactorSpec:
    missing = dict.fromkeys(
        point.levels[factor.name]
        for point in added
        if point.levels[factor.name] not in factor.levels
    )
    levels = [*factor.levels, *missing]
    is_rising = factor.is_numeric and list(factor.levels) == sorted(factor.levels, key=float)
    return replace(
        factor, levels=tuple(sorted(levels, key=float) if missing and is_rising else levels)
    )
