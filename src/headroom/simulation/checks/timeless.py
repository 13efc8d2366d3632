"""Jobs that would loop indefinitely at one instant: rejected before the run, with their line."""

from headroom.simulation.checks.controllers import changes_of
from headroom.simulation.checks.parsed import Parsed
from headroom.simulation.checks.structure import Acquire, AttemptBlock, Delay, Node, Use, walk
from headroom.simulation.errors import SimulationError
from headroom.simulation.language.amounts import Amount
from headroom.simulation.language.classes import JobClass
from headroom.simulation.laws.distribution import Distribution


def refuse_timeless(parsed: Parsed) -> None:
    """Raise `SimulationError` if a closed class walks its program in no time, again and again.

    Only certain cases are refused: every service and delay on the way is the number 0, no other job
    makes it wait, and it does not think.
    """
    model = parsed.model
    slow = _slow_stations(parsed)
    stuck = {
        class_.name
        for class_ in model.classes.values()
        if class_.population is not None
        and not _thinks(class_)
        and _is_timeless(parsed, class_, slow)
    }
    for job_class in model.classes.values():
        members = {other.name for other in model.classes.values() if other.mix == job_class.mix}
        if job_class.name in stuck and (not job_class.mix or members <= stuck):
            raise SimulationError(
                f"{job_class.location}: jobs of class {job_class.name!r} make no progress in "
                "time: they do not think, and every service and delay of program "
                f"{job_class.program!r} takes 0, so that they would walk it without end at time 0",
                cure="give a step of the program, or think=, a time above 0",
            )


def _thinks(job_class: JobClass) -> bool:
    return job_class.law is not None and job_class.law.mean > 0


def _is_timeless(parsed: Parsed, job_class: JobClass, slow: frozenset[str]) -> bool:
    nodes = [
        node for name in parsed.reached_from(job_class.program) for node in walk(parsed.trees[name])
    ]
    return all(_takes_no_time(node, slow) for node in nodes)


def _takes_no_time(node: Node, slow: frozenset[str]) -> bool:
    match node:
        case Use():
            return node.station not in slow
        case Delay():
            return _is_zero(node.time)
        case Acquire():
            return False
        case AttemptBlock():
            return node.pause is None or _is_zero(node.pause)
    return True


def _slow_stations(parsed: Parsed) -> frozenset[str]:
    """Return the stations at which a job may spend time."""
    nodes = (node for tree in parsed.trees.values() for node in walk(tree))
    served = {
        node.station for node in nodes if isinstance(node, Use) and not _is_zero(node.service)
    }
    changed = {change.name for change in changes_of(parsed) if change.kind == "servers"}
    batched = {
        station.name for station in parsed.model.stations.values() if station.batch is not None
    }
    return frozenset(served | changed | batched | set(parsed.model.breakdowns_of))


def _is_zero(amount: Amount) -> bool:
    return isinstance(amount, Distribution) and amount.mean == 0
