"""Claims about the errors of a prediction over all points that two experiments have in common.

The intervals of the median and the worst error follow from those of the points, which hold together
with 95% (see `headroom.analysis.claims.agreement`). The rank correlation is Spearman's; its bounds
come from draws of all points within their own errors. It may leave out what was not measured to
differ (`headroom.analysis.claims.noise`). The share of equal signs counts differences to a point of
reference; one whose interval includes zero on either side, at a confidence at which all hold
together, may have either sign.

Invariant: a claim holds only where each figure is within its bound with its whole interval.
"""

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import scipy

from headroom.analysis.claims.agreement import (
    error_of,
    is_unbounded,
    largest_error,
    least_error,
    met_points,
    pairs_of_points,
    typical_error,
    unbounded_pair,
)
from headroom.analysis.claims.claim_evidence import (
    Evidence,
    Finding,
    MeasuredPoint,
    NoEvidenceError,
    Region,
    decide,
    side_of,
)
from headroom.analysis.claims.noise import BeyondNoise, beyond_noise
from headroom.analysis.evidence import (
    Absent,
    ErrorCode,
    ErrorMeasure,
    ErrorsEvidence,
    MissingEvidence,
)
from headroom.analysis.results import PredictedPair, Verdict
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval
from headroom.analysis.statistics.versus import contrast_of
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.study.study import ErrorsClaim, in_base_units

RANK_DRAWS = 400
"""Draws of all points for the interval of a rank correlation."""

Met: TypeAlias = Sequence[tuple[MeasuredPoint, MeasuredPoint]]


def check_errors(claim: ErrorsClaim, evidence: Evidence) -> Finding:
    """Return the result of a claim about the errors of a prediction."""
    met = met_points(claim, evidence, evidence.to or Evidence(points=[]))
    each = 1.0 - (1.0 - CONFIDENCE) / len(met)
    torn = [one for one, there in met if is_unbounded(one) != is_unbounded(there)]
    pairs, missing = pairs_of_points(claim, met, evidence, confidence=each)
    if not pairs:
        raise missing[0] if missing else NoEvidenceError(_all_saturated(met, claim))
    known = [
        both
        for both in met
        if all(point.sample is not None and not is_unbounded(point) for point in both)
    ]
    noise = _beyond_noise(claim, pairs, known, evidence)
    ranked = pairs if noise is None else noise.pairs
    measures = list(_measures(claim, pairs, len(torn), known, evidence, ranked=ranked))
    verdicts: list[Verdict] = [measure.verdict for measure in measures]
    if missing:
        verdicts.append("undecided")
    order: tuple[Verdict, ...] = ("differs", "undecided", "holds")
    return Finding(
        verdict=min(verdicts, key=order.index),
        evidence=ErrorsEvidence(
            count=len(met),
            measures=measures,
            worst=pairs.index(max(pairs, key=error_of)),
            unbounded=[unbounded_pair(one) for one in torn],
            missing=missing[0].missing if missing else None,
            within_noise=None if noise is None else noise.left_out,
        ),
        value=measures[0].value,
        low=measures[0].low,
        high=measures[0].high,
        unit="1",
        pairs=pairs,
    )


def _beyond_noise(
    claim: ErrorsClaim, pairs: Sequence[PredictedPair], met: Met, evidence: Evidence
) -> BeyondNoise | None:
    if not claim.beyond_noise:
        return None
    return beyond_noise(claim, pairs, [there for _, there in met], evidence.to or evidence)


def _all_saturated(met: Met, claim: ErrorsClaim) -> MissingEvidence:
    levels = dict(met[0][0].levels)
    absent = Absent(code="saturated")
    return MissingEvidence(code="no_results", metric=claim.metric, levels=levels, absent=absent)


def _measures(
    claim: ErrorsClaim,
    pairs: Sequence[PredictedPair],
    torn: int,
    met: Met,
    evidence: Evidence,
    *,
    ranked: Sequence[PredictedPair],
) -> Iterator[ErrorMeasure]:
    most, worst = in_base_units(claim.median_at_most), in_base_units(claim.worst_at_most)
    least = in_base_units(claim.signs_at_least)
    if most is not None:
        yield _measure("median", typical_error(pairs, torn), Region(high=most))
    if worst is not None:
        yield _measure("worst", _worst_error(pairs, torn), Region(high=worst))
    if claim.rank_at_least is not None:
        found = rank_correlation(ranked)
        yield _measure("rank", found, Region(claim.rank_at_least))
    if least is not None:
        yield _measure("signs", _equal_signs(claim, met, evidence), Region(least))


def _measure(code: ErrorCode, found: Interval, region: Region) -> ErrorMeasure:
    value, low, high = (
        None if one is None or not math.isfinite(one) else one
        for one in (found.value, found.low, found.high)
    )
    verdict = decide(found, region)
    return ErrorMeasure(
        code=code, value=value, low=low, high=high, allowed=region.allowed(), verdict=verdict
    )


