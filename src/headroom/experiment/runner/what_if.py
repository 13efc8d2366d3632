"""Points of a study with changed resources, run together with the points they are compared with.

A changed point is the base point with a few changes. It runs with the seeds of the base point, so
replication i of both gets the same random numbers (common random numbers).

Invariants: a changed point lives in the journal under the experiment ``NAME/what-if``, a name
that no study file can write, so it never mixes with the points of the study; its key, seeds and
fingerprint are functions of the base point and the texts of its changes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.changes import Change, changes_in, split_changes, text_of
from headroom.experiment.protocol.system import System
from headroom.experiment.study.changed_parameters import with_parameters
from headroom.experiment.study.fit_plan import fingerprint_of
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.experiment.study.seeds import digest, point_key
from headroom.experiment.study.study import Replications

SUFFIX = "/what-if"
CHANGE_LEVEL = "what if"
"""Name under which a row keeps its changes; no parameter can be called so."""
_MEANING = 1
"""Version of what changes mean; raising it runs them again."""


def is_what_if(experiment: str) -> bool:
    """Return whether a name in the journal is that of changed points.

    Examples
    --------
    >>> is_what_if("load/what-if"), is_what_if("load")
    (True, False)
    """
    return experiment.endswith(SUFFIX)


def changed_point(point: Point, changes: Sequence[Change], system: System) -> Point:
    """Return a point of the plan with other resources or parameters.

    It runs with the seeds of `point`. Changed parameters are in its configuration, and the model
    that they give is in its fingerprint; its `changes` are those of stations and pools alone.

    Raises
    ------
    StudyError
        A parameter cannot be changed so.
    """
    name, text = point.experiment + SUFFIX, text_of(changes)
    levels = {**point.levels, CHANGE_LEVEL: text}
    parameters, resources = split_changes(changes)
    config, content, fingerprint = point.config, point.content, point.fingerprint
    if parameters:
        config = with_parameters(config, parameters, system.parameters())
        content = system.fingerprint(config)
        fingerprint = fingerprint_of(system, config, content)
    return replace(
        point,
        experiment=name,
        key=point_key(name, levels),
        levels=levels,
        config=config,
        fingerprint=digest([fingerprint, _MEANING, text]),
        content=content,
        changes=resources,
        seed_key=point.seed_key or point.key,
    )


def changed_experiment(
    experiment: PlannedExperiment, points: Iterable[Point], *, replications: int
) -> PlannedExperiment:
    """Return the experiment of the changed `points`, each run `replications` times."""
    spec = msgspec.structs.replace(
        experiment.spec,
        name=experiment.spec.name + SUFFIX,
        replications=Replications(count=replications),
    )
    return replace(experiment, spec=spec, points=tuple(points))


def changed_plan(plan: Plan, wanted: Iterable[tuple[PlannedExperiment, Point, int]]) -> Plan | None:
    """Return a plan of changed points only, None if there are none.

    Parameters
    ----------
    plan
        The plan of the base points.
    wanted
        Experiment of the base point, changed point, and its number of replications.
    """
    groups: dict[tuple[str, int], list[Point]] = defaultdict(list)
    experiments: dict[str, PlannedExperiment] = {}
    for experiment, point, replications in wanted:
        experiments[experiment.spec.name] = experiment
        groups[experiment.spec.name, replications].append(point)
    if not groups:
        return None
    return replace(
        plan,
        experiments=tuple(
            changed_experiment(experiments[name], points, replications=count)
            for (name, count), points in groups.items()
        ),
    )


def stored_changes(journal: Journal, experiment: str) -> dict[str, list[str]]:
    """Return for each base point (by key) the texts of changes that were ever run, sorted."""
    by_point: dict[str, set[str]] = defaultdict(set)
    for row in journal.heads(experiment + SUFFIX):
        levels = dict(row.levels)
        text = levels.pop(CHANGE_LEVEL, None)
        if isinstance(text, str) and _is_readable(text):
            by_point[point_key(experiment, levels)].add(text)
    return {key: sorted(texts) for key, texts in by_point.items()}


def _is_readable(text: str) -> bool:
    try:
        changes_in(text)
    except StudyError:
        return False
    return True
