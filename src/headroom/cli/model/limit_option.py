"""Limits given on the command line, treated as if the study stated them."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Metric
from headroom.experiment.study.checks.limit_checks import load_factor
from headroom.experiment.study.plan import Plan, PlannedExperiment
from headroom.experiment.study.study import Limit
from headroom.experiment.study.windows import asking
from headroom.sizing.targets import parse_target


def with_limits(plan: Plan, texts: Sequence[str], *, load: str, current: float | None) -> Plan:
    """Return the plan whose experiments state the limits, each one where it means something.

    An experiment takes a limit when it reports the metric and varies the load.

    Raises
    ------
    StudyError
        A limit cannot be read, or no experiment can say anything about it.
    """
    if current is not None and not current > 0.0:
        raise StudyError(f"--current is {current:g}", cure="give the current load, above 0")
    for text in texts:
        plan = _with_limit(plan, text, load=load, current=current)
    return plan


def _with_limit(plan: Plan, text: str, *, load: str, current: float | None) -> Plan:
    changed = [
        _with(experiment, text, load=load, current=current) for experiment in plan.experiments
    ]
    if changed == list(plan.experiments):
        raise _meaningless(plan, text, load)
    return replace(plan, experiments=tuple(changed))


def _meaningless(plan: Plan, text: str, load: str) -> HeadroomError:
    """Return why no experiment can say anything about a limit."""
    metrics = {
        metric.name: metric
        for experiment in plan.experiments
        for metric in asking(experiment.system, [text]).metrics(experiment.points[0].config)
    }
    try:
        parse_target(text, metrics.values())
    except HeadroomError as error:
        return error
    known = [
        factor.name
        for experiment in plan.experiments
        for factor in experiment.factors
        if factor.is_numeric
    ]
    return StudyError(
        f"no experiment of study {plan.study.name!r} that reports this metric varies "
        f"{load or 'a load'}",
        cure=suggestion(load, known) if known else "add a factor with several levels",
    )


def _with(
    experiment: PlannedExperiment, text: str, *, load: str, current: float | None
) -> PlannedExperiment:
    system, config = asking(experiment.system, [text]), experiment.points[0].config
    metrics = system.metrics(config)
    limit = _limit(text, metrics, load=load, current=current)
    if limit is None or load_factor(limit, experiment.factors) is None:
        return experiment
    is_other = system is not experiment.system
    if is_other and system.fingerprint(config) != experiment.system.fingerprint(config):
        raise StudyError(
            f"the runs of experiment {experiment.spec.name!r} keep no {limit.metric}",
            cure="name the metric in the responses of the experiment",
        )
    spec = msgspec.structs.replace(experiment.spec, limits=[*experiment.spec.limits, limit])
    return replace(experiment, spec=spec, system=system)


def _limit(
    text: str, metrics: Sequence[Metric], *, load: str, current: float | None
) -> Limit | None:
    """Return the limit that a text states, None if the experiment has no such metric."""
    try:
        target = parse_target(text, metrics)
    except StudyError:
        return None
    return Limit(
        metric=target.metric,
        at_least=target.bound if target.is_floor else None,
        at_most=None if target.is_floor else target.bound,
        factor=load,
        current=current,
    )
