"""Subjects of questions: a registered model, a model file, or an experiment of a study.

Invariant: whatever the name means, a `Subject` has a value for every parameter that is not
varied.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from headroom.errors import StudyError
from headroom.experiment.protocol import registry
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Column, HasMissingEnd, Parameter, System, Value
from headroom.experiment.study.file.short_keys import model_setup
from headroom.experiment.study.paths import STUDY_NAME
from headroom.experiment.study.plan import Plan, PlannedExperiment
from headroom.experiment.study.windows import windows_of, with_windows
from headroom.sessions.study_session import open_plan
from headroom.sizing.evaluate import Subject
from headroom.sizing.space import parse_value


def is_study(name: str) -> bool:
    """Return whether a name is that of a study, not of a model."""
    path = Path(name)
    return path.name == STUDY_NAME or (path.is_dir() and (path / STUDY_NAME).exists())


def find_subject(
    name: str,
    experiment: str,
    completions: int | None,
    varied: Sequence[str],
    time_s: float | None = None,
) -> tuple[Subject, Path]:
    """Return the subject to size, with the values that a study fixes, and its results folder."""
    if is_study(name):
        plan = open_plan(Path(name), quick=False)
        found = study_subject(plan, experiment, completions, varied, time_s)
        return found, plan.folder / "results"
    if experiment:
        raise StudyError(
            f"--experiment {experiment!r} needs a study, but {name!r} is a model",
            cure="leave it out, or name the folder of a study",
        )
    setup = model_setup(name) | end_of(completions, time_s)
    kind = registry.find_system("model")
    typed: msgspec.Struct = msgspec.convert(setup, kind.setup_type)
    system = kind.load(typed, base=Path.cwd())
    subject = Subject(name=name, system=system, setup=typed, base=Path.cwd(), config={})
    return subject, Path("results")


def end_of(completions: int | None, time_s: float | None) -> dict[str, Any]:
    """Return the keys of a set-up that say where a run ends, as far as they are given."""
    end = {"completions": completions, "time_s": time_s}
    return {key: value for key, value in end.items() if value is not None}


def refuse_endless(system: System, config: Mapping[str, Value]) -> None:
    """Raise `StudyError` where a day is to be judged by runs that need not reach its peak."""
    why = system.missing_end(system.model(config)) if isinstance(system, HasMissingEnd) else ""
    if why:
        raise StudyError(
            f"{why}, but runs end by completions: what they show depends on their length",
            cure="let each run one period or one day: --time-s 86400 (time_s in Python, in a "
            "study, and in its [experiment.system])",
        )


def find_model(name: str) -> System:
    """Return the system of what the user calls MODEL; a relative file starts at this folder."""
    kind = registry.find_system("model")
    return kind.load(msgspec.convert(model_setup(name), kind.setup_type), base=Path.cwd())


def study_subject(
    plan: Plan,
    experiment: str,
    completions: int | None,
    varied: Sequence[str],
    time_s: float | None = None,
) -> Subject:
    """Return an experiment of a study as the subject, with the values that the study fixes.

    Raises
    ------
    StudyError
        The experiment is not there, is measured, or waits for a fit.
    """
    planned = _chosen(plan.experiments, experiment)
    if planned.system.column is not Column.MODEL:
        raise StudyError(
            f"experiment {planned.spec.name!r} is measured, but only a simulation can be sized",
            cure="name an experiment of the system `model`",
        )
    if planned.fit is not None and not planned.is_ready:
        raise StudyError(
            f"experiment {planned.spec.name!r} has parameters that are not fitted yet: it "
            f"{planned.fit.reason}",
            cure=planned.fit.cure or f"run it first: headroom run {plan.folder}",
        )
    system, setup = planned.system, planned.setup
    if end := end_of(completions, time_s):
        kept = {**msgspec.to_builtins(setup), "completions": None, "time_s": None}
        setup = msgspec.convert({**kept, **end}, type(setup))
        loaded = type(system).load(setup, base=planned.base)
        system = with_windows(loaded, windows_of(planned.system))
    config = {
        use.name: use.value
        for use in planned.parameters
        if use.value is not None and use.name not in varied
    }
    return Subject(
        name=plan.folder.resolve().name,
        system=system,
        setup=setup,
        base=planned.base,
        config=config,
        warm_up=planned.spec.warm_up,
        windows=windows_of(planned.system),
    )


def _chosen(experiments: Sequence[PlannedExperiment], wanted: str) -> PlannedExperiment:
    known = {experiment.spec.name: experiment for experiment in experiments}
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


def parse_settings(texts: Sequence[str], declared: Sequence[Parameter]) -> dict[str, Value]:
    """Return the values that ``NAME=VALUE`` texts give to parameters, checked.

    Raises
    ------
    StudyError
        A name is unknown, or a value does not fit its parameter.
    """
    known = [parameter.name for parameter in declared]
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name.strip() not in known:
            raise StudyError(
                f"--set {text!r} names no parameter of the model", cure=suggestion(name, known)
            )
        found[name.strip()] = parse_value(value.strip())
    return checked_settings(found, declared)


def checked_settings(
    values: Mapping[str, Value], declared: Sequence[Parameter]
) -> dict[str, Value]:
    """Return values of parameters in their types.

    Raises
    ------
    StudyError
        A name is unknown, or a value does not fit its parameter.
    """
    known = {parameter.name: parameter for parameter in declared}
    for name in values:
        if name not in known:
            raise StudyError(f"the model has no parameter {name!r}", cure=suggestion(name, known))
    return {name: known[name].check(value) for name, value in values.items()}


def with_config(subject: Subject, settings: Mapping[str, Value], varied: Sequence[str]) -> Subject:
    """Return the subject with a value for every parameter that is not varied."""
    declared = subject.system.parameters()
    both = sorted(set(varied) & set(settings))
    if both:
        raise StudyError(f"{both[0]!r} is set and varied", cure="remove it from --set or --over")
    defaults = {
        parameter.name: parameter.default for parameter in declared if parameter.default is not None
    }
    config = {**defaults, **subject.config, **settings}
    missing = [
        parameter.name
        for parameter in declared
        if parameter.name not in config and parameter.name not in varied
    ]
    if missing:
        raise StudyError(
            f"the parameter {missing[0]!r} has no value", cure=f"add --set {missing[0]}=VALUE"
        )
    order = [
        parameter.name
        for parameter in declared
        if parameter.name in config and parameter.name not in varied
    ]
    return replace(subject, config={name: config[name] for name in order})
