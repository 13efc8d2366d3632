"""`headroom size`: the smallest configuration that meets its targets."""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from headroom.cli import options, session
from headroom.cli.output import ColorMode, error_console, result_console, write_json
from headroom.errors import ExitCode, StudyError
from headroom.experiment import registry
from headroom.experiment.journal import Journal
from headroom.experiment.paths import STUDY_NAME
from headroom.experiment.plan import PlannedExperiment
from headroom.experiment.progress import Progress
from headroom.experiment.suggestions import suggestion
from headroom.experiment.system import Column, Parameter, Value
from headroom.report.sizing import render_sizing
from headroom.sizing.conclusion import Question, conclude
from headroom.sizing.evaluate import Evaluator, InterruptedSearchError, Subject
from headroom.sizing.size import Sizing, check_axes
from headroom.sizing.space import Axis, Space, parse_axis, parse_costs, parse_value
from headroom.sizing.targets import Target, parse_target
from headroom.sizing.verdicts import Rule

DEFAULT_SEED = 1
_FOLDER = "size"


def size(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|STUDY",
            help="A registered model, a model file.py (or file.py:function), or a study.",
        ),
    ],
    *,
    target: Annotated[
        list[str],
        typer.Option("--target", "-t", help='As "response_s_p95<=200ms"; repeatable, all count.'),
    ],
    over: Annotated[
        list[str],
        typer.Option(
            "--over",
            help='Factor and its levels, the cheapest first: "servers=1..64", "disk=hdd,ssd", '
            '"station.cpu.servers=1..8"; repeatable.',
        ),
    ],
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", help='Cost of one unit of a factor: "servers=3,disks=1" [1 each].'),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Value of another parameter; repeatable."),
    ] = None,
    experiment: Annotated[
        str, typer.Option("--experiment", help="Experiment of the study, where it has several.")
    ] = "",
    completions: Annotated[
        int | None, typer.Option("--completions", min=1, help="Completions of one replication.")
    ] = None,
    confidence: Annotated[
        float,
        typer.Option("--confidence", min=0.5, max=0.9999, help="Asked of the whole answer."),
    ] = 0.95,
    replications: Annotated[
        int,
        typer.Option("--replications", min=5, help="Replications of a configuration at most."),
    ] = 60,
    most: Annotated[
        int, typer.Option("--most", min=1, help="Configurations simulated at most.")
    ] = 100,
    seed: options.Seed = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, envvar="HEADROOM_JOBS", help="Simulations in parallel [cores]."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--results",
            help="Folder of what ran, for later searches [results/size, beside the study].",
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    color: options.Color = ColorMode.AUTO,
) -> None:
    """Find the smallest configuration that meets every target, and show how it was found."""
    axes = tuple(map(parse_axis, over))
    base, results = _subject(subject, experiment, completions, [axis.name for axis in axes])
    declared = base.system.parameters()
    chosen = _with_config(base, _parse_settings(fixed or [], declared), axes, declared)
    check_axes(axes, chosen, declared)
    axes = _typed(axes, declared)
    space = Space(axes, parse_costs(cost or [], axes))
    targets = _targets(target, chosen, space)
    error = (1.0 - confidence) / (2.0 * (len(axes) + 1))
    rule = Rule(targets=targets, error=error, minimum=5, maximum=replications)
    question = Question(
        subject=subject,
        fixed=_told(chosen, declared),
        targets=targets,
        seed=DEFAULT_SEED if seed is None else seed,
        error=error,
        command=_command(
            subject,
            {"--target": target, "--over": over, "--cost": cost or [], "--set": fixed or []},
            seed=seed,
        ),
    )
    place = (folder or results) / "journal.sqlite"
    place.parent.mkdir(parents=True, exist_ok=True)
    with Journal.open(place, create=True) as journal:
        evaluator = Evaluator(
            chosen,
            rule,
            journal,
            seed=question.seed,
            jobs=jobs or os.cpu_count() or 1,
            new_progress=lambda: Progress(error_console(color), is_quiet=quiet),
        )
        sizing = Sizing(chosen, space, targets, evaluator, most=most)
        _run(sizing, quiet=quiet)
    result = conclude(question, sizing)
    if as_json:
        write_json("sizing-result", result)
    else:
        render_sizing(result, result_console(color))
    raise typer.Exit(ExitCode.DONE if result.is_found else ExitCode.CLAIMS_DIFFER)


def _run(sizing: Sizing, *, quiet: bool) -> None:
    try:
        sizing.run()
    except InterruptedSearchError as error:
        session.note("stopped; the same command carries on", quiet=quiet)
        raise typer.Exit(ExitCode.INTERRUPTED) from error


