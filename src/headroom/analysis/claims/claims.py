"""Claims: check each statement of a study against the results, using intervals.

A quantity *holds* if its whole interval lies inside the range that the claim allows. It *differs*
if the whole interval lies outside. It is *undecided* if the interval straddles the border or does
not exist. A claim about several levels consists of several comparisons. Each gets the confidence 1
- 0.05 / m (Bonferroni), so that all hold together with 95%, and the reason says so.

Invariant: between holds and differs always lies undecided, however the intervals shrink.

Sources: Bonferroni's inequality as in Law, *Simulation Modeling and Analysis* (2015), section
9.7; deciding by intervals as in equivalence tests, Schuirmann (1987).
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias, cast

import msgspec

from headroom.analysis.claims.agreement import check_agreement
from headroom.analysis.claims.claim_evidence import (
    INFINITY,
    VERDICTS,
    Evidence,
    Finding,
    MeasuredPoint,
    NoEvidenceError,
    Region,
    decide,
    missing,
    sample_at,
    selected,
    side_at,
    side_of,
)
from headroom.analysis.claims.errors import check_errors
from headroom.analysis.evidence import (
    CrossoversEvidence,
    CurveEvidence,
    FlatEvidence,
    IntervalEvidence,
    LevelEstimate,
    MissingEvidence,
    NoKnee,
    NoKneeEvidence,
    SignEvidence,
    Step,
    UnboundedEvidence,
    ZeroEvidence,
)
from headroom.analysis.results import ClaimResult, PrintedPoint, Verdict
from headroom.analysis.statistics.crossover import FEWEST_LEVELS, crossings_of, ratio_at
from headroom.analysis.statistics.dispersion import statistic_interval
from headroom.analysis.statistics.extremes import extreme_interval
from headroom.analysis.statistics.intervals import (
    CONFIDENCE,
    Interval,
    Sample,
    contrast,
    difference,
)
from headroom.analysis.statistics.versus import (
    NO_RATIO,
    Judgement,
    Side,
    contrast_of,
    has_ratio,
    judge,
    ratio_of,
)
from headroom.analysis.verdicts.knee import knee_over
from headroom.defects import fallback
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.study import (
    AgreementClaim,
    Claim,
    CrossoverClaim,
    ErrorsClaim,
    FlatClaim,
    KneeClaim,
    MonotoneClaim,
    OrderingClaim,
    RatioClaim,
    Statistic,
    ValueClaim,
    in_base_units,
)

_NUMBER = re.compile(r"\d+(\.\d+)?")
_CurveClaim: TypeAlias = OrderingClaim | MonotoneClaim | FlatClaim | KneeClaim | CrossoverClaim


def check_claim(claim: Claim, evidence: Evidence) -> ClaimResult:
    """Return the row of the claims table for one claim."""
    finding = fallback(lambda: _finding(claim, evidence), _failed)
    return ClaimResult(
        name=claim.name,
        text=claim.text,
        kind=str(claim.__struct_config__.tag),
        experiment=claim.experiment,
        metric=claim.metric,
        published=claim.published,
        source=claim.source,
        value=finding.value,
        low=finding.low,
        high=finding.high,
        unit=finding.unit,
        verdict=finding.verdict,
        evidence=finding.evidence,
        statistic=getattr(claim, "statistic", "centre"),
        printed=_printed(claim, evidence),
        **_about_pairs(claim, evidence, finding),
    )


def _failed(message: str) -> Finding:
    return Finding(verdict="undecided", evidence=MissingEvidence(code="defect", message=message))


def _printed(claim: Claim, evidence: Evidence) -> PrintedPoint | None:
    """Return the point for which a number was published, which `published` then begins with."""
    if not isinstance(claim, ValueClaim) or claim.statistic != "centre":
        return None
    number = _NUMBER.match(claim.published)
    points = [
        point
        for point in evidence.points
        if all(point.levels.get(name) == level for name, level in claim.where.items())
    ]
    if number is None or float(number[0]) != claim.value or len(points) != 1:
        return None
    return PrintedPoint(dict(points[0].levels), float(claim.value))


def _finding(claim: Claim, evidence: Evidence) -> Finding:
    try:
        return _CHECKS[type(claim)](claim, evidence)
    except NoEvidenceError as error:
        return Finding(verdict="undecided", evidence=error.missing)


def _about_pairs(claim: Claim, evidence: Evidence, finding: Finding) -> dict[str, Any]:
    """Return additional text for the row of a claim about two experiments."""
    if not isinstance(claim, AgreementClaim | ErrorsClaim):
        return {}
    bound = claim.worst_at_most if isinstance(claim, ErrorsClaim) else claim.tolerance
    worst = in_base_units(bound)
    return {
        "to_experiment": claim.to_experiment,
        "to_metric": claim.to_metric or claim.metric,
        "tolerance": worst if worst is not None and worst < 1.0 else None,
        "pairs": list(finding.pairs),
        "pair_unit": evidence.unit,
    }


def _check_value(claim: ValueClaim, evidence: Evidence) -> Finding:
    sample = sample_at(claim.where, claim, evidence)
    if claim.statistic in {"minimum", "maximum"} and not sample.is_unbounded:
        of = claim.extreme_of or sample.values.size
        interval = extreme_interval(sample.values, claim.statistic, of=of)
    else:
        interval = statistic_interval(sample, cast("Statistic", claim.statistic))
    return _of_interval(interval, _value_region(claim), evidence.unit, of=claim.extreme_of)


def _value_region(claim: ValueClaim) -> Region:
    value = in_base_units(claim.value)
    if value is None:
        return _bounds(claim)
    margin = claim.tolerance_absolute
    if margin is None:
        margin = (claim.tolerance or 0.0) * abs(value)
    return Region(value - margin, value + margin)


def _bounds(claim: ValueClaim | RatioClaim) -> Region:
    low, high = in_base_units(claim.at_least), in_base_units(claim.at_most)
    return Region(-INFINITY if low is None else low, INFINITY if high is None else high)


def _check_ratio(claim: RatioClaim, evidence: Evidence) -> Finding:
    above = side_at(claim.where, claim, evidence)
    below = side_at(claim.to, claim, evidence)
    region = _ratio_region(claim)
    if not above.sample.values.any() and not below.sample.values.any():
        return _of_nothing(region)
    verdict = judge(above, below, low=region.low, high=region.high, statistic=claim.statistic)
    return _of_judgement(verdict, region)


def _of_nothing(region: Region) -> Finding:
    """Return the result of a ratio claim if the metric is zero in every run of both points."""
    holds = region.low <= 1.0 <= region.high
    return Finding(
        verdict="holds" if holds else "undecided", evidence=ZeroEvidence(allowed=region.allowed())
    )


def _of_judgement(found: Judgement, region: Region) -> Finding:
    if found.ratio.value == found.ratio.value:
        return _of_interval(found.ratio, region, "1", is_ratio=True)
    reason = None if found.reason == NO_RATIO else found.reason
    evidence = SignEvidence(allowed=region.allowed(), place=found.place, reason=reason)
    return Finding(verdict=VERDICTS[found.place], evidence=evidence, unit="1")


def _ratio_region(claim: RatioClaim) -> Region:
    bounds = _bounds(claim)
    if claim.value is None:
        return bounds
    margin = (claim.tolerance or 0.0) * abs(claim.value)
    return Region(max(bounds.low, claim.value - margin), min(bounds.high, claim.value + margin))


def _of_interval(
    interval: Interval, region: Region, unit: str, *, is_ratio: bool = False, of: int | None = None
) -> Finding:
    """Return the verdict of one interval.

    Parameters
    ----------
    interval
        In `unit`, or how many times something is.
    region
        What the claim allows.
    unit
        Base unit of the interval.
    is_ratio
        Whether it says how many times something is.
    of
        Of a smallest or largest value: over how many replications.
    """
    is_unbounded = abs(interval.value) == INFINITY
    return Finding(
        verdict=decide(interval, region),
        evidence=IntervalEvidence(
            allowed=region.allowed(),
            is_ratio=is_ratio,
            is_unbounded=is_unbounded,
            extreme_of=of,
            reason=interval.reason,
        ),
        value=None if is_unbounded else interval.value,
        low=None if is_unbounded else interval.low,
        high=None if is_unbounded else interval.high,
        unit=unit,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One of the comparisons that make up a claim: weighted points against `region`.

    `level` is compared with `to_level`, or with the mean of all levels if that is None.
    """

    level: Value
    to_level: Value | None
    sides: Sequence[Side]
    weights: Sequence[float]
    region: Region


