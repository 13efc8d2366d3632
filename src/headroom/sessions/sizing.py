"""Search the smallest configuration of a subject that meets its targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.system import Parameter
from headroom.experiment.runner.cluster.address import place_of
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.sessions.voice import Voice
from headroom.sizing.conclusion import Question, conclude
from headroom.sizing.evaluate import Evaluator, Subject
from headroom.sizing.result import SizingResult
from headroom.sizing.size import Sizing, check_axes
from headroom.sizing.space import Axis, Space, parse_costs
from headroom.sizing.targets import Target, parse_target
from headroom.sizing.verdicts import Rule

DEFAULT_SEED = 1
CONFIDENCE, REPLICATIONS, MOST = 0.95, 60, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The question of a search.

    Parameters
    ----------
    name
        The subject as it was named.
    axes
        Factors with their levels, the cheapest first.
    targets
        As ``"response_s_p95<=200ms"``; all must be met.
    costs
        As ``"servers=3,disks=1"``.
    confidence
        Confidence level of the whole answer.
    replications, most
        Maximum replications per configuration, and number of simulated configurations.
    seed
        Seed of the search.
    command
        The command that repeats it.
    """

    name: str
    axes: tuple[Axis, ...]
    targets: Sequence[str]
    costs: Sequence[str] = ()
    confidence: float = CONFIDENCE
    replications: int = REPLICATIONS
    most: int = MOST
    seed: int = DEFAULT_SEED
    command: str


def size_subject(
    chosen: Subject, wanted: Wanted, place: Path, *, jobs: int, voice: Voice, on: str = ""
) -> SizingResult:
    """Run or resume a search, and return its result.

    Parameters
    ----------
    chosen
        The subject with a value for every parameter that is not varied.
    wanted
        The question.
    place
        Path of the journal, whose runs are reused.
    jobs
        Simulations in parallel, >= 1.
    voice
        Takes the progress.
    on
        Cluster that simulates; empty: this machine.

    Raises
    ------
    InterruptedSearchError
        The user stopped it.
    """
    declared = chosen.system.parameters()
    check_axes(wanted.axes, chosen, declared)
    axes = _typed(wanted.axes, declared)
    space = Space(axes, parse_costs(wanted.costs, axes))
    targets = _targets(wanted.targets, chosen, space)
    error = (1.0 - wanted.confidence) / (2.0 * (len(axes) + 1))
    question = Question(
        subject=wanted.name,
        fixed=chosen.config,
        as_declared=frozenset(
            parameter.name
            for parameter in declared
            if chosen.config.get(parameter.name) == parameter.default
        ),
        targets=targets,
        seed=wanted.seed,
        error=error,
        command=wanted.command,
    )
    place.parent.mkdir(parents=True, exist_ok=True)
    with (
        place_of(on, voice.note) as workers,
        Journal.open(place, create=True) as journal,
        kept_workers(),
    ):
        evaluator = Evaluator(
            chosen,
            Rule(targets=targets, error=error, minimum=5, maximum=wanted.replications),
            journal,
            seed=wanted.seed,
            jobs=jobs,
            place=workers,
            new_progress=voice.progress,
        )
        sizing = Sizing(chosen, space, targets, evaluator, most=wanted.most)
        sizing.run()
    return conclude(question, sizing)


def _typed(axes: Sequence[Axis], declared: Sequence[Parameter]) -> tuple[Axis, ...]:
    """Return the axes with their levels in the types of the parameters."""
    known = {parameter.name: parameter for parameter in declared}
    return tuple(
        Axis(axis.name, tuple(map(known[axis.name].check, axis.levels)))
        if axis.name in known
        else axis
        for axis in axes
    )


def _targets(texts: Sequence[str], subject: Subject, space: Space) -> tuple[Target, ...]:
    levels = {n: v for n, v in space.levels(space.top).items() if n not in _changes(space)}
    metrics = subject.system.metrics({**subject.config, **levels})
    targets = tuple(parse_target(text, metrics) for text in texts)
    names = [one.metric for one in targets]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise StudyError(f"there are two targets for {double}", cure="keep the stricter one")
    return targets


def _changes(space: Space) -> set[str]:
    return {axis.name for axis in space.axes if axis.name.startswith(("station.", "pool."))}
