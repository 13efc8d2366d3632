"""The outcome of a claim as text: its value, the reason for its verdict, and one sentence."""

from headroom.analysis.evidence import (
    AgreementEvidence,
    Allowed,
    CrossoversEvidence,
    CurveEvidence,
    ErrorMeasure,
    ErrorsEvidence,
    FlatEvidence,
    IntervalEvidence,
    LevelEstimate,
    MissingEvidence,
    NoKneeEvidence,
    SignEvidence,
    Step,
    UnboundedEvidence,
    WithinNoise,
    ZeroEvidence,
)
from headroom.analysis.results import ClaimResult, PredictedPair
from headroom.quantities import (
    format_bounds,
    format_given,
    format_level,
    format_levels,
    format_limit,
    format_percent,
    format_ratio,
)
from headroom.report.sentences.intervals import absent_words, no_interval_words
from headroom.report.sentences.knee import no_knee_words, without_words
from headroom.report.sentences.numbers import (
    capital,
    given_times,
    short,
)
from headroom.report.words import count_noun, join_words, label_metric

LEVELS_LISTED = 4
"""A curve of more levels is described by its ends and its smallest step."""
WITHOUT_BOUND = "without bound"
_MORE = "run more replications"
_WORTH_A_WORD = 1.5
"""Factor from which a prediction is said to be off by it."""
_STATISTICS = {
    "mean": "mean",
    "median": "median",
    "stdev": "standard deviation",
    "mean_deviation": "mean deviation",
    "minimum": "smallest",
    "maximum": "largest",
}


def claim_sentence(claim: ClaimResult) -> str:
    """Return verdict, figure and reason of a claim as one sentence.

    Examples
    --------
    >>> from headroom.analysis.evidence import MissingEvidence
    >>> claim_sentence(ClaimResult(name="fast", text="It is fast.", kind="value", experiment="web",
    ...     metric="throughput", published="", value=None, low=None, high=None,
    ...     verdict="undecided", evidence=MissingEvidence(code="not_run")))
    'Undecided: the experiment was not run.'
    """
    clauses = "; ".join(filter(None, [claim_figure(claim), claim_reason(claim)]))
    return f"{capital(claim.verdict)}: {clauses}."


def claim_figure(claim: ClaimResult) -> str:
    """Return the figure of a claim with its interval, empty if there is none."""
    evidence = claim.evidence
    match evidence:
        case IntervalEvidence():
            figure = _interval_figure(claim, evidence)
        case SignEvidence() | ZeroEvidence():
            figure = "no ratio"
        case CurveEvidence():
            figure = _curve_figure(claim, evidence)
        case FlatEvidence():
            figure = _flat_figure(claim, evidence)
        case NoKneeEvidence():
            figure = "no knee"
        case CrossoversEvidence(count=count):
            figure = count_noun(count, "crossover") if count else "no crossover"
        case AgreementEvidence():
            figure = _agreement_figure(claim, evidence)
        case ErrorsEvidence():
            figure = "; ".join(
                f"{_measure_words(one)}{_without_groups(one, evidence)}"
                for one in evidence.measures
            )
        case UnboundedEvidence() | MissingEvidence():
            figure = ""
    return figure


def claim_reason(claim: ClaimResult) -> str:
    """Return why the verdict of a claim is what it is, as a clause without a full stop."""
    evidence = claim.evidence
    match evidence:
        case IntervalEvidence():
            reason = _interval_reason(claim, evidence)
        case SignEvidence():
            reason = _sign_reason(evidence)
        case ZeroEvidence():
            equal = ", so they are equal" if claim.verdict == "holds" else ""
            reason = f"zero in every run of both points{equal}"
        case CurveEvidence() | FlatEvidence():
            reason = _steps_reason(claim, evidence)
        case UnboundedEvidence(factor=factor, level=level):
            name = label_metric(claim.metric)
            reason = f"{name} grows without bound at {factor} = {format_level(level)}"
        case NoKneeEvidence():
            why, advice = no_knee_words(evidence.reason)
            clauses = [why, _lower(advice), *without_words(evidence.without)]
            reason = "; ".join(filter(None, clauses))
        case CrossoversEvidence():
            reason = _crossovers_reason(claim, evidence)
        case AgreementEvidence() | ErrorsEvidence():
            reason = _prediction_reason(claim, evidence)
        case MissingEvidence():
            reason = missing_words(evidence)
    return reason


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def allowed_words(allowed: Allowed, unit: str, *, metric: str = "", is_ratio: bool = False) -> str:
    """Return what a claim allows.

    Examples
    --------
    >>> allowed_words(Allowed(high=1.05), "1", is_ratio=True) == "at most 1.05\u00d7"
    True
    >>> allowed_words(Allowed(low=0.63, high=0.65), "1", metric="cpu.utilization")
    '63% to 65%'
    """

    def shown(value: float) -> str:
        return given_times(value) if is_ratio else format_given(value, unit, metric=metric)

    if allowed.high is None:
        return "any" if allowed.low is None else f"at least {shown(allowed.low)}"
    if allowed.low is None:
        return f"at most {shown(allowed.high)}"
    return f"{shown(allowed.low)} to {shown(allowed.high)}"