def _check_ordering(claim: OrderingClaim, evidence: Evidence) -> Finding:
    curve = _curve(claim, evidence, levels=claim.order)
    smallest = 5e-324  # Strictly above zero, for exact values too.
    parts = [
        _Part(
            level=low,
            to_level=high,
            sides=[curve[high], curve[low]],
            weights=[1.0, -1.0],
            region=Region(smallest),
        )
        for low, high in pairwise(claim.order)
    ]
    decided = _decide_parts(parts)
    found = CurveEvidence(
        shape="ordered",
        factor=claim.factor,
        levels=[_estimate_at(level, curve[level].sample) for level in claim.order],
        comparisons=len(parts),
        confidence=decided.confidence,
        decisive=decided.decisive,
    )
    return Finding(verdict=decided.verdict, evidence=found, unit=evidence.unit)


def _estimate_at(level: Value, sample: Sample) -> LevelEstimate:
    interval = sample.interval()
    is_unbounded = abs(interval.value) == INFINITY
    return LevelEstimate(
        level=level,
        value=None if is_unbounded else interval.value,
        low=None if is_unbounded else interval.low,
        high=None if is_unbounded else interval.high,
    )


def _check_monotone(claim: MonotoneClaim, evidence: Evidence) -> Finding:
    curve = _numeric_curve(claim, evidence)
    sign = 1.0 if claim.direction == "rises" else -1.0
    parts = [
        _step(claim, (low, curve[low]), (high, curve[high]), sign) for low, high in pairwise(curve)
    ]
    decided = _decide_parts(parts)
    found = CurveEvidence(
        shape="rises" if claim.direction == "rises" else "falls",
        factor=claim.factor,
        levels=[_estimate_at(level, side.sample) for level, side in curve.items()],
        smallest_step=_smallest_step(curve, sign),
        comparisons=len(parts),
        confidence=decided.confidence,
        decisive=decided.decisive,
    )
    return Finding(verdict=decided.verdict, evidence=found, unit=evidence.unit)


