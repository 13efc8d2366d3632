"""Search the smallest configuration of a subject that meets its targets."""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, replace
from functools import partial
from pathlib import Path

from msgspec.structs import replace as with_fields

from headroom.analysis.formulas import forecast_at
from headroom.errors import StudyError
from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.options import SEED, Ending, option
from headroom.experiment.protocol.system import Parameter
from headroom.experiment.runner.cluster.address import place_of
from headroom.experiment.runner.worker_pool import kept_workers
from headroom.experiment.study.windows import asking, windows_of
from headroom.quantities import format_quantity
from headroom.sessions.subjects import refuse_endless
from headroom.sessions.voice import Voice
from headroom.sizing.beyond import answered
from headroom.sizing.conclusion import Question
from headroom.sizing.evaluate import Evaluator, Subject
from headroom.sizing.loads import said_of_loads
from headroom.sizing.result import SizingResult
from headroom.sizing.size import Sizing, check_axes, configuration_at
from headroom.sizing.space import Axis, Space, parse_axis, parse_costs
from headroom.sizing.targets import Target, parse_target
from headroom.sizing.verdicts import Rule

DEFAULT_SEED = 1
SATISFYING = 0.99
"""Share of the reachable throughput that is enough, where no target is given."""
REACHED_BY = 20
"""Replications from which the reachable throughput is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted(Ending):
    """The question of a search: the options that the command and the function of Python share."""

    target: Sequence[str] = option(
        "--target",
        "-t",
        'As "response_s_p95<=200ms"; repeatable, all count [99% of the throughput that the largest '
        "configuration reaches].",
        default=(),
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
    refuse_endless(chosen.system, configuration_at(chosen, space, (0,) * len(axes)).config)
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
        notes=said_of_loads(chosen, space, targets),
    )
    place.parent.mkdir(parents=True, exist_ok=True)
    with (
        place_of(wanted.on, voice.note) as workers,
        Journal.open(place, create=True) as journal,
        kept_workers(),
    ):
        evaluator_of = partial(
            Evaluator,
            chosen,
            journal=journal,
            seed=seed,
            jobs=wanted.jobs,
            place=workers,
            new_progress=voice.progress,
        )
        if not targets:
            most = _most_reached(chosen, space, evaluator_of)
            targets = (with_fields(most, bound=SATISFYING * most.bound),)
            question = replace(
                question,
                targets=targets,
                notes=[
                    *question.notes,
                    f"The target is {SATISFYING:.0%} of {format_quantity(most.bound, most.unit)}, "
                    f"which {space.text(space.top)} reaches.",
                ],
            )
        evaluator = evaluator_of(
            Rule(targets=targets, error=error, minimum=5, maximum=wanted.replications)
        )
        sizing = Sizing(chosen, space, targets, evaluator, most=wanted.most)
        return answered(question, chosen, sizing, evaluator, most=wanted.most)


def _most_reached(
    subject: Subject, space: Space, evaluator_of: Callable[[Rule], Evaluator]
) -> Target:
    """Return the throughput of the largest configuration as a target: by theory, or simulated."""
    top = configuration_at(subject, space, space.top)
    anything = parse_target("throughput>=0", subject.system.metrics(top.config))
    forecast = forecast_at(subject.system, top.config, top.changes)
    if forecast is not None and forecast.is_exact and "throughput" in forecast.values:
        return with_fields(anything, bound=forecast.values["throughput"])
    rule = Rule(targets=(anything,), error=0.01, minimum=REACHED_BY, maximum=REACHED_BY)
    ((found, _),) = evaluator_of(rule).judge([top])
    values = found.values.get("throughput")
    if values is None or not values.size:
        raise StudyError(
            f"{space.text(space.top)} shows no throughput, so that no share of it can be the "
            f"target: {found.note or 'its runs give no figures'}",
            cure="give a --target, or longer runs: --completions",
        )
    return with_fields(anything, bound=float(values.mean()))


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
