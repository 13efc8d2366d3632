"""Predicted against measured: claims that the figures of two experiments agree, point by point.

At each point that both experiments have, predicted over measured must lie within the tolerance
around one. Its interval counts the uncertainty of both sides, and over several points each gets
the confidence 1 - 0.05 / m (Bonferroni), so that all hold together with 95 %. A prediction with
fitted parameters counts its whole prediction interval (`headroom.analysis.fits.prediction`).

A claim about the median of the errors asks less: half of the points may be farther off. Its
interval follows from those of the points: where all hold together, the median lies between the
median of their lower bounds and that of their upper ones. A point that only one side says is
saturated is an error without bound, one among the others.

A point that has no figures on one side leaves the claim undecided at best; the others are told.

Invariant: a claim about all points holds only where every point that both have agrees with its
whole interval.
"""

import math
from collections.abc import Sequence
from statistics import median

from headroom.analysis.claims.claim_evidence import (
    VERDICTS,
    Evidence,
    Finding,
    MeasuredPoint,
    NoEvidenceError,
    selected,
    side_of,
)
from headroom.analysis.claims.claim_words import Region, Words
from headroom.analysis.fits.prediction import widened
from headroom.analysis.results import PredictedPair, Verdict
from headroom.analysis.statistics.dispersion import statistic_interval
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval
from headroom.analysis.statistics.versus import Judgement, judge, place_of
from headroom.experiment.protocol.agreement import matching
from headroom.experiment.study.study import AgreementClaim
from headroom.quantities import format_levels, format_percent

_WORDS = Words(unit="1", is_ratio=True)
_WORTH_A_WORD = 1.5
"""Factor from which a prediction that is off by it is said to be so."""


def check_agreement(claim: AgreementClaim, evidence: Evidence) -> Finding:
    """Return what is found for a claim that one experiment predicts another."""
    other = evidence.to or Evidence(points=[])
    met = _met(claim, evidence, other)
    each = 1.0 - (1.0 - CONFIDENCE) / len(met)
    torn = [one for one in met if _is_unbounded(one[0]) != _is_unbounded(one[1])]
    is_typical = claim.points == "median"
    if torn and (not is_typical or len(torn) == len(met)):
        return Finding(verdict="differs", reason=_torn_words(torn))
    pairs, missing = [], []
    for one, there in met:
        if _is_unbounded(one) != _is_unbounded(there):
            continue
        try:
            pairs.append(_pair(claim, one, there, evidence, confidence=each))
        except NoEvidenceError as error:
            missing.append(error)
    if not pairs:
        raise missing[0]
    worst = max(pairs, key=_distance)
    typical = _typical(pairs, len(torn)) if is_typical else None
    verdict = _verdict(claim, pairs, typical, missing)
    reason = (
        _reason(claim, pairs, verdict, each, missing)
        if typical is None
        else _reason_of_median(claim, typical, verdict, missing)
    )
    if torn:
        reason = f"{_torn_words(torn)}, an error without bound; {reason}"
    return Finding(
        verdict=verdict,
        reason=reason,
        ours=_ours(pairs, worst, typical),
        value=worst.ratio,
        low=worst.low,
        high=worst.high,
        unit="1",
        pairs=pairs,
    )


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


def _torn_words(torn: Sequence[tuple[MeasuredPoint, MeasuredPoint]]) -> str:
    side = "predicted" if _is_unbounded(torn[0][0]) else "measured"
    where = "; ".join(format_levels(one.levels) for one, _ in torn)
    return f"at {where}: {side} without bound, as the point is saturated, and only there"


def _typical(pairs: Sequence[PredictedPair], torn: int) -> Interval:
    """Return the median of the errors, as shares of what was measured; `torn` have no bound."""
    endless = [math.inf] * torn
    return Interval(
        value=median([*map(_distance, pairs), *endless]),
        low=median([*map(_least_error, pairs), *endless]),
        high=median([*map(_largest_error, pairs), *endless]),
        method="none",
    )


def _least_error(pair: PredictedPair) -> float:
    low = 0.0 if pair.low is None else pair.low
    high = math.inf if pair.high is None else pair.high
    return max(low - 1.0, 1.0 - high, 0.0)


def _largest_error(pair: PredictedPair) -> float:
    if pair.low is None or pair.high is None:
        return math.inf
    return max(abs(pair.low - 1.0), abs(pair.high - 1.0))


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
    return math.inf if pair.ratio is None else abs(pair.ratio - 1.0)


def _ours(
    pairs: Sequence[PredictedPair], worst: PredictedPair, typical: Interval | None = None
) -> str:
    shown = _words_of(worst)
    if len(pairs) == 1:
        return shown
    at_worst = f"{shown} at worst, {format_levels(worst.levels)}, of {len(pairs)} points"
    return at_worst if typical is None else f"median error {_error_words(typical)}; {at_worst}"


def _error_words(typical: Interval) -> str:
    if typical.low == math.inf:
        return "without bound"
    if typical.value == math.inf:
        return "unknown"
    most = "more" if typical.high in {None, math.inf} else format_percent(typical.high or 0.0)
    return f"{format_percent(typical.value)} ({format_percent(typical.low or 0.0)} to {most})"


def _reason_of_median(
    claim: AgreementClaim,
    typical: Interval,
    verdict: Verdict,
    missing: Sequence[NoEvidenceError],
) -> str:
    limit = format_percent(claim.tolerance or 0.0)
    words = {
        "holds": f"is at most {limit} with its whole interval",
        "differs": f"is more than {limit} with its whole interval",
        "undecided": f"is at most {limit} in a part of its interval only",
    }
    text = f"the median of the errors, {_error_words(typical)}, {words[verdict]}"
    return f"{missing[0]}; {text}" if missing else text


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
        text = f"{_off_by(first)}{text}"
        if count > 1:
            text = f"at {format_levels(first.levels)}: {_words_of(first)}, {text}"
    if missing:
        text = f"{missing[0]}; {text}"
    if count > 1:
        text += f" (Bonferroni: each of {count} points at {100.0 * each:.6g} %)"
    return text


def _off_by(pair: PredictedPair) -> str:
    """Return by which factor a prediction is off, where that is worth a word."""
    if not pair.ratio or max(pair.ratio, 1.0 / pair.ratio) < _WORTH_A_WORD:
        return ""
    is_above = pair.ratio > 1.0
    factor = pair.ratio if is_above else 1.0 / pair.ratio
    return f"{'too high' if is_above else 'too low'} by a factor of {factor:.2g}, "


def _points(count: int) -> str:
    return "point agrees" if count == 1 else f"{count} points agree"