def _subject(
    name: str, experiment: str, completions: int | None, varied: Sequence[str]
) -> tuple[Subject, Path]:
    """Return what is to be sized with what a study fixes of it, and its results folder."""
    path = Path(name)
    if path.name == STUDY_NAME or (path.is_dir() and (path / STUDY_NAME).exists()):
        return _of_study(path, experiment, completions, varied)
    if experiment:
        raise StudyError(
            f"--experiment {experiment!r} belongs to a study, and {name!r} is a model",
            cure="leave it out, or name the folder of a study",
        )
    setup: dict[str, Any] = _model_setup(name)
    if completions is not None:
        setup["completions"] = completions
    kind = registry.find_system("model")
    typed: msgspec.Struct = msgspec.convert(setup, kind.setup_type)
    system = kind.load(typed, base=Path.cwd())
    subject = Subject(name=name, system=system, setup=typed, base=Path.cwd(), config={})
    return subject, Path("results") / _FOLDER


def _model_setup(name: str) -> dict[str, Any]:
    file, sign, function = name.partition(":")
    if file.endswith(".py"):
        return {"file": file, **({"function": function} if sign else {})}
    return {"model": name}


def _of_study(
    path: Path, experiment: str, completions: int | None, varied: Sequence[str]
) -> tuple[Subject, Path]:
    plan = session.open_plan(path, quick=False)
    planned = _chosen(plan.experiments, experiment)
    if planned.system.column is not Column.MODEL:
        raise StudyError(
            f"experiment {planned.spec.name!r} measures; only a simulation can be sized",
            cure="name an experiment of the system `model`",
        )
    system, setup = planned.system, planned.setup
    if completions is not None:
        setup = msgspec.convert(
            {**msgspec.to_builtins(setup), "completions": completions, "time_s": None},
            type(setup),
        )
        system = type(system).load(setup, base=planned.base)
    config = {
        use.name: use.value
        for use in planned.parameters
        if use.value is not None and use.name not in varied
    }
    subject = Subject(
        name=path.resolve().name if path.is_dir() else path.resolve().parent.name,
        system=system,
        setup=setup,
        base=planned.base,
        config=config,
        warm_up=planned.spec.warm_up,
    )
    return subject, plan.folder / "results" / _FOLDER


def _chosen(experiments: Sequence[PlannedExperiment], wanted: str) -> PlannedExperiment:
    known = {one.spec.name: one for one in experiments}
    if wanted in known:
        return known[wanted]
    if wanted or len(known) > 1:
        raise StudyError(
            f"the study has no experiment {wanted!r}"
            if wanted
            else f"the study has several experiments: {', '.join(known)}",
            cure=suggestion(wanted, known) if wanted else "choose one with --experiment NAME",
        )
    return experiments[0]


def _parse_settings(texts: Sequence[str], declared: Sequence[Parameter]) -> dict[str, Value]:
    known = {parameter.name: parameter for parameter in declared}
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name.strip() not in known:
            raise StudyError(
                f"--set {text!r} names no parameter of the model", cure=suggestion(name, known)
            )
        found[name.strip()] = known[name.strip()].check(parse_value(value.strip()))
    return found


def _with_config(
    subject: Subject,
    settings: Mapping[str, Value],
    axes: Sequence[Axis],
    declared: Sequence[Parameter],
) -> Subject:
    """Return the subject with a value for every parameter that is not varied."""
    varied = {axis.name for axis in axes}
    both = sorted(varied & set(settings))
    if both:
        raise StudyError(f"{both[0]!r} is set and varied", cure="remove it from --set or --over")
    defaults = {one.name: one.default for one in declared if one.default is not None}
    config = {**defaults, **subject.config, **settings}
    missing = [one.name for one in declared if one.name not in config and one.name not in varied]
    if missing:
        raise StudyError(
            f"the parameter {missing[0]!r} has no value", cure=f"add --set {missing[0]}=VALUE"
        )
    kept = {name: value for name, value in config.items() if name not in varied}
    return Subject(
        name=subject.name,
        system=subject.system,
        setup=subject.setup,
        base=subject.base,
        config=kept,
        warm_up=subject.warm_up,
    )


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
    found = tuple(parse_target(text, metrics) for text in texts)
    names = [one.metric for one in found]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise StudyError(f"there are two targets for {double}", cure="keep the stricter one")
    return found


def _changes(space: Space) -> set[str]:
    return {axis.name for axis in space.axes if axis.name.startswith(("station.", "pool."))}


def _told(subject: Subject, declared: Sequence[Parameter]) -> dict[str, Value]:
    order = [one.name for one in declared]
    return {name: subject.config[name] for name in order if name in subject.config}


def _command(subject: str, options_given: Mapping[str, Sequence[str]], *, seed: int | None) -> str:
    """Return the command that repeats the search."""
    words = ["headroom", "size", subject]
    for option, values in options_given.items():
        words += [word for value in values for word in (option, value)]
    words += [] if seed is None else [f"--seed={seed}"]
    return shlex.join(words)
