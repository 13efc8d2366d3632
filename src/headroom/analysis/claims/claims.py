"""Claims: each checkable sentence of a study against our figures, decided by intervals.

A quantity *holds* when its whole interval lies inside what the claim allows, *differs* when the
whole interval lies outside, and is *undecided* when it straddles the border or when there is no
interval. Claims about several levels are several comparisons: each gets the confidence
1 - 0.05 / m (Bonferroni), so that all hold together with 95 %, and the reason says so.

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
    LEFT_OUT,
    VERDICTS,
    Evidence,
    Finding,
    MeasuredPoint,
    NoEvidenceError,
    decide,
    missing,
    sample_at,
    selected,
    side_at,
    side_of,
)
from headroom.analysis.claims.claim_words import INFINITY, STATISTIC_WORDS, Region, Words
from headroom.analysis.results import ClaimResult, PrintedPoint, Verdict
from headroom.analysis.statistics.crossover import FEWEST_LEVELS, crossings_of, ratio_at
from headroom.analysis.statistics.dispersion import statistic_interval
from headroom.analysis.statistics.extremes import extreme_interval
from headroom.analysis.statistics.intervals import CONFIDENCE, Interval, Sample, contrast
from headroom.analysis.statistics.versus import (
    Judgement,
    Place,
    Side,
    contrast_of,
    has_ratio,
    judge,
    ratio_of,
)
from headroom.analysis.verdicts.knee import KneeFit, knee_over
from headroom.defects import fallback
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.study import (
    AgreementClaim,
    Claim,
    CrossoverClaim,
    Extreme,
    FlatClaim,
    KneeClaim,
    MonotoneClaim,
    OrderingClaim,
    RatioClaim,
    Statistic,
    ValueClaim,
    in_base_units,
)
from headroom.quantities import format_level, format_limit

_NUMBER = re.compile(r"\d+(\.\d+)?")
_CurveClaim: TypeAlias = OrderingClaim | MonotoneClaim | FlatClaim | KneeClaim | CrossoverClaim


def check_claim(claim: Claim, evidence: Evidence) -> ClaimResult:
    """Return the row of the claims table for one claim."""
    finding = fallback(
        lambda: _finding(claim, evidence),
        lambda reason: Finding(verdict="undecided", reason=reason),
    )
    return ClaimResult(
        name=claim.name,
        text=claim.text,
        kind=str(claim.__struct_config__.tag),
        experiment=claim.experiment,
        metric=claim.metric,
        published=claim.published,
        source=claim.source,
        ours=finding.ours,
        value=finding.value,
        low=finding.low,
        high=finding.high,
        unit=finding.unit,
        verdict=finding.verdict,
        reason=finding.reason,
        statistic=getattr(claim, "statistic", "centre"),
        printed=_printed(claim, evidence),
        **_about_pairs(claim, evidence, finding),
    )


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
    except NoEvidenceError as reason:
        return Finding(verdict="undecided", reason=str(reason))


def _about_pairs(claim: Claim, evidence: Evidence, finding: Finding) -> dict[str, Any]:
    """Return what the row of a claim about two experiments says besides."""
    if not isinstance(claim, AgreementClaim):
        return {}
    return {
        "to_experiment": claim.to_experiment,
        "to_metric": claim.to_metric or claim.metric,
        "tolerance": claim.tolerance,
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
    found = _of_interval(interval, _value_region(claim), _words(claim, evidence))
    return _of_statistic(found, claim.statistic, of=claim.extreme_of)


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


def _of_statistic(
    found: Finding, statistic: Statistic | Extreme, *, of: int | None = None
) -> Finding:
    """Say what of the replications a figure is, where it is not their centre."""
    if statistic == "centre":
        return found
    words = STATISTIC_WORDS[statistic]
    over = "over the replications" if of is None else f"of {of} replications, at the median"
    return replace(found, reason=f"{words} {over}: {found.reason}")


def _check_ratio(claim: RatioClaim, evidence: Evidence) -> Finding:
    above = side_at(claim.where, claim, evidence)
    below = side_at(claim.to, claim, evidence)
    region = _ratio_region(claim)
    if not above.sample.values.any() and not below.sample.values.any():
        return _of_nothing(region)
    found = judge(above, below, low=region.low, high=region.high, statistic=claim.statistic)
    return _of_statistic(_of_judgement(found, region), claim.statistic)


def _of_nothing(region: Region) -> Finding:
    """Return what a ratio claim is about a metric that is zero in every run of both points."""
    holds = region.low <= 1.0 <= region.high
    return Finding(
        verdict="holds" if holds else "undecided",
        reason="zero in every run of both points" + (", so equal" if holds else ": no ratio"),
        ours="no ratio",
    )


def _of_judgement(found: Judgement, region: Region) -> Finding:
    words = Words(unit="1", is_ratio=True)
    verdict = VERDICTS[found.place]
    if found.ratio.value == found.ratio.value:
        return _of_interval(found.ratio, region, words)
    reason = f"{found.note}: {_by_sign(found.place)} {words.allowed(region)}"
    return Finding(verdict=verdict, reason=reason, ours="no ratio", unit=words.unit)


def _by_sign(place: Place) -> str:
    return {"inside": "surely", "unclear": "perhaps not"}.get(place, "surely not")


def _ratio_region(claim: RatioClaim) -> Region:
    bounds = _bounds(claim)
    if claim.value is None:
        return bounds
    margin = (claim.tolerance or 0.0) * abs(claim.value)
    return Region(max(bounds.low, claim.value - margin), min(bounds.high, claim.value + margin))


def _of_interval(interval: Interval, region: Region, words: Words) -> Finding:
    verdict = decide(interval, region)
    if interval.value == INFINITY:
        reason = f"the point is saturated, so no value is {words.allowed(region)}"
        return Finding(verdict=verdict, reason=reason, ours=words.found(interval), unit=words.unit)
    return Finding(
        verdict=verdict,
        reason=interval.note or words.reason(verdict, region),
        ours=words.found(interval),
        value=interval.value,
        low=interval.low,
        high=interval.high,
        unit=words.unit,
    )


def _words(claim: Claim, evidence: Evidence) -> Words:
    return Words(unit=evidence.unit, metric=claim.metric)


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the comparisons that make up a claim: weighted points against `region`."""

    text: str
    sides: Sequence[Side]
    weights: Sequence[float]
    region: Region


