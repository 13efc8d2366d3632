"""Plans in which the things to compare run side by side: one arm each, in blocks.

The runner puts one replication of every point of a plan into each block, in random order. Arms are
experiments of one plan, so this order interleaves them, and the journal pairs them by block.

Invariant: every place has a point of every arm.
"""

import secrets
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from headroom.analysis.point import analyse_point
from headroom.analysis.verdicts.level_comparison import ComparedPoint
from headroom.errors import StudyError
from headroom.experiment.journal.journal import ReplicationRow
from headroom.experiment.protocol.system import Metric
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.file.toml_text import toml_text
from headroom.experiment.study.paths import STUDY_NAME
from headroom.experiment.study.plan import Plan, PlannedExperiment, Point
from headroom.experiment.study.study import Replications
from headroom.gate.judging import MOST_BLOCKS
from headroom.gate.question import Question

NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
AGAIN = "_again"
"""Ends the experiments of the base that run a second time in each block: A against A."""
PROCESSOR = Metric(
    name="processor_time_s",
    unit="s",
    better="low",
    description="Processor time, own code and kernel",
)
"""Sum of the metrics `user_s` and `system_s` of a command."""
COMMAND_METRICS = ("wall_s", "processor_time_s", "peak_memory_bytes")
_ALL = ["*"]
"""Files that commands name and write are no inputs: only the programs must stay the same."""
_EXIT_CODES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line to compare: its words, and where it runs.

    Parameters
    ----------
    argv
        Program and arguments; no shell reads them.
    label
        Name for people.
    folder
        Working folder.
    prepare
        Commands before each run, not measured.
    """

    argv: Sequence[str]
    label: str
    folder: Path
    prepare: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPlan:
    """An arm: its name in the common plan, and what identifies it for people."""

    name: str
    label: str
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A unit of comparison: the point of each arm, the base first, and the metrics.

    Parameters
    ----------
    experiment, levels
        Where it is, for people; empty for commands.
    points
        Experiment and point of each arm by its name; the base's second runs are `NAME_again`.
    metrics
        Metrics to compare.
    """

    experiment: str
    points: Mapping[str, tuple[PlannedExperiment, Point]]
    metrics: Sequence[Metric]

    @property
    def levels(self) -> Mapping[str, Any]:
        """Levels of the base's point."""
        return next(iter(self.points.values()))[1].levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Arms:
    """A plan with its arms and the places at which they are compared.

    Parameters
    ----------
    plan, arms, places
        What runs, for whom, and where arms are compared.
    left_out
        What is not compared, for people.
    missing
        What the base has and another arm lacks.
    """

    plan: Plan
    arms: tuple[ArmPlan, ...]
    places: tuple[Place, ...]
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def with_blocks(self, count: int, places: Sequence[Place] | None = None) -> Plan:
        """Return the plan with a number of blocks, of some places only if wanted."""
        kept = None
        if places is not None:
            kept = {point.key for place in places for _, point in place.points.values()}
        planned = []
        for experiment in self.plan.experiments:
            points = tuple(p for p in experiment.points if kept is None or p.key in kept)
            if points:
                planned.append(replace(counted(experiment, count), points=points))
        return replace(self.plan, experiments=tuple(planned))


