"""Claims that predictions of one experiment agree with measurements of another at each point.

At each point common to both experiments, the ratio of predicted to measured must lie within the
tolerance around 1. Its interval includes the uncertainty of both sides. With m points, each
interval has confidence 1 - 0.05 / m (Bonferroni), so that all hold together with 95%. A prediction
with fitted parameters uses its whole prediction interval (`headroom.analysis.fits.prediction`). A
claim about the errors themselves does not: what its method published would count twice.

A claim about the median of the errors is weaker: half of the points may have larger errors. Its
interval follows from those of the points: if all of them hold together, the median lies between the
median of their lower bounds and the median of their upper bounds. A point that is saturated on one
side only counts as one unbounded error.

A point without results on one side leaves the claim undecided at best; the other points are still
reported.

Invariant: a claim about all points holds only where every point that both have agrees with its
whole interval.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

import msgspec

from headroom.analysis.claims.claim_evidence import (
    VERDICTS,
    Evidence,
    Finding,
    MeasuredPoint,
    NoEvidenceError,
    Region,
    selected,
    side_of,
)
from headroom.analysis.evidence import AgreementEvidence, MissingEvidence, UnboundedPair
from headroom.analysis.fits.prediction import widened
from headroom.analysis.results import PredictedPair, Verdict
from headroom.analysis.statistics.dispersion import statistic_interval
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval
from headroom.analysis.statistics.versus import Judgement, judge, place_of
from headroom.experiment.protocol.agreement import Partners
from headroom.experiment.study.study import AgreementClaim, ErrorsClaim, in_base_units

_CENTRES = frozenset({"centre", "mean", "median"})
"""Statistics that a prediction interval is about."""


def check_agreement(claim: AgreementClaim, evidence: Evidence) -> Finding:
    """Return the result of a claim that one experiment predicts another."""
    other = evidence.to or Evidence(points=[])
    met = met_points(claim, evidence, other)
    each = 1.0 - (1.0 - CONFIDENCE) / len(met)
    torn = [one for one in met if is_unbounded(one[0]) != is_unbounded(one[1])]
    is_typical = claim.points == "median"
    unbounded = [unbounded_pair(one) for one, _ in torn]
    evidence_of_all = AgreementEvidence(
        allowed=_region(claim).allowed(),
        count=len(met),
        confidence=each,
        is_median=is_typical,
        unbounded=unbounded,
    )
    if torn and (not is_typical or len(torn) == len(met)):
        return Finding(verdict="differs", evidence=evidence_of_all)
    pairs, missing = pairs_of_points(claim, met, evidence, confidence=each)
    if not pairs:
        raise missing[0]
    worst = max(pairs, key=error_of)
    typical = typical_error(pairs, len(torn)) if is_typical else None
    verdict = _verdict(claim, pairs, typical, missing)
    decisive = None if typical else _decisive(pairs, verdict)
    return Finding(
        verdict=verdict,
        evidence=msgspec.structs.replace(
            evidence_of_all,
            worst=pairs.index(worst),
            decisive=None if decisive is None else pairs.index(decisive),
            missing=missing[0].missing if missing else None,
            **({} if typical is None else _median_of(typical)),
        ),
        value=worst.ratio,
        low=worst.low,
        high=worst.high,
        unit="1",
        pairs=pairs,
    )


def pairs_of_points(
    claim: AgreementClaim | ErrorsClaim,
    met: Sequence[tuple[MeasuredPoint, MeasuredPoint]],
    evidence: Evidence,
    *,
    confidence: float,
) -> tuple[list[PredictedPair], list[NoEvidenceError]]:
    """Return the points with results on both sides, and why others have none."""
    pairs, missing = [], []
    for one, there in met:
        if is_unbounded(one) != is_unbounded(there):
            continue
        try:
            pairs.append(_pair_of(claim, one, there, evidence, confidence=confidence))
        except NoEvidenceError as error:
            missing.append(error)
    return pairs, missing


def _decisive(pairs: Sequence[PredictedPair], verdict: Verdict) -> PredictedPair | None:
    """Return the pair with the largest error of those with this verdict, unless all hold."""
    if verdict == "holds":
        return None
    return max((pair for pair in pairs if pair.verdict == verdict), key=error_of, default=None)


def _median_of(typical: Interval) -> dict[str, float | None]:
    bounds = {"median": typical.value, "median_low": typical.low, "median_high": typical.high}
    return {
        name: None if bound is None or math.isinf(bound) else bound
        for name, bound in bounds.items()
    }


def _verdict(
    claim: AgreementClaim,
    pairs: Sequence[PredictedPair],
    typical: Interval | None,
    missing: Sequence[NoEvidenceError],
) -> Verdict:
    if typical is not None:
        most = claim.tolerance or 0.0
        if missing or (typical.low or 0.0) <= most < (typical.high or math.inf):
            return "undecided"
        return "differs" if (typical.low or 0.0) > most else "holds"
    verdicts = [pair.verdict for pair in pairs]
    if missing:
        verdicts.append("undecided")
    return next((v for v in ("differs", "undecided") if v in verdicts), "holds")


def unbounded_pair(predicted: MeasuredPoint) -> UnboundedPair:
    """Return a point that is saturated on one side, seen from its predicted side."""
    side: Literal["predicted", "measured"] = "predicted" if is_unbounded(predicted) else "measured"
    return UnboundedPair(levels=dict(predicted.levels), side=side)


def typical_error(pairs: Sequence[PredictedPair], torn: int) -> Interval:
    """Return the median of the errors, as shares of what was measured; `torn` have no bound."""
    endless = [math.inf] * torn
    return Interval(
        value=median([*map(error_of, pairs), *endless]),
        low=median([*map(least_error, pairs), *endless]),
        high=median([*map(largest_error, pairs), *endless]),
        method="none",
    )


def least_error(pair: PredictedPair) -> float:
    """Return the lower bound of the error of a point."""
    low = 0.0 if pair.low is None else pair.low
    high = math.inf if pair.high is None else pair.high
    return max(low - 1.0, 1.0 - high, 0.0)


def largest_error(pair: PredictedPair) -> float:
    """Return the upper bound of the error of a point."""
    if pair.low is None or pair.high is None:
        return math.inf
    return max(abs(pair.low - 1.0), abs(pair.high - 1.0))


def met_points(
    claim: AgreementClaim | ErrorsClaim, evidence: Evidence, other: Evidence
) -> list[tuple[MeasuredPoint, MeasuredPoint]]:
    """Return the points that meet, predicted and measured, one pair or more."""
    there = selected({}, other)
    partners = Partners([point.levels for point in there], to=claim.to)
    found = []
    for point in selected(claim.where, evidence):
        places = partners.of(point.levels)
        if len(places) > 1:
            raise NoEvidenceError(
                MissingEvidence(
                    code="several_partners",
                    levels=dict(point.levels),
                    experiment=claim.to_experiment,
                    count=len(places),
                )
            )
        found += [
            (point, there[place])
            for place in places
            if not (is_unbounded(point) and is_unbounded(there[place]))
        ]
    if not found:
        is_quick = evidence.is_quick or other.is_quick
        raise NoEvidenceError(MissingEvidence(code="no_common_point", is_quick=is_quick))
    return found


def is_unbounded(point: MeasuredPoint) -> bool:
    """Return whether a metric grows without bound; two points of which it does agree."""
    return point.sample is not None and point.sample.is_unbounded


def _pair_of(
    claim: AgreementClaim | ErrorsClaim,
    one: MeasuredPoint,
    there: MeasuredPoint,
    evidence: Evidence,
    *,
    confidence: float,
) -> PredictedPair:
    predicted = side_of(one, claim.metric, evidence)
    measured = side_of(there, claim.to_metric or claim.metric, evidence.to or evidence)
    above = statistic_interval(predicted.sample, claim.statistic)
    below = statistic_interval(measured.sample, claim.statistic)
    region = _region(claim)
    found = judge(predicted, measured, low=region.low, high=region.high,
                  statistic=claim.statistic, confidence=confidence)  # fmt: skip
    is_told_by_margin = isinstance(claim, AgreementClaim) and claim.statistic in _CENTRES
    if one.margin is not None and is_told_by_margin:
        above = widened(above, one.margin)
        wide = widened(found.ratio, one.margin, confidence=confidence)
        place = place_of(wide, low=region.low, high=region.high)
        found = Judgement(place=place, ratio=wide, reason=wide.reason or found.reason)
    ratio = found.ratio
    is_number = ratio.value == ratio.value
    return PredictedPair(
        levels=dict(one.levels),
        to_levels=dict(there.levels),
        predicted=above.value,
        predicted_low=above.low,
        predicted_high=above.high,
        measured=below.value,
        measured_low=below.low,
        measured_high=below.high,
        ratio=ratio.value if is_number else None,
        low=ratio.low,
        high=ratio.high,
        verdict=VERDICTS[found.place],
        reason=found.reason,
    )


def _region(claim: AgreementClaim | ErrorsClaim) -> Region:
    tolerance = _tolerance(claim)
    return Region(1.0 - tolerance, 1.0 + tolerance)


def _tolerance(claim: AgreementClaim | ErrorsClaim) -> float:
    if isinstance(claim, AgreementClaim):
        return claim.tolerance or 0.0
    worst = in_base_units(claim.worst_at_most)
    return math.inf if worst is None else worst


def error_of(pair: PredictedPair) -> float:
    """Return the error of a point as a share of what was measured."""
    return math.inf if pair.ratio is None else abs(pair.ratio - 1.0)
