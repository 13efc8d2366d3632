"""Search the smallest configuration of a subject that meets its targets."""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path

from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.options import SEED, Simulating, option
from headroom.experiment.protocol.system import Parameter
from headroom.experiment.runner.cluster.address import place_of
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.windows import asking, windows_of
from headroom.sessions.voice import Voice
from headroom.sizing.conclusion import Question, conclude
from headroom.sizing.evaluate import Evaluator, Subject
from headroom.sizing.result import SizingResult
from headroom.sizing.size import Sizing, check_axes
from headroom.sizing.space import Axis, Space, parse_axis, parse_costs
from headroom.sizing.targets import Target, parse_target
from headroom.sizing.verdicts import Rule

DEFAULT_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Simulating):
    """The question of a search: the options that the command and the function of Python share."""

    target: Sequence[str] = option(
        "--target", "-t", 'As "response_s_p95<=200ms"; repeatable, all count.', default=MISSING
    )
    over: Sequence[str | Axis] = option(
        "--over",
        'Factor and its levels, the cheapest first: "servers=1..64", "disk=hdd,ssd", '
        '"station.cpu.servers=1..8"; repeatable.',
        default=MISSING,
    )
    cost: Sequence[str] = option(
        "--cost", 'Cost of one unit of a factor: "servers=3,disks=1" [1 each].', default=()
    )
    experiment: str = option(
        "--experiment", "Experiment of the study, if it has several.", default=""
    )
    completions: int | None = option("--completions", "Completions of one replication.", low=1)
    confidence: float = option(
        "--confidence", "Confidence level of the whole answer.", low=0.5, high=0.9999, default=0.95
    )
    replications: int = option(
        "--replications", "Maximum replications per configuration.", low=5, default=60
    )
    most: int = option("--most", "Maximum number of simulated configurations.", low=1, default=100)
    seed: int | None = option(like=SEED)
    folder: Path | None = option(  # noqa: RUF009 - a field
        "--results",
        "Folder of stored runs, for later searches [results/size in the study's folder].",
    )

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The factors with their levels."""
        return tuple(parse_axis(one) if isinstance(one, str) else one for one in self.over)


def size_subject(
    chosen: Subject, wanted: Wanted, place: Path, *, name: str, command: str, voice: Voice
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
    name, command
        The subject as it was named, and the command that repeats the search.
    voice
        Takes the progress.

    Raises
    ------
    InterruptedSearchError
        The user stopped it.
    """
    system = asking(chosen.system, wanted.target)
    chosen = replace(chosen, system=system, windows=windows_of(system))
    declared = chosen.system.parameters()
    seed = DEFAULT_SEED if wanted.seed is None else wanted.seed
    axes = wanted.axes
    check_axes(axes, chosen, declared)
    axes = _typed(axes, declared)
    space = Space(axes, parse_costs(wanted.cost, axes))
    targets = _targets(wanted.target, chosen, space)
    error = (1.0 - wanted.confidence) / (2.0 * (len(axes) + 1))
    question = Question(
        subject=name,
        fixed=chosen.config,
        as_declared=frozenset(
            parameter.name
            for parameter in declared
            if chosen.config.get(parameter.name) == parameter.default
        ),
        targets=targets,
        seed=seed,
        error=error,
        command=command,
    )
    place.parent.mkdir(parents=True, exist_ok=True)
    with (
        place_of(wanted.on, voice.note) as workers,
        Journal.open(place, create=True) as journal,
        kept_workers(),
    ):
        evaluator = Evaluator(
            chosen,
            Rule(targets=targets, error=error, minimum=5, maximum=wanted.replications),
            journal,
            seed=seed,
            jobs=wanted.jobs,
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