def _metric_of(claim: ClaimResult) -> str:
    """Return the metric whose name decides how a figure is scaled; a level has none."""
    return "" if claim.kind in {"knee", "crossover"} else claim.metric


def _interval_figure(claim: ClaimResult, one: IntervalEvidence) -> str:
    if one.is_unbounded or claim.value is None:
        return WITHOUT_BOUND
    if one.is_ratio:
        return format_ratio(claim.value, claim.low, claim.high)
    return format_bounds(claim.value, claim.low, claim.high, claim.unit, metric=_metric_of(claim))


def _interval_reason(claim: ClaimResult, one: IntervalEvidence) -> str:
    allowed = allowed_words(
        one.allowed, claim.unit, metric=_metric_of(claim), is_ratio=one.is_ratio
    )
    undecided = claim.verdict == "undecided" and not one.reason and not one.is_unbounded
    clauses = [
        _statistic(claim, one),
        no_interval_words(one.reason),
        "the point is saturated" if one.is_unbounded else "",
        f"{allowed} allowed",
        _MORE if undecided else "",
        "the interval ends with the levels" if one.is_cut else "",
        *without_words(one.without),
    ]
    return "; ".join(filter(None, clauses))


def _statistic(claim: ClaimResult, one: IntervalEvidence) -> str:
    """Return what of the replications a figure is, if it is not their centre."""
    words = _STATISTICS.get(claim.statistic, "")
    if not words:
        return ""
    if one.extreme_of is None:
        return f"{words} over the replications"
    return f"{words} of {one.extreme_of} replications, at the median"


def _sign_reason(sign: SignEvidence) -> str:
    allowed = allowed_words(sign.allowed, "1", is_ratio=True)
    if sign.reason:
        return f"{no_interval_words(sign.reason)}; {allowed} allowed"
    side = {
        "inside": "within what is allowed",
        "above": "above what is allowed",
        "below": "below what is allowed",
        "unclear": "undecided",
    }[sign.place]
    return f"a value is not above zero, so differences decide: {side}, {allowed}"


def _at(claim: ClaimResult, one: LevelEstimate) -> str:
    value = (
        WITHOUT_BOUND
        if one.value is None
        else short(one.value, one.low, one.high, claim.unit, metric=claim.metric)
    )
    return f"{value} at {format_level(one.level)}"


def _curve_figure(claim: ClaimResult, curve: CurveEvidence) -> str:
    """Return all levels of a short curve, the ends and the smallest step of a long one."""
    if curve.shape == "ordered":
        sign = " < " if claim.verdict == "holds" else ", "
        return sign.join(_at(claim, level) for level in curve.levels)
    step = curve.smallest_step
    if len(curve.levels) <= LEVELS_LISTED or step is None:
        return ", ".join(_at(claim, level) for level in curve.levels)
    first, last = (_at(claim, one) for one in (curve.levels[0], curve.levels[-1]))
    word = "rise" if curve.shape == "rises" else "fall"
    levels = f"from {format_level(step.level)} to {format_level(step.to_level)}"
    count = len(curve.levels) - 1
    return f"{first} to {last} in {count} steps; smallest {word} {_size(claim, step)} {levels}"


def _size(claim: ClaimResult, step: Step) -> str:
    if step.value is None:
        return WITHOUT_BOUND
    if step.is_ratio:
        return format_ratio(step.value, step.low, step.high)
    return format_bounds(step.value, step.low, step.high, claim.unit, metric=claim.metric)


def _flat_figure(claim: ClaimResult, flat: FlatEvidence) -> str:
    mean = format_bounds(flat.mean, flat.mean_low, flat.mean_high, claim.unit, metric=claim.metric)
    within = (
        format_limit(flat.largest_distance / abs(flat.mean))
        if flat.mean
        else format_given(flat.largest_distance, claim.unit, metric=claim.metric)
    )
    return f"{mean} on average, every level within {within} of it"


