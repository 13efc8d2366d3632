"""Points that run with the seeds of another experiment: common random numbers for both.

A prediction that is compared with a measurement must see the very requests that were measured, not
others of the same law: `seeds_of` names the experiment whose seeds it takes, point by point.

Invariant: replication r of a point runs with the seed of replication r of the point that has its
levels; every other point keeps the seed of its own key.
"""

from collections.abc import Sequence
from dataclasses import replace

from headroom.experiment.protocol.agreement import Partners
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.study.file.study_file import LoadedStudy
from headroom.experiment.study.plan import PlannedExperiment
from headroom.experiment.study.variants import Variant


def with_shared_seeds(
    loaded: LoadedStudy, experiments: Sequence[tuple[Variant, PlannedExperiment]]
) -> list[PlannedExperiment]:
    """Return the experiments, those with `seeds_of` with the seeds of the other one.

    Parameters
    ----------
    loaded
        The study, for the place of a mistake.
    experiments
        Those that are planned together.

    Raises
    ------
    StudyError
        The other experiment does not exist, or has no point, or several, with the levels.
    """
    known = {experiment.spec.name: experiment for _, experiment in experiments}
    return [_shared(loaded, variant, experiment, known) for variant, experiment in experiments]


def _shared(
    loaded: LoadedStudy,
    variant: Variant,
    experiment: PlannedExperiment,
    known: dict[str, PlannedExperiment],
) -> PlannedExperiment:
    wanted = experiment.spec.seeds_of
    if not wanted:
        return experiment
    place = variant.key_path("seeds_of")
    other = known.get(wanted)
    if other is None or wanted == experiment.spec.name:
        names = [name for name in known if name != experiment.spec.name]
        raise loaded.error(
            place, f"there is no other experiment {wanted!r}", cure=suggestion(wanted, names)
        )
    partners = Partners([candidate.levels for candidate in other.points], to={})
    points = []
    for point in experiment.points:
        places = partners.of(point.levels)
        if len(places) != 1:
            levels = ", ".join(f"{name} = {level!r}" for name, level in point.levels.items())
            count = "no point" if not places else f"{len(places)} points"
            raise loaded.error(
                place,
                f"experiment {wanted!r} has {count} with {levels or 'any levels'}",
                cure="give both experiments the same factors and levels",
            )
        points.append(replace(point, seed_key=other.points[places[0]].key))
    return replace(experiment, points=tuple(points))
