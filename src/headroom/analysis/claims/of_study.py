"""The claims of a study against its analysed experiments."""

from collections.abc import Sequence
from dataclasses import replace

from headroom.analysis.analysed import Analysed
from headroom.analysis.claims.claim_evidence import Evidence, MeasuredPoint
from headroom.analysis.claims.claims import check_claim
from headroom.analysis.claims.law import by_law, with_basis
from headroom.analysis.fits.prediction import margin_of
from headroom.analysis.results import ClaimResult
from headroom.experiment.study.checks.claim_checks import unit_of
from headroom.experiment.study.plan import Plan
from headroom.experiment.study.study import AgreementClaim, Claim, ErrorsClaim


def claim_result(claim: Claim, analysed: Sequence[Analysed], plan: Plan) -> ClaimResult:
    """Return the verdict on a claim, with what it rests on if a law is known."""
    evidence = _evidence(claim.experiment, claim.metric, analysed, plan)
    if isinstance(claim, AgreementClaim | ErrorsClaim):
        to = _evidence(claim.to_experiment, claim.to_metric or claim.metric, analysed, plan)
        return check_claim(claim, replace(evidence, to=to))
    found = check_claim(claim, evidence)
    has_law = any(point.law for one in analysed for point in one.points)
    if not has_law or not any(one.published for one in plan.study.claims):
        return found
    points = [
        point
        for one in analysed
        if one.experiment.spec.name == claim.experiment and claim.metric not in one.derived
        for point in one.points
    ]
    if not points:  # No law says anything of a derived quantity.
        evidence = replace(evidence, points=[])
    return with_basis(found, claim, check_claim(claim, by_law(evidence, claim.metric, points)))


def _evidence(experiment: str, metric: str, analysed: Sequence[Analysed], plan: Plan) -> Evidence:
    """Return the evidence for a metric of an experiment; no points if it was not run."""
    found = next((one for one in analysed if one.experiment.spec.name == experiment), None)
    if found is None:
        return Evidence(points=[], is_quick=_is_skipped(experiment, plan))
    if metric in found.derived:
        return _derived_evidence(metric, found, plan)
    points = [
        MeasuredPoint(
            point.levels,
            samples.get(metric),
            point.absent.get(metric),
            runs,
            margin_of(point, metric),
        )
        for point, samples, runs in zip(found.points, found.samples, found.runs, strict=True)
    ]
    units = {metric.name: metric.unit for metric in found.metrics}
    factors = {factor.name: factor.parameter.unit for factor in found.experiment.factors}
    return Evidence(
        points=points,
        unit=units.get(metric, ""),
        factor_units=factors,
        column=found.experiment.system.column,
        is_quick=plan.is_quick,
    )


def _derived_evidence(name: str, found: Analysed, plan: Plan) -> Evidence:
    planned = found.experiment.derived_named(name)
    return Evidence(
        points=[MeasuredPoint(cell.levels, cell.sample()) for cell in found.derived[name]],
        unit=unit_of(name, found.experiment),
        factor_units={factor.name: factor.parameter.unit for factor in found.experiment.factors},
        column=found.experiment.system.column,
        is_quick=plan.is_quick,
        over=frozenset() if planned is None else planned.over,
    )


def _is_skipped(experiment: str, plan: Plan) -> bool:
    """Return whether the quick variant leaves out an experiment that a claim is about."""
    skipped = {spec.name for spec in plan.study.experiments if spec.quick.skip}
    return plan.is_quick and experiment in skipped