def arms_of_commands(commands: Sequence[Command], folder: Path, question: Question) -> Arms:
    """Return the plan of commands; `folder` gets its study file.

    Parameters
    ----------
    commands
        Two to 26 commands, the base first.
    folder
        Empty folder for study and journal.
    question
        Metrics, limits and runs of each; a gate runs the base twice in each block, for the noise
        of the machine.

    Raises
    ------
    StudyError
        A metric is unknown, or there are too many commands.
    """
    if len(commands) > len(NAMES):
        raise StudyError(f"at most {len(NAMES)} commands can be compared", cure="compare fewer")
    named = dict(zip(NAMES, commands, strict=False))
    if question.fail_on_regression is not None:
        named[f"A{AGAIN}"] = commands[0]
    setup = {"warm_up_runs": question.warm_up, "time_limit_s": question.time_limit_s}
    if question.ignore_failure:
        setup["ok_exit_codes"] = list(range(_EXIT_CODES))  # type: ignore[assignment]
    tables = [_experiment(name, command, setup) for name, command in named.items()]
    plan = make_plan(load_study(_with_study(folder, tables)), quick=False)
    planned = {experiment.spec.name: experiment for experiment in plan.experiments}
    declared = [*planned["A"].system.metrics({}), PROCESSOR]
    place = Place(
        experiment="",
        points={name: (planned[name], planned[name].points[0]) for name in named},
        metrics=chosen_metrics(declared, question.metrics or COMMAND_METRICS),
    )
    arms = tuple(
        ArmPlan(name=name, label=command.label, about=_about(command))
        for name, command in zip(NAMES, commands, strict=False)
    )
    return Arms(plan=plan, arms=arms, places=(place,))


def counted(experiment: PlannedExperiment, blocks: int) -> PlannedExperiment:
    """Return an experiment with a fixed number of replications."""
    spec = msgspec.structs.replace(experiment.spec, replications=Replications(count=blocks))
    return replace(experiment, spec=spec)


def analysed_rows(
    experiment: PlannedExperiment,
    point: Point,
    rows: Sequence[ReplicationRow],
    metrics: Sequence[str],
) -> ComparedPoint:
    """Return a point with the estimates of some metrics, from some of its rows."""
    return analyse_point(
        counted(experiment, MOST_BLOCKS),
        point,
        rows,
        planned=len(rows),
        precision=None,
        needed=frozenset(metrics),
        is_pictured=False,
        has_series=False,
    )


def chosen_metrics(declared: Sequence[Metric], wanted: Sequence[str]) -> tuple[Metric, ...]:
    """Return the declared metrics of these names, in the order of the names."""
    known = {metric.name: metric for metric in declared}
    for name in wanted:
        if name not in known:
            raise StudyError(f"no such metric: `{name}`", cure=f"choose among {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(wanted))


def _about(command: Command) -> dict[str, str]:
    return {"command": shlex.join(command.argv)}


def _experiment(name: str, command: Command, setup: Mapping[str, Any]) -> dict[str, Any]:
    system = {
        "name": "command",
        "argv": [_literal(word) for word in command.argv],
        "folder": _literal(str(command.folder)),
        "ignore": _ALL,
        "inputs": programs_of(command),
        "set_up": [[_literal(word) for word in words] for words in command.prepare],
        **setup,
    }
    return {
        "name": name,
        "title": command.label,
        "responses": ["wall_s", "user_s", "system_s", "peak_memory_bytes"],
        "system": {key: value for key, value in system.items() if value != []},
        "replications": {"count": 10},
    }


def programs_of(command: Command) -> list[str]:
    """Return the paths of the programs that a command starts, as far as they are there."""
    names = [command.argv[0], *(words[0] for words in command.prepare)]
    paths = (
        shutil.which(name if "/" not in name else str(command.folder / name)) for name in names
    )
    return [str(path) for path in dict.fromkeys(paths) if path is not None]


def _literal(word: str) -> str:
    """Return a word in which the study file reads no placeholder."""
    return word.replace("{", "{{").replace("}", "}}")


def _with_study(folder: Path, experiments: Sequence[Mapping[str, Any]]) -> Path:
    """Write the study file with a new seed: the order of the runs follows from it."""
    study = _study(experiments, secrets.randbits(32))
    (folder / STUDY_NAME).write_text(toml_text(study), encoding="utf-8")
    return folder


def _study(experiments: Sequence[Mapping[str, Any]], seed: int) -> dict[str, Any]:
    return {
        "schema": 1,
        "name": "comparison",
        "title": "Comparison of commands",
        "seed": seed,
        "experiment": [dict(table) for table in experiments],
    }
