"""What a system says of the points of an experiment: always the same, and not the same of each."""

from collections.abc import Mapping, Sequence

from headroom.errors import HeadroomError
from headroom.experiment.protocol.system import HasLaw, Modelled, System, Value
from headroom.experiment.study.file.study_file import LoadedStudy
from headroom.experiment.study.plan import Point
from headroom.experiment.study.variants import Variant


def check_points(
    loaded: LoadedStudy,
    variant: Variant,
    system: System,
    points: Sequence[Point],
    groups: Sequence[Sequence[Mapping[str, Value]]],
) -> None:
    """Refuse a system that differs at each look, and a factor that changes no model.

    Parameters
    ----------
    loaded, variant
        Where messages point.
    system, points
        The system, and its points with their contents.
    groups
        The steps of each group of factors that move together.
    """
    _check_repeatable(loaded, variant, system, points[0])
    if isinstance(system, Modelled) and not _has_law(system, points[0]):
        for steps in groups:
            _check_used(loaded, variant, points, [*steps[0]])


def _has_law(system: System, point: Point) -> bool:
    """Return whether a law may read factors that the model does not."""
    try:
        return isinstance(system, HasLaw) and bool(system.law(point.config))
    except HeadroomError:  # A law that fails costs no result, and is told where it is shown.
        return True


def _check_repeatable(loaded: LoadedStudy, variant: Variant, system: System, point: Point) -> None:
    """Refuse a system that differs at each look: no row could be reused."""
    # A system that keeps what it describes is asked to describe it again.
    fingerprint = getattr(system, "fingerprint_anew", system.fingerprint)
    if fingerprint(point.config) != point.content:
        raise loaded.error(
            variant.key_path("system"),
            "the system describes the same point differently each time, so no result could ever "
            "be reused",
            cure="let a model depend on its arguments alone: no random numbers, no clock, "
            "no variable that build() changes",
        )


def _check_used(
    loaded: LoadedStudy, variant: Variant, points: Sequence[Point], names: Sequence[str]
) -> None:
    """Refuse factors all of whose levels give one model, whatever the others are."""
    contents: dict[str, set[str]] = {}
    for point in points:
        rest = {name: level for name, level in point.levels.items() if name not in names}
        contents.setdefault(repr(rest), set()).add(point.content)
    steps = {repr([point.levels[name] for name in names]) for point in points}
    if len(steps) > 1 and all(len(own) == 1 for own in contents.values()):
        what = " and ".join(map(repr, names))
        raise loaded.error(
            variant.key_path("factors"),
            f"the model is the same at all levels of {what}",
            cure="use the argument in the model function, or leave the factor out; more runs of "
            "one point are replications",
        )
