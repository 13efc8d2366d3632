"""The fit of an experiment as part of the results: plain data, nothing computed."""

from headroom.analysis.results import FitResidual, FitResult, FitSet, FittedValue
from headroom.experiment.fit_method import FittedParameter, FittedSet, Residual
from headroom.experiment.plan import PlannedExperiment


def fit_result(experiment: PlannedExperiment) -> FitResult | None:
    """Return how an experiment was fitted, None where nothing of it is."""
    fit = experiment.fit
    if fit is None:
        return None
    return FitResult(
        sources=list(fit.sources),
        where=dict(fit.where),
        method=fit.method.name,
        state="fitted" if fit.is_settled else "refused" if fit.is_refused else "waits",
        sets=[_set(one) for one in fit.sets],
        reason=fit.reason,
        cure=fit.cure,
    )


def _set(one: FittedSet) -> FitSet:
    return FitSet(
        where=dict(one.where),
        parameters=[_value(parameter) for parameter in one.found.parameters],
        residuals=[_residual(residual) for residual in one.found.residuals],
        notes=list(one.found.notes),
    )


def _value(one: FittedParameter) -> FittedValue:
    return FittedValue(
        name=one.name,
        value=one.value,
        unit=one.unit,
        low=one.low,
        high=one.high,
        standard_error=one.standard_error,
        note=one.note,
    )


def _residual(one: Residual) -> FitResidual:
    return FitResidual(
        experiment=one.experiment,
        levels=dict(one.levels),
        metric=one.metric,
        unit=one.unit,
        observed=one.observed,
        observed_low=one.low,
        observed_high=one.high,
        fitted=one.fitted,
        relative=one.relative,
    )
