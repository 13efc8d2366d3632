"""Data that a run would overwrite: listed before it starts, and confirmed by typed words.

Invariant: words come from this very call, never from a study, so no study that
somebody else wrote can destroy anything.
"""

from collections.abc import Sequence

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.machine.shell import one_spaced, quoted
from headroom.experiment.protocol.system import Confirmation, Destructive, Foresees
from headroom.experiment.runner.hosts import host_of
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point


def foresight(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the planned consumption of the run of each point, by key of the point."""
    return {
        point.key: experiment.system.foresight(point.config)
        for experiment in _here(plan)
        if isinstance(experiment.system, Foresees)
        for point in experiment.points
    }


def foresight_lines(plan: Plan) -> list[str]:
    """Return the planned consumption of a plan, each sentence once, with its experiments."""
    users: dict[str, dict[str, None]] = {}
    uses = foresight(plan)
    for experiment in plan.experiments:
        for point in experiment.points:
            for sentence in uses.get(point.key, ()):
                users.setdefault(sentence, {})[experiment.spec.name] = None
    return [f"{sentence} ({', '.join(names)})" for sentence, names in users.items()]


def needed(plan: Plan) -> list[Confirmation]:
    """Return the confirmations that a plan needs, each once."""
    found = (
        one
        for experiment in _here(plan)
        for point in experiment.points
        for one in confirmations(experiment, point)
    )
    return list(dict.fromkeys(found))


def confirm(plan: Plan, typed: Sequence[str]) -> None:
    """Hand typed words to the systems that destroy what they name.

    Raises
    ------
    EnvironmentUnfitError
        A point needs words that were not typed; the message has them. Or it would write where
        nothing may be written.
    StudyError
        Words were typed that no point needs.
    """
    given = [one_spaced(words) for words in typed]
    asked = needed(plan)
    missing = [one for one in asked if one.words not in given]
    if missing:
        options = " ".join(f"--overwrite {quoted(one.words)}" for one in missing)
        raise EnvironmentUnfitError(
            "this run would overwrite " + ", ".join(map(_described, missing)),
            cure=f"to allow it, add {options}",
        )
    for words in given:
        if words not in {one.words for one in asked}:
            raise StudyError(
                f"--overwrite {words!r} names nothing that this run would overwrite",
                cure="leave it out, or correct name and size; --dry-run says what is written",
            )
    for experiment in plan.experiments:
        if isinstance(experiment.system, Destructive):
            experiment.system.confirm(given)


def confirmations(experiment: PlannedExperiment, point: Point) -> tuple[Confirmation, ...]:
    """Return the confirmations that the run of one point needs."""
    system = experiment.system
    return system.confirmations(point.config) if isinstance(system, Destructive) else ()


def _here(plan: Plan) -> list[PlannedExperiment]:
    """Return the experiments that run on this machine; other hosts overwrite nothing."""
    return [experiment for experiment in plan.experiments if not host_of(experiment)]


def _described(one: Confirmation) -> str:
    name = one.words.rpartition(" ")[0]
    return f"{name} ({one.holds})" if one.holds else f"{name} (nothing was recognised there)"
