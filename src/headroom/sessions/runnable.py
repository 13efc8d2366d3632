"""Check that the points of a plan can run here, before anything is written or started."""

from collections.abc import Callable, Mapping

from headroom.errors import HeadroomError
from headroom.experiment.protocol.system import ChecksFiles, ChecksPoints, System, Value
from headroom.experiment.runner.hosts import host_of
from headroom.experiment.study.plan import Plan, Point
from headroom.quantities import format_levels
from headroom.report.words import count_noun


def check_points(plan: Plan) -> None:
    """Raise what the system says of the first point that cannot run, and count the others.

    Points whose parameters are still to be fitted are asked too: a fit changes no table and no
    file. Those of another host are not: its files and its memory are there.
    """
    refused: list[tuple[Point, HeadroomError]] = []
    for experiment in plan.experiments:
        check = None if host_of(experiment) else _check_of(experiment.system)
        if check is None:
            continue
        for point in experiment.points:
            try:
                check(point.config)
            except HeadroomError as error:
                refused.append((point, error))
    if refused:
        raise _named(refused)


def _check_of(system: System) -> Callable[[Mapping[str, Value]], None] | None:
    """Return the check that makes nothing: what checks files keeps the rest for the run."""
    if isinstance(system, ChecksFiles):
        return system.check_files
    return system.check_point if isinstance(system, ChecksPoints) else None


def _named(refused: list[tuple[Point, HeadroomError]]) -> HeadroomError:
    (point, first), *others = refused
    levels = f", {format_levels(point.levels)}" if point.levels else ""
    also = f"; {count_noun(len(others), 'more point')} cannot run" if others else ""
    message = f"experiment {point.experiment!r}{levels}: {first.message}{also}"
    return type(first)(message, cure=first.cure)
