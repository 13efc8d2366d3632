"""Studies and commands at several commits, side by side: one checkout and one arm each.

A study is planned in the checkout of each commit, so its files, models and scripts are those of
that commit; Headroom itself is the one that runs. Experiments that are fitted from others are left
out: their parameters would differ by chance alone.

Invariant: the points of two arms have the same seeds, and nothing of a checkout outlives its arms.
"""

import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.machine.repository import git
from headroom.experiment.protocol.system import Column, Metric
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.paths import STUDY_NAME
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.experiment.study.seeds import point_key
from headroom.gate.arms import AGAIN, NAMES, ArmPlan, Arms, Place, chosen_metrics
from headroom.gate.git import checkouts
from headroom.gate.meaning import command_of

A_AGAIN = f"A{AGAIN}"
_STDERR = 2
"""Descriptor of the output of builds: results alone go to stdout."""
_MAIN_RESPONSES = 3
"""Of a system whose study names no responses, the first metrics count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit to measure.

    Parameters
    ----------
    label
        As the user called it.
    commit
        Its hash.
    path
        Of a study: its folder, from the top of the repository.
    """

    label: str
    commit: str
    path: Path = Path()


@contextmanager
def built(
    folder: Path, revisions: Sequence[Revision], build: Sequence[str] = ()
) -> Iterator[list[Path]]:
    """Check out revisions and build them; yields the top folder of each.

    Raises
    ------
    EnvironmentUnfitError
        A build fails.
    """
    with checkouts(folder, [revision.commit for revision in revisions]) as roots:
        for root, revision in zip(roots, revisions, strict=True):
            for line in build:
                argv = list(command_of(line, root).argv)
                try:
                    code = subprocess.run(argv, cwd=root, stdout=_STDERR, check=False).returncode
                except OSError as error:
                    raise EnvironmentUnfitError(
                        f"`--build {line}` cannot start: {error.strerror}", cure="check its path"
                    ) from error
                if code:
                    raise EnvironmentUnfitError(
                        f"`--build {line}` failed at {revision.label} with exit code {code}",
                        cure="its output is above; build that commit by hand to see more",
                    )
        yield roots


def arms_of_studies(
    roots: Sequence[Path],
    revisions: Sequence[Revision],
    *,
    metrics: Sequence[str] = (),
    quick: bool = False,
    is_twice: bool = False,
) -> Arms:
    """Return the arms of a study at several commits.

    Parameters
    ----------
    roots, revisions
        Checkouts, the base first, and what they hold.
    metrics
        Metrics to compare; none: the responses of each experiment.
    quick
        Take the quick variant of the study.
    is_twice
        Run the base twice in each block, for the noise of the machine.
    """
    for root, revision in zip(roots, revisions, strict=True):
        if not (root / revision.path / STUDY_NAME).is_file():
            raise StudyError(
                f"there is no {revision.path / STUDY_NAME} at {revision.label}",
                cure="name the folder of a study that both commits have",
            )
    seed = None
    plans: dict[str, Plan] = {}
    for name, root, revision in zip(NAMES, roots, revisions, strict=False):
        plan = make_plan(load_study(root / revision.path), quick=quick, seed=seed)
        seed = plan.seed
        plans[name] = plan
        if is_twice and name == "A":
            plans[A_AGAIN] = plan
    parts = {name: _renamed(plan, name) for name, plan in plans.items()}
    if A_AGAIN in parts:
        parts[A_AGAIN] = _measured(parts[A_AGAIN])
    fitted = {e.spec.name for e in plans["A"].experiments if e.fit is not None}
    places, left_out, missing = _places(parts, metrics)
    left_out += [f"{name}, which is fitted from other experiments" for name in sorted(fitted)]
    if not places:
        raise StudyError(
            "the revisions have no point in common", cure="compare commits with the same study"
        )
    arms = tuple(
        ArmPlan(name=name, label=revision.label, about=_about(root, revision))
        for name, root, revision in zip(NAMES, roots, revisions, strict=False)
    )
    kept = {point.key for place in places for _, point in place.points.values()}
    experiments = tuple(
        replace(one, points=points)
        for part in parts.values()
        for one in part.values()
        if (points := tuple(point for point in one.points if point.key in kept))
    )
    plan = replace(plans["A"], experiments=experiments)
    if all(experiment.system.column is Column.MEASURE for experiment in experiments):
        # The order of the runs follows from the seed: a gate needs another one each time.
        plan = replace(plan, seed=secrets.randbits(32))
    return Arms(
        plan=plan,
        arms=arms,
        places=tuple(places),
        left_out=tuple(left_out),
        missing=tuple(missing),
    )


def _about(root: Path, revision: Revision) -> dict[str, str]:
    date = git(root, "show", "-s", "--format=%cI", revision.commit) or ""
    return {"commit": revision.commit, "date": date}


def _renamed(plan: Plan, arm: str) -> dict[str, PlannedExperiment]:
    """Return the experiments of an arm by their own names, under names that no other arm has."""
    return {
        experiment.spec.name: _as_arm(experiment, arm)
        for experiment in plan.experiments
        if experiment.fit is None
    }


def _measured(part: dict[str, PlannedExperiment]) -> dict[str, PlannedExperiment]:
    """Return the measured experiments: simulations have no noise of the machine."""
    return {name: one for name, one in part.items() if one.system.column is Column.MEASURE}


def _as_arm(experiment: PlannedExperiment, arm: str) -> PlannedExperiment:
    name = f"{arm}-{experiment.spec.name}"
    points = tuple(
        replace(
            point,
            experiment=name,
            key=point_key(name, point.levels),
            seed_key=point.seed_key or point.key,
        )
        for point in experiment.points
    )
    return replace(
        experiment, spec=msgspec.structs.replace(experiment.spec, name=name), points=points
    )


def _places(
    parts: dict[str, dict[str, PlannedExperiment]], metrics: Sequence[str]
) -> tuple[list[Place], list[str], list[str]]:
    """Return the points that all arms have, and the names of others: of some, and of the base."""
    base = parts["A"]
    by_levels = {
        arm: {
            (name, repr(sorted(point.levels.items()))): (one, point)
            for name, one in part.items()
            for point in one.points
        }
        for arm, part in parts.items()
    }
    places, missing = [], []
    for key, (experiment, point) in by_levels["A"].items():
        found = {arm: known[key] for arm, known in by_levels.items() if key in known}
        if {*parts} - {*found, A_AGAIN}:
            missing.append(_label(key[0], point))
            continue
        chosen = _metrics(experiment, point, metrics)
        places.append(
            Place(experiment=key[0] if len(base) > 1 else "", points=found, metrics=chosen)
        )
    new = {
        key: point for known in by_levels.values() for key, (_, point) in known.items()
        if key not in by_levels["A"]
    }  # fmt: skip
    left_out = [_label(key[0], point) for key, point in new.items()]
    return places, [*left_out, *missing], missing


def _label(experiment: str, point: Point) -> str:
    levels = ", ".join(f"{name}={level}" for name, level in point.levels.items())
    return f"{experiment} {levels}".strip()


def _metrics(
    experiment: PlannedExperiment, point: Point, wanted: Sequence[str]
) -> tuple[Metric, ...]:
    declared = experiment.system.metrics(point.config)
    names = list(wanted or experiment.spec.responses)
    return chosen_metrics(declared, names or [m.name for m in declared[:_MAIN_RESPONSES]])