def _check_ordering(claim: OrderingClaim, evidence: Evidence) -> Finding:
    curve = _curve(claim, evidence, levels=claim.order)
    words = _words(claim, evidence)
    figures = [words.at(curve[level].sample, level) for level in claim.order]
    steps = list(pairwise(claim.order))
    smallest = 5e-324  # Strictly above zero, for exact values too.
    parts = [
        _Part(
            f"{claim.metric} from {claim.factor} = {format_level(a)} to {format_level(b)}",
            [curve[b], curve[a]],
            [1.0, -1.0],
            Region(smallest),
        )
        for a, b in steps
    ]
    finding = _of_parts(parts, ", ".join(figures), words)
    return replace(finding, ours=" < ".join(figures)) if finding.verdict == "holds" else finding


def _check_monotone(claim: MonotoneClaim, evidence: Evidence) -> Finding:
    curve = _numeric_curve(claim, evidence)
    sign = 1.0 if claim.direction == "rises" else -1.0
    parts = [
        _step(claim, (low, curve[low]), (high, curve[high]), sign) for low, high in pairwise(curve)
    ]
    words = _words(claim, evidence)
    samples = {level: side.sample for level, side in curve.items()}
    return _of_parts(parts, words.curve(samples, sign=sign), words)


def _step(
    claim: MonotoneClaim, before: tuple[float, Side], after: tuple[float, Side], sign: float
) -> _Part:
    """Return the comparison of neighbours: after - before, a small step back allowed."""
    level, side = before
    allowed = sign * claim.tolerance * (1.0 if side.sample.value >= 0.0 else -1.0)
    return _Part(
        f"{claim.metric} from {claim.factor} = {format_level(level)} to {format_level(after[0])}",
        [after[1], side],
        [sign, -sign * (1.0 - allowed)],
        Region(low=0.0),
    )