def _worst_error(pairs: Sequence[PredictedPair], torn: int) -> Interval:
    endless = [math.inf] if torn else []
    return Interval(
        value=max([*map(error_of, pairs), *endless]),
        low=max([*map(least_error, pairs), *endless]),
        high=max([*map(largest_error, pairs), *endless]),
        method="none",
    )


def rank_correlation(pairs: Sequence[PredictedPair]) -> Interval:
    """Return Spearman's rank correlation of predicted and measured, with its 95% interval.

    Parameters
    ----------
    pairs
        The values, each with its own 95% interval.

    Notes
    -----
    All values are drawn again, each within its own error. Noise lowers a correlation of ranks, so
    the draws lie too low, and the upper bound mirrors the lower one. With noise of a tenth of the
    differences between points the interval covered the truth in 93% to 98% of trials; with half of
    them the correlation itself is too low, and points within the noise are better left out.
    """
    predicted = np.array([pair.predicted for pair in pairs])
    measured = np.array([pair.measured for pair in pairs])
    value = _rank_correlation(predicted, measured)
    if not math.isfinite(value):
        return Interval(value=math.nan, low=None, high=None, method="none")
    here = _errors_of([(one.predicted, one.predicted_low, one.predicted_high) for one in pairs])
    there = _errors_of([(one.measured, one.measured_low, one.measured_high) for one in pairs])
    if here is None or there is None:
        return Interval(value=value, low=-1.0, high=1.0, method="none")
    quantile = float(scipy.special.ndtri(0.5 + CONFIDENCE / 2.0))
    generator = np.random.default_rng(len(pairs))
    drawn = []
    for _ in range(RANK_DRAWS):
        moves = generator.standard_normal((2, len(pairs))) / quantile
        drawn.append(
            _rank_correlation(
                predicted + _moved(here, moves[0]), measured + _moved(there, moves[1])
            )
        )
    low, high = np.nanquantile(drawn, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0])
    low = min(float(low), value)
    high = min(max(float(high), 2.0 * value - low), 1.0)
    return Interval(value=value, low=low, high=high, method="none")


def _rank_correlation(first: FloatArray, second: FloatArray) -> float:
    """Return the correlation of the ranks, not-a-number without an order."""
    ranks = np.array([scipy.stats.rankdata(one) for one in (first, second)])
    if first.size < 2 or not ranks.std(axis=1).all():  # noqa: PLR2004 - no order
        return math.nan
    return float(np.corrcoef(ranks)[0, 1])


def _errors_of(
    values: Sequence[tuple[float, float | None, float | None]],
) -> tuple[FloatArray, FloatArray] | None:
    """Return how far each value may lie below and above, None if that is unknown for one."""
    if any(low is None or high is None for _, low, high in values):
        return None
    below = np.array([value - (low or 0.0) for value, low, _ in values])
    above = np.array([(high or 0.0) - value for value, _, high in values])
    return below, above


def _moved(errors: tuple[FloatArray, FloatArray], moves: FloatArray) -> FloatArray:
    found: FloatArray = np.where(moves < 0.0, errors[0] * moves, errors[1] * moves)
    return found


def _equal_signs(claim: ErrorsClaim, met: Met, evidence: Evidence) -> Interval:
    """Return the share of differences to the point of reference whose signs are equal."""
    to = evidence.to or evidence
    metrics = (claim.metric, claim.to_metric or claim.metric)
    found = []
    for points in met:
        reference = _reference(claim, points[0], met)
        if reference is None or reference[0] is points[0]:
            continue
        found.append(
            [
                (side_of(one, metric, source), side_of(base, metric, source))
                for one, base, metric, source in zip(
                    points, reference, metrics, (evidence, to), strict=True
                )
            ]
        )
    if not found:
        return Interval(value=math.nan, low=None, high=None, method="none")
    confidence = 1.0 - (1.0 - CONFIDENCE) / (2 * len(found))
    gaps = [
        [contrast_of(sides, [1.0, -1.0], confidence=confidence) for sides in both] for both in found
    ]
    equal = [bool(np.sign(one.value) == np.sign(other.value)) for one, other in gaps]
    sure = [_is_sure(one) and _is_sure(other) for one, other in gaps]
    count = len(gaps)
    surely = sum(a and b for a, b in zip(equal, sure, strict=True))
    never = sum(not a and b for a, b in zip(equal, sure, strict=True))
    return Interval(
        value=sum(equal) / count, low=surely / count, high=1.0 - never / count, method="none"
    )


def _is_sure(gap: Interval) -> bool:
    """Return whether the sign of a difference is sure; two exact equals have one as well."""
    if gap.low is None or gap.high is None:
        return False
    return gap.low > 0.0 or gap.high < 0.0 or gap.low == gap.high


def _reference(
    claim: ErrorsClaim, point: MeasuredPoint, met: Met
) -> tuple[MeasuredPoint, MeasuredPoint] | None:
    wanted = {**point.levels, **claim.reference}
    return next((both for both in met if dict(both[0].levels) == wanted), None)