def _smallest_step(curve: Mapping[float, Side], sign: float) -> Step:
    """Return the smallest step between neighbours in the direction of `sign`."""
    low, high = min(
        pairwise(curve),
        key=lambda step: sign * (curve[step[1]].sample.value - curve[step[0]].sample.value),
    )
    first, last = (curve[level].sample for level in (low, high))
    found = difference(last, first) if sign > 0.0 else difference(first, last)
    return _step_evidence(low, high, found)


def _step_evidence(
    level: Value, to_level: Value | None, found: Interval, *, is_ratio: bool = False
) -> Step:
    is_finite = math.isfinite(found.value)
    return Step(
        level=level,
        to_level=to_level,
        is_ratio=is_ratio,
        value=found.value if is_finite else None,
        low=found.low if is_finite else None,
        high=found.high if is_finite else None,
        reason=found.reason,
    )


def _step(
    claim: MonotoneClaim, before: tuple[float, Side], after: tuple[float, Side], sign: float
) -> _Part:
    """Return the comparison of neighbours: after - before, a small step back allowed."""
    level, side = before
    allowed = sign * claim.tolerance * (1.0 if side.sample.value >= 0.0 else -1.0)
    return _Part(
        level=level,
        to_level=after[0],
        sides=[after[1], side],
        weights=[sign, -sign * (1.0 - allowed)],
        region=Region(low=0.0),
    )


def _check_flat(claim: FlatClaim, evidence: Evidence) -> Finding:
    start = -INFINITY if claim.start is None else claim.start
    stop = INFINITY if claim.stop is None else claim.stop
    curve = _numeric_curve(claim, evidence, start=start, stop=stop)
    sides = list(curve.values())
    samples = [side.sample for side in sides]
    steep = [level for level, side in curve.items() if side.sample.is_unbounded]
    if steep:
        full = UnboundedEvidence(factor=claim.factor, level=steep[0])
        return Finding(verdict="differs", evidence=full)
    mean = sum(sample.value for sample in samples) / len(samples)
    parts = [
        part
        for place, level in enumerate(curve)
        for part in _within_of_mean(claim, sides, place, level, 1.0 if mean >= 0.0 else -1.0)
    ]
    decided = _decide_parts(parts)
    average = contrast(samples, [1.0 / len(samples)] * len(samples))
    found = FlatEvidence(
        factor=claim.factor,
        mean=average.value,
        mean_low=average.low,
        mean_high=average.high,
        largest_distance=max(abs(sample.value - mean) for sample in samples),
        comparisons=len(parts),
        confidence=decided.confidence,
        decisive=decided.decisive,
    )
    return Finding(verdict=decided.verdict, evidence=found, unit=evidence.unit)