def _steps_reason(claim: ClaimResult, steps: CurveEvidence | FlatEvidence) -> str:
    each = f"each at {100.0 * steps.confidence:.4g}% confidence"
    one = steps.decisive
    if one is None:
        return f"all {steps.comparisons} comparisons hold, {each}" if steps.comparisons > 1 else (
            "the comparison holds"
        )  # fmt: skip
    where = f"{label_metric(claim.metric)} {_where(steps.factor, one)}"
    if one.reason:
        why = no_interval_words(one.reason)
    elif claim.verdict == "differs":
        why = f"the margin is {_size(claim, one)}"
    else:
        why = f"the margin of {_size(claim, one)} does not settle it; {_MORE}"
    count = f" ({steps.comparisons} comparisons, {each})" if steps.comparisons > 1 else ""
    return f"{where}: {why}{count}"


def _where(factor: str, step: Step) -> str:
    if step.to_level is None:
        return f"at {factor} = {format_level(step.level)} against the mean"
    return f"from {factor} = {format_level(step.level)} to {format_level(step.to_level)}"


def _crossovers_reason(claim: ClaimResult, several: CrossoversEvidence) -> str:
    if several.count:
        return "the claim is about a single crossover"
    if claim.verdict == "differs":
        return f"one is larger at all {several.levels} levels"
    return f"the {several.levels} levels do not show one; add levels or {_MORE}"


def _agreement_figure(claim: ClaimResult, agreement: AgreementEvidence) -> str:
    if agreement.worst is None:
        return ""
    worst = claim.pairs[agreement.worst]
    shown = _pair_ratio(worst)
    if len(claim.pairs) == 1:
        return shown
    at_worst = f"{shown} at worst, {format_levels(worst.levels)}, of {len(claim.pairs)} points"
    return (
        f"median error {_median_words(agreement)}; {at_worst}" if agreement.is_median else at_worst
    )


_MEASURES = {
    "median": "median error {}",
    "worst": "worst error {}",
    "rank": "rank correlation {}",
    "signs": "{} of signs equal",
}


def _measure_words(one: ErrorMeasure) -> str:
    """Return a figure of the errors of a prediction with its interval."""
    if one.value is None:
        return _MEASURES[one.code].format(WITHOUT_BOUND if one.code != "rank" else "unknown")
    high = "more" if one.high is None else _measured(one, one.high)
    low = "less" if one.low is None else _measured(one, one.low)
    is_exact = one.low == one.value == one.high
    bounds = "" if is_exact else f" ({low} to {high})"
    return _MEASURES[one.code].format(f"{_measured(one, one.value)}{bounds}")


def _measured(one: ErrorMeasure, value: float) -> str:
    return f"{value:.2f}" if one.code == "rank" else format_percent(value)


def _errors_reason(claim: ClaimResult, errors: ErrorsEvidence) -> str:
    allowed = join_words([_MEASURES[one.code].format(_allowed(one)) for one in errors.measures])
    worst = claim.pairs[errors.worst]
    clauses = [
        _unbounded_words(errors),
        missing_words(errors.missing) if errors.missing else "",
        _noise_words(errors.within_noise),
        f"{allowed} allowed",
        f"{count_noun(errors.count, 'point')}, worst {_pair_ratio(worst)} at "
        f"{format_levels(worst.levels)}",
        _MORE if claim.verdict == "undecided" and errors.missing is None else "",
    ]
    return "; ".join(filter(None, clauses))


def _without_groups(one: ErrorMeasure, errors: ErrorsEvidence) -> str:
    """Return how many groups of points a rank correlation leaves out."""
    noise = errors.within_noise
    if noise is None or one.code != "rank":
        return ""
    return f", without {noise.left_out} of {count_noun(noise.groups, 'group')}"


def _noise_words(found: WithinNoise | None) -> str:
    """Return why groups are left out.

    Examples
    --------
    >>> _noise_words(WithinNoise(factors=["node_bytes"], groups=108, left_out=71, points=690))
    'groups over node_bytes that are equal within the noise are left out (690 points)'
    """
    if found is None or not found.left_out:
        return ""
    points = count_noun(found.points, "point")
    over = join_words(found.factors)
    return f"groups over {over} that are equal within the noise are left out ({points})"


def _allowed(one: ErrorMeasure) -> str:
    if one.allowed.high is not None:
        return f"of at most {_measured(one, one.allowed.high)}"
    return f"at least {_measured(one, one.allowed.low or 0.0)}"


def _pair_ratio(pair: PredictedPair) -> str:
    return "no ratio" if pair.ratio is None else format_ratio(pair.ratio, pair.low, pair.high)


def _median_words(agreement: AgreementEvidence) -> str:
    if agreement.median_low is None:
        return WITHOUT_BOUND
    if agreement.median is None:
        return "unknown"
    high = "more" if agreement.median_high is None else format_percent(agreement.median_high)
    return f"{format_percent(agreement.median)} ({format_percent(agreement.median_low)} to {high})"