def _check_flat(claim: FlatClaim, evidence: Evidence) -> Finding:
    start = -INFINITY if claim.start is None else claim.start
    stop = INFINITY if claim.stop is None else claim.stop
    curve = _numeric_curve(claim, evidence, start=start, stop=stop)
    sides = list(curve.values())
    samples = [side.sample for side in sides]
    steep = [level for level, side in curve.items() if side.sample.is_unbounded]
    if steep:
        reason = f"{claim.metric} grows without bound at {claim.factor} = {format_level(steep[0])}"
        return Finding(verdict="differs", reason=f"{reason}: the point is saturated")
    mean = sum(sample.value for sample in samples) / len(samples)
    parts = [
        part
        for place, level in enumerate(curve)
        for part in _within_of_mean(claim, sides, place, level, 1.0 if mean >= 0.0 else -1.0)
    ]
    words = _words(claim, evidence)
    return _of_parts(parts, _flat_in_words(samples, mean, words), words)


def _flat_in_words(samples: Sequence[Sample], mean: float, words: Words) -> str:
    on_average = words.found(contrast(samples, [1.0 / len(samples)] * len(samples)))
    largest = max(abs(sample.value - mean) for sample in samples)
    within = format_limit(largest / abs(mean)) if mean else words.given(largest)
    return f"{on_average} on average, every level within {within} of it"


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
        text = f"{claim.metric} at {claim.factor} = {format_level(level)} against the mean"
        parts.append(_Part(text, sides, weights, bound))
    return parts


def _of_parts(parts: Sequence[_Part], ours: str, words: Words) -> Finding:
    """Return the verdict of several comparisons that must hold together."""
    each = 1.0 - (1.0 - CONFIDENCE) / len(parts)
    margins = [_margin_of(part, words, confidence=each) for part in parts]
    verdicts = [decide(margin.interval, margin.region) for margin in margins]
    verdict: Verdict = next((v for v in ("differs", "undecided") if v in verdicts), "holds")
    first = verdicts.index(verdict)
    reason = "every comparison holds" if verdict == "holds" else parts[first].text
    if verdict != "holds":
        reason += _margin_text(verdict, margins[first])
    if len(parts) > 1:
        reason += f" (Bonferroni: each of {len(parts)} comparisons at {100.0 * each:.6g} %)"
    return Finding(verdict=verdict, reason=reason, ours=ours, unit=words.unit)


@dataclass(frozen=True, slots=True)
class _Margin:
    """What one comparison came to, where it must lie, and how it is written."""

    interval: Interval
    region: Region
    words: Words


def _margin_of(part: _Part, words: Words, *, confidence: float) -> _Margin:
    """Return a step between two measured points as their ratio, any other as a weighted sum.

    A step asks whether one point is larger, as a comparison does, and must have its answer.
    """
    if len(part.sides) == 2 and part.sides[0].is_measured and has_ratio(*part.sides):  # noqa: PLR2004
        region = _region_of_ratio(part)
        ratio = ratio_of(*part.sides, confidence=confidence)
        return _Margin(ratio, region, Words(unit="1", is_ratio=True))
    found = contrast_of(part.sides, part.weights, confidence=confidence)
    return _Margin(found, part.region, words)


def _region_of_ratio(part: _Part) -> Region:
    """Return where the ratio of two points must lie so that their weighted sum is in its region."""
    factor = -part.weights[1] / part.weights[0]
    is_floor = part.region.high == INFINITY
    if is_floor != (part.weights[0] > 0.0):
        return Region(high=factor)
    is_strict = is_floor and part.region.low > 0.0
    return Region(low=math.nextafter(factor, INFINITY) if is_strict else factor)