def _within_of_mean(
    claim: FlatClaim, sides: Sequence[Side], place: int, level: float, sign: float
) -> list[_Part]:
    """Return both comparisons of one level with the mean of all, widened by the tolerance."""
    parts = []
    for side in (1.0, -1.0):
        of_mean = (1.0 + side * sign * (claim.tolerance or 0.0)) / len(sides)
        weights = [-of_mean] * len(sides)
        weights[place] += 1.0
        bound = Region(high=0.0) if side > 0.0 else Region(low=0.0)
        parts.append(_Part(level=level, to_level=None, sides=sides, weights=weights, region=bound))
    return parts


@dataclass(frozen=True, slots=True)
class _Decided:
    """The verdict of several comparisons that must hold together."""

    verdict: Verdict
    confidence: float
    decisive: Step | None


def _decide_parts(parts: Sequence[_Part]) -> _Decided:
    each = 1.0 - (1.0 - CONFIDENCE) / len(parts)
    margins = [_margin_of(part, confidence=each) for part in parts]
    verdicts = [decide(margin.interval, margin.region) for margin in margins]
    verdict: Verdict = next((v for v in ("differs", "undecided") if v in verdicts), "holds")
    if verdict == "holds":
        return _Decided(verdict, each, None)
    first = verdicts.index(verdict)
    part, margin = parts[first], margins[first]
    step = _step_evidence(part.level, part.to_level, margin.interval, is_ratio=margin.is_ratio)
    return _Decided(verdict, each, step)


@dataclass(frozen=True, slots=True)
class _Margin:
    """The result of one comparison, its allowed range, and whether it is a ratio."""

    interval: Interval
    region: Region
    is_ratio: bool


def _margin_of(part: _Part, *, confidence: float) -> _Margin:
    """Return a step between two measured points as their ratio, any other as a weighted sum.

    A step asks whether one point is larger, as a comparison does, and must have its answer.
    """
    if len(part.sides) == 2 and part.sides[0].is_measured and has_ratio(*part.sides):  # noqa: PLR2004
        ratio = ratio_of(*part.sides, confidence=confidence)
        return _Margin(ratio, _region_of_ratio(part), is_ratio=True)
    found = contrast_of(part.sides, part.weights, confidence=confidence)
    return _Margin(found, part.region, is_ratio=False)


def _region_of_ratio(part: _Part) -> Region:
    """Return where the ratio of two points must lie so that their weighted sum is in its region."""
    factor = -part.weights[1] / part.weights[0]
    is_floor = part.region.high == INFINITY
    if is_floor != (part.weights[0] > 0.0):
        return Region(high=factor)
    is_strict = is_floor and part.region.low > 0.0
    return Region(low=math.nextafter(factor, INFINITY) if is_strict else factor)


def _check_knee(claim: KneeClaim, evidence: Evidence) -> Finding:
    curve = _numbers(claim, _levels(claim, evidence))
    fit = knee_over({level: point.sample for level, point in curve.items()})
    if fit.level is None:
        reason = fit.reason or NoKnee(code="straight")
        without = NoKneeEvidence(reason=reason, without=list(fit.without))
        return Finding(verdict="undecided", evidence=without)
    margin = (claim.tolerance or 0.0) * abs(claim.level)
    unit = (evidence.factor_units or {}).get(claim.factor, "")
    region = Region(claim.level - margin, claim.level + margin)
    interval = Interval(value=fit.level, low=fit.low, high=fit.high, method="student-t")
    evidence_of_knee = IntervalEvidence(
        allowed=region.allowed(), is_cut=fit.is_cut, without=list(fit.without)
    )
    return replace(_of_interval(interval, region, unit), evidence=evidence_of_knee)


