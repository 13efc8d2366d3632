"""An analysed experiment as the results hold it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headroom.analysis.analysed import Analysed
from headroom.analysis.derived.derive import derived_result
from headroom.analysis.drawn_model import drawn_model
from headroom.analysis.fits.fit_result import fit_result
from headroom.analysis.over_factors import compared_of, knees_of, limits_of
from headroom.analysis.results import ExperimentResult, Factor, ParameterUsed, WindowUsed
from headroom.analysis.sections import sections_of
from headroom.analysis.verdicts.measured_when import measured_when
from headroom.defects import fallback
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.asks import Direction
from headroom.experiment.study.plan import FactorSpec, ParameterUse, PlannedExperiment
from headroom.experiment.study.study import Replications


def experiment_result(
    analysed: Analysed,
    environments: Sequence[Mapping[str, Any]],
    selection: Selection,
    directions: Mapping[str, Direction],
) -> ExperimentResult:
    """Return everything known about an experiment all of whose points have passed by."""
    experiment = analysed.experiment
    sections, left_out = sections_of(experiment, analysed.points)
    return ExperimentResult(
        name=experiment.spec.name,
        title=experiment.spec.title,
        system=experiment.system.name,
        column=experiment.system.column.value,
        factors=[_factor(factor, directions.get(factor.name)) for factor in experiment.factors],
        responses=analysed.responses,
        windows=[
            WindowUsed(name=window.name, from_s=window.from_s, to_s=window.to_s)
            for window in experiment.spec.windows
        ],
        points=analysed.points,
        knees=list(knees_of(analysed)),
        limits=list(limits_of(analysed, directions)),
        compared=compared_of(analysed),
        derived=[derived_result(one, analysed.derived[one.name]) for one in experiment.derived],
        sections=sections,
        sections_left_out=left_out,
        what_if_replications=sum(
            one.done + one.failed for point in analysed.points for one in point.what_ifs
        ),
        parameters=[_parameter(use) for use in experiment.parameters],
        fit=fit_result(experiment),
        facts=_facts(experiment.spec.name, environments),
        replications=_replications(experiment),
        measured=measured_when(experiment, selection),
        precision_metric=experiment.spec.replications.metric or "",
        precision=experiment.spec.replications.half_width,
        model=fallback(lambda: drawn_model(experiment, analysed.points), lambda _: None),
    )


def _factor(factor: FactorSpec, direction: Direction | None) -> Factor:
    return Factor(
        name=factor.name,
        unit=factor.parameter.unit,
        is_numeric=factor.is_numeric,
        levels=list(factor.levels),
        zipped_with=list(factor.zipped_with),
        direction=direction,
    )


def _parameter(use: ParameterUse) -> ParameterUsed:
    return ParameterUsed(
        name=use.name,
        value=use.value,
        unit=use.parameter.unit,
        source=use.source,
        origin=use.origin,
        low=_float(use.parameter.low),
        high=_float(use.parameter.high),
        description=use.parameter.description,
    )


def _float(bound: float | None) -> float | None:
    """Return a bound as it is read back: a parameter may be declared with whole numbers."""
    return None if bound is None else float(bound)


def _replications(experiment: PlannedExperiment) -> Replications:
    """Return how often points run: no more often than there are recorded runs."""
    rule = experiment.spec.replications
    most = max(map(experiment.replications_at, experiment.points), default=0)
    return (
        rule if most == experiment.most_replications else msgspec.structs.replace(rule, count=most)
    )


def _facts(name: str, environments: Sequence[Mapping[str, Any]]) -> dict[str, float | str]:
    """Return the measurements of the experiment from before its newest session."""
    facts: dict[str, float | str] = {}
    for environment in environments:
        facts = dict(environment.get("facts", {}).get(name, facts))
    return facts
