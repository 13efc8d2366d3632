"""Predicted against measured: claims that the figures of two experiments agree, point by point.

At each point that both experiments have, predicted over measured must lie within the tolerance
around one. Its interval counts the uncertainty of both sides, and over several points each gets
the confidence 1 - 0.05 / m (Bonferroni), so that all hold together with 95 %. A prediction with
fitted parameters counts its whole prediction interval (`headroom.analysis.prediction`).

A point that has no figures on one side leaves the claim undecided at best; the others are told.

Invariant: a claim holds only where every point that both have agrees with its whole interval.
"""

from collections.abc import Sequence

from headroom.analysis.claim_evidence import (
    VERDICTS,
    Evidence,
    Finding,
    MeasuredPoint,
    NoEvidenceError,
    selected,
    side_of,
)
from headroom.analysis.claim_words import Region, Words
from headroom.analysis.dispersion import statistic_interval
from headroom.analysis.intervals import CONFIDENCE, Interval
from headroom.analysis.prediction import widened
from headroom.analysis.results import PredictedPair, Verdict
from headroom.analysis.versus import Judgement, judge, place_of
from headroom.experiment.agreement import matching
from headroom.experiment.study import AgreementClaim
from headroom.quantities import format_levels

_WORDS = Words(unit="1", is_ratio=True)


def check_agreement(claim: AgreementClaim, evidence: Evidence) -> Finding:
    """Return what is found for a claim that one experiment predicts another."""
    other = evidence.to or Evidence(points=[])
    met = _met(claim, evidence, other)
    each = 1.0 - (1.0 - CONFIDENCE) / len(met)
    torn = [one for one in met if _is_unbounded(one[0]) != _is_unbounded(one[1])]
    if torn:
        side = "predicted" if _is_unbounded(torn[0][0]) else "measured"
        where = format_levels(torn[0][0].levels)
        reason = f"at {where}: {side} without bound, as the point is saturated, and only there"
        return Finding(verdict="differs", reason=reason)
    pairs, missing = [], []
    for one, there in met:
        try:
            pairs.append(_pair(claim, one, there, evidence, confidence=each))
        except NoEvidenceError as error:
            missing.append(error)
    if not pairs:
        raise missing[0]
    verdicts = [pair.verdict for pair in pairs]
    if missing:
        verdicts.append("undecided")
    verdict: Verdict = next((v for v in ("differs", "undecided") if v in verdicts), "holds")
    worst = max(pairs, key=_distance)
    return Finding(
        verdict=verdict,
        reason=_reason(claim, pairs, verdict, each, missing),
        ours=_ours(pairs, worst),
        value=worst.ratio,
        low=worst.low,
        high=worst.high,
        unit="1",
        pairs=pairs,
    )


def _met(
    claim: AgreementClaim, evidence: Evidence, other: Evidence
) -> list[tuple[MeasuredPoint, MeasuredPoint]]:
    """Return the points that meet, predicted and measured, one pair or more."""
    there = selected({}, other)
    candidates = [point.levels for point in there]
    found = []
    for point in selected(claim.where, evidence):
        places = matching(point.levels, candidates, to=claim.to)
        if len(places) > 1:
            raise NoEvidenceError(
                f"several points of {claim.to_experiment} could be meant at "
                f"{format_levels(point.levels)}: name more factors in to"
            )
        found += [
            (point, there[place])
            for place in places
            if not (_is_unbounded(point) and _is_unbounded(there[place]))
        ]
    if not found:
        quick = "not in the quick variant: " if evidence.is_quick or other.is_quick else ""
        raise NoEvidenceError(f"{quick}no point is in both experiments")
    return found


def _is_unbounded(point: MeasuredPoint) -> bool:
    """Return whether a metric grows without bound; two points of which it does agree."""
    return point.sample is not None and point.sample.is_unbounded


def _pair(
    claim: AgreementClaim,
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
    if one.margin is not None and claim.statistic in {"centre", "mean", "median"}:
        above = widened(above, one.margin)
        wide = widened(found.ratio, one.margin, confidence=confidence)
        place = place_of(wide, low=region.low, high=region.high)
        found = Judgement(place=place, ratio=wide, note=wide.note or found.note)
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
        note=found.note,
    )


def _region(claim: AgreementClaim) -> Region:
    tolerance = claim.tolerance or 0.0
    return Region(1.0 - tolerance, 1.0 + tolerance)


def _distance(pair: PredictedPair) -> float:
    return float("inf") if pair.ratio is None else abs(pair.ratio - 1.0)


def _ours(pairs: Sequence[PredictedPair], worst: PredictedPair) -> str:
    shown = _words_of(worst)
    if len(pairs) == 1:
        return shown
    return f"{shown} at worst, {format_levels(worst.levels)}, of {len(pairs)} points"


def _words_of(pair: PredictedPair) -> str:
    if pair.ratio is None:
        return "no ratio"
    return _WORDS.found(
        Interval(value=pair.ratio, low=pair.low, high=pair.high, method="none", note=pair.note)
    )


def _reason(
    claim: AgreementClaim,
    pairs: Sequence[PredictedPair],
    verdict: Verdict,
    each: float,
    missing: Sequence[NoEvidenceError],
) -> str:
    count = len(pairs) + len(missing)
    decisive = [pair for pair in pairs if pair.verdict == verdict]
    if verdict == "holds":
        text = (
            f"predicted over measured is {_WORDS.allowed(_region(claim))}, with its whole interval"
        )
    elif not decisive:
        text = f"the other {_points(len(pairs))} with the whole interval"
    else:
        first = max(decisive, key=_distance)
        text = first.note or _WORDS.reason(verdict, _region(claim))
        if count > 1:
            text = f"at {format_levels(first.levels)}: {_words_of(first)}, {text}"
    if missing:
        text = f"{missing[0]}; {text}"
    if count > 1:
        text += f" (Bonferroni: each of {count} points at {100.0 * each:.6g} %)"
    return text


def _points(count: int) -> str:
    return "point agrees" if count == 1 else f"{count} points agree"