def _check_crossover(claim: CrossoverClaim, evidence: Evidence) -> Finding:
    """Return where the metric at `where` and at `to` change places; a claim is about one place."""
    here = _numbers(claim, _levels(claim, evidence))
    there = _numbers(claim, _levels(msgspec.structs.replace(claim, where=claim.to), evidence))
    ratios = {
        level: ratio_of(
            side_of(here[level], claim.metric, evidence),
            side_of(there[level], claim.metric, evidence),
        )
        for level in sorted(set(here) & set(there))
    }
    if len(ratios) < FEWEST_LEVELS:
        raise NoEvidenceError(MissingEvidence(code="few_common_levels", factor=claim.factor))
    crossings = crossings_of([ratio_at(level, one) for level, one in ratios.items()])
    if len(crossings.crossings) != 1:
        count = len(crossings.crossings)
        is_sure = not count and all(stretch.side for stretch in crossings.stretches)
        several = CrossoversEvidence(count=count, levels=len(ratios))
        return Finding(verdict="differs" if is_sure else "undecided", evidence=several)
    (one,) = crossings.crossings
    middle = (one.low + one.high) / 2.0 if one.level is None else one.level
    interval = Interval(value=middle, low=one.low, high=one.high, method="none")
    margin = (claim.tolerance or 0.0) * abs(claim.level)
    unit = (evidence.factor_units or {}).get(claim.factor, "")
    return _of_interval(interval, Region(claim.level - margin, claim.level + margin), unit)


def _levels(claim: _CurveClaim, evidence: Evidence) -> dict[Value, MeasuredPoint]:
    """Return the points over the levels of a factor, the other factors held by `where`."""
    curve: dict[Value, MeasuredPoint] = {}
    for point in selected(claim.where, evidence):
        level = point.levels.get(claim.factor)
        if level is None:
            raise NoEvidenceError(MissingEvidence(code="not_a_factor", factor=claim.factor))
        if level in curve:
            raise NoEvidenceError(
                MissingEvidence(
                    code="repeated_level", factor=claim.factor, levels={claim.factor: level}
                )
            )
        curve[level] = point
    return curve


def _curve(claim: _CurveClaim, evidence: Evidence, *, levels: Sequence[Value]) -> dict[Value, Side]:
    """Return the points at `levels`; points at other levels may lack figures."""
    found = _levels(claim, evidence)
    for level in levels:
        if level not in found:
            raise missing({claim.factor: level}, evidence)
    return {level: side_of(found[level], claim.metric, evidence) for level in levels}


def _numbers(
    claim: _CurveClaim, found: Mapping[Value, MeasuredPoint]
) -> dict[float, MeasuredPoint]:
    """Return the curve in ascending order of a factor that must be a number."""
    for level in found:
        if isinstance(level, (str, bool)):
            raise NoEvidenceError(
                MissingEvidence(
                    code="not_a_number", factor=claim.factor, levels={claim.factor: level}
                )
            )
    levels = sorted(found, key=float)
    return {float(level): found[level] for level in levels}


def _numeric_curve(
    claim: _CurveClaim, evidence: Evidence, *, start: float = -INFINITY, stop: float = INFINITY
) -> dict[float, Side]:
    """Return the points from `start` to `stop` in ascending order, two levels or more."""
    numbers = _numbers(claim, _levels(claim, evidence))
    inside = [level for level in numbers if start <= level <= stop]
    if len(inside) < 2:  # noqa: PLR2004 - nothing to compare
        raise NoEvidenceError(
            MissingEvidence(
                code="few_levels_in_range" if len(inside) < len(numbers) else "few_levels",
                factor=claim.factor,
                is_quick=evidence.is_quick,
            )
        )
    return {level: side_of(numbers[level], claim.metric, evidence) for level in inside}


_CHECKS: dict[type, Callable[[Any, Evidence], Finding]] = {
    ValueClaim: _check_value,
    RatioClaim: _check_ratio,
    AgreementClaim: check_agreement,
    ErrorsClaim: check_errors,
    OrderingClaim: _check_ordering,
    MonotoneClaim: _check_monotone,
    FlatClaim: _check_flat,
    KneeClaim: _check_knee,
    CrossoverClaim: _check_crossover,
}