def _prediction_reason(claim: ClaimResult, one: AgreementEvidence | ErrorsEvidence) -> str:
    if isinstance(one, ErrorsEvidence):
        return _errors_reason(claim, one)
    return _agreement_reason(claim, one)


def _agreement_reason(claim: ClaimResult, agreement: AgreementEvidence) -> str:
    clauses = [_unbounded_words(agreement)]
    if agreement.missing is not None:
        clauses.append(missing_words(agreement.missing))
    if agreement.worst is not None:
        decide = _median_reason if agreement.is_median else _points_reason
        clauses.append(decide(claim, agreement))
    return "; ".join(filter(None, clauses))


def _unbounded_words(agreement: AgreementEvidence | ErrorsEvidence) -> str:
    if not agreement.unbounded:
        return ""
    first = agreement.unbounded[0]
    where = "; ".join(format_levels(one.levels) for one in agreement.unbounded)
    other = "measured" if first.side == "predicted" else "predicted"
    return f"saturated as {first.side} but not as {other} at {where}"


def _median_reason(claim: ClaimResult, agreement: AgreementEvidence) -> str:
    limit = format_percent(claim.tolerance or 0.0)
    advice = f"; {_MORE}" if claim.verdict == "undecided" and agreement.missing is None else ""
    return f"a median error of at most {limit} allowed{advice}"


def _points_reason(claim: ClaimResult, agreement: AgreementEvidence) -> str:
    allowed = f"{allowed_words(agreement.allowed, '1', is_ratio=True)} allowed"
    each = (
        f" ({agreement.count} points, each at {100.0 * agreement.confidence:.4g}% confidence)"
        if agreement.count > 1
        else ""
    )
    if claim.verdict == "holds":
        return f"{allowed}{each}"
    if agreement.decisive is None:
        others = len(claim.pairs)
        agree = "the other point agrees" if others == 1 else f"the other {others} points agree"
        return f"{agree}{each}"
    return f"{_decisive_words(claim, agreement, claim.pairs[agreement.decisive])}{allowed}{each}"


def _decisive_words(claim: ClaimResult, agreement: AgreementEvidence, pair: PredictedPair) -> str:
    where = (
        f"{_pair_ratio(pair)} at {format_levels(pair.levels)}"
        if agreement.count > 1 and agreement.decisive != agreement.worst
        else ""
    )
    more = _MORE if claim.verdict == "undecided" and not pair.reason else ""
    clauses = [where, no_interval_words(pair.reason), _off_by(pair), more]
    return "".join(f"{clause}; " for clause in clauses if clause)


def _off_by(pair: PredictedPair) -> str:
    """Return by which factor a prediction is off, if that is worth a word."""
    if not pair.ratio or max(pair.ratio, 1.0 / pair.ratio) < _WORTH_A_WORD:
        return ""
    is_high = pair.ratio > 1.0
    factor = pair.ratio if is_high else 1.0 / pair.ratio
    return f"too {'high' if is_high else 'low'} by a factor of {factor:.2g}"


def missing_words(missing: MissingEvidence) -> str:
    """Return why nothing is known, as a clause.

    Examples
    --------
    >>> missing_words(MissingEvidence(code="no_results", metric="throughput",
    ...     levels={"users": 9}))
    'no results for throughput at users = 9'
    >>> missing_words(MissingEvidence(code="not_planned", levels={"users": 3}, is_quick=True))
    'not in the quick variant: users = 3'
    """
    levels, factor = format_levels(missing.levels), missing.factor
    why = f": {absent_words(missing.absent)}" if missing.absent else ""
    text = {
        "not_run": "the experiment" if missing.is_quick else "the experiment was not run",
        "not_planned": levels if missing.is_quick else f"no point with {levels} was planned",
        "no_results": f"no results for {missing.metric} at {levels}{why}",
        "several_points": (
            f"{_selection(missing.levels)} selects {missing.count} points; "
            "name more factors in `where`"
        ),
        "several_partners": (
            f"{levels} matches {missing.count} points of {missing.experiment}; "
            "name more factors in `to`"
        ),
        "not_a_factor": f"{factor} is not a factor of the experiment",
        "repeated_level": f"several points have {levels}; name the other factors in `where`",
        "not_a_number": f"{levels} is not a number",
        "few_levels": f"{factor} has only one level here",
        "few_levels_in_range": f"fewer than two levels of {factor} are in the range",
        "few_common_levels": f"fewer than two levels of {factor} were run in both",
        "no_common_point": "no point is in both experiments",
        "defect": missing.message,
    }[missing.code]
    return f"not in the quick variant: {text}" if missing.is_quick else text


def _selection(levels: dict[str, str | int | float | bool]) -> str:
    return format_levels(levels) if levels else "the claim"