def _margin_text(verdict: Verdict, margin: _Margin) -> str:
    if margin.interval.note:
        return f": {margin.interval.note}"
    word = "contradicts the claim" if verdict == "differs" else "does not settle it"
    return f": the margin {margin.words.found(margin.interval)} {word}"


def _check_knee(claim: KneeClaim, evidence: Evidence) -> Finding:
    curve = _numbers(claim, _levels(claim, evidence))
    fit = knee_over({level: point.sample for level, point in curve.items()})
    if fit.level is None:
        return Finding(verdict="undecided", reason=fit.note, ours="no knee found")
    margin = (claim.tolerance or 0.0) * abs(claim.level)
    unit = (evidence.factor_units or {}).get(claim.factor, "")
    region = Region(claim.level - margin, claim.level + margin)
    found = _of_interval(_as_interval(fit), region, Words(unit=unit))
    return replace(found, reason="; ".join(filter(None, [found.reason, fit.note])))


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
        raise NoEvidenceError(f"fewer than two levels of {claim.factor} were run in both")
    found = crossings_of([ratio_at(level, one) for level, one in ratios.items()])
    if len(found.crossings) != 1:
        count = len(found.crossings)
        is_sure = not count and all(stretch.side for stretch in found.stretches)
        reason = f"{count} crossovers" if count else "no crossover is shown by the levels"
        return Finding(verdict="differs" if is_sure else "undecided", reason=reason, ours=reason)
    (one,) = found.crossings
    middle = (one.low + one.high) / 2.0 if one.level is None else one.level
    interval = Interval(value=middle, low=one.low, high=one.high, method="none")
    margin = (claim.tolerance or 0.0) * abs(claim.level)
    unit = (evidence.factor_units or {}).get(claim.factor, "")
    return _of_interval(
        interval, Region(claim.level - margin, claim.level + margin), Words(unit=unit)
    )


def _as_interval(fit: KneeFit) -> Interval:
    return Interval(value=fit.level or 0.0, low=fit.low, high=fit.high, method="student-t")


def _levels(claim: _CurveClaim, evidence: Evidence) -> dict[Value, MeasuredPoint]:
    """Return the points over the levels of a factor, the other factors held by `where`."""
    curve: dict[Value, MeasuredPoint] = {}
    for point in selected(claim.where, evidence):
        level = point.levels.get(claim.factor)
        if level is None:
            raise NoEvidenceError(f"{claim.factor} is not a factor of the experiment")
        if level in curve:
            raise NoEvidenceError(
                f"several points have {claim.factor} = {format_level(level)}: "
                "name the other factors in where"
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
            raise NoEvidenceError(f"{claim.factor} = {format_level(level)} is not a number")
    levels = sorted(found, key=float)
    return {float(level): found[level] for level in levels}


def _numeric_curve(
    claim: _CurveClaim, evidence: Evidence, *, start: float = -INFINITY, stop: float = INFINITY
) -> dict[float, Side]:
    """Return the points from `start` to `stop` in ascending order, two levels or more."""
    found = _numbers(claim, _levels(claim, evidence))
    inside = [level for level in found if start <= level <= stop]
    if len(inside) < 2:  # noqa: PLR2004 - nothing to compare
        is_cut = len(inside) < len(found)
        few = f"fewer than two levels of {claim.factor} lie in the range" if is_cut else (
            f"{claim.factor} has only one level here"
        )  # fmt: skip
        raise NoEvidenceError(f"{LEFT_OUT}: {few}" if evidence.is_quick else few)
    return {level: side_of(found[level], claim.metric, evidence) for level in inside}


_CHECKS: dict[type, Callable[[Any, Evidence], Finding]] = {
    ValueClaim: _check_value,
    RatioClaim: _check_ratio,
    AgreementClaim: check_agreement,
    OrderingClaim: _check_ordering,
    MonotoneClaim: _check_monotone,
    FlatClaim: _check_flat,
    KneeClaim: _check_knee,
    CrossoverClaim: _check_crossover,
}
