"""The fit of an experiment as part of the results: plain data, no computation."""

import math
from collections.abc import Mapping

from headroom.analysis.fits.measured_systems import closest_system
from headroom.analysis.results import (
    FitCandidate,
    FitProfile,
    FitResidual,
    FitResult,
    FitSet,
    FittedValue,
)
from headroom.experiment.protocol.fit_method import (
    Candidate,
    FittedParameter,
    FittedSet,
    Profile,
    Residual,
)
from headroom.experiment.study.plan import PlannedExperiment


def fit_result(experiment: PlannedExperiment) -> FitResult | None:
    """Return how an experiment was fitted, None if nothing of it is."""
    fit = experiment.fit
    if fit is None:
        return None
    units = {use.name: use.parameter.unit for use in experiment.parameters}
    return FitResult(
        sources=list(fit.sources),
        where=dict(fit.where),
        method=fit.method.name,
        state="fitted" if fit.is_settled else "refused" if fit.is_refused else "waits",
        sets=[_set(one) for one in fit.sets],
        reason=fit.reason,
        cure=fit.cure,
        candidates=[_candidate(candidate) for candidate in fit.candidates],
        profiles=[_profile(profile, units) for profile in fit.profiles],
    )


def _set(one: FittedSet) -> FitSet:
    units = {parameter.name: parameter.unit for parameter in one.found.parameters}
    return FitSet(
        where=dict(one.where),
        parameters=[_value(parameter) for parameter in one.found.parameters],
        residuals=[_residual(residual) for residual in one.found.residuals],
        notes=list(one.found.notes),
        evidence=one.found.evidence,
        left_out=dict(one.left_out),
        taken=dict(one.taken),
        candidates=[_candidate(candidate) for candidate in one.found.candidates],
        profiles=[_profile(profile, units) for profile in one.found.profiles],
        origin=one.origin,
        closest=closest_system(one),
    )


def _candidate(one: Candidate) -> FitCandidate:
    return FitCandidate(
        values=dict(one.values),
        error=one.error if math.isfinite(one.error) else None,
        is_refuted=one.is_refuted,
    )


def _profile(one: Profile, units: Mapping[str, str]) -> FitProfile:
    return FitProfile(
        name=one.name,
        unit=units.get(one.name, ""),
        values=list(one.values),
        rises=list(one.rises),
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
        evidence=list(one.evidence),
        is_determined=one.is_determined,
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
