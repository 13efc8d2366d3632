"""The verdict of a study as text: bottleneck, knee, and how certain they are.

Invariant: every sentence restates fields of the results; no threshold of its own decides.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from headroom.analysis.answer.cautions import imprecise, without_count
from headroom.analysis.evidence import NotLimited
from headroom.analysis.results import (
    Bottleneck,
    ClaimResult,
    Estimate,
    ExperimentResult,
    Knee,
    PointResult,
    StudyResult,
)
from headroom.defects import fallback
from headroom.quantities import format_level, format_levels, format_plain
from headroom.report.dimensions import dimensions_of, hold_label
from headroom.report.findings.beside import theory_sentences
from headroom.report.findings.comparisons import comparison_sentences, design_cautions
from headroom.report.findings.crossovers import crossover_sentences
from headroom.report.findings.fits import fit_sentences, prediction_sentences
from headroom.report.findings.headroom_left import headroom_sentences
from headroom.report.findings.what_if import what_if_sentences
from headroom.report.notes.measuring import (
    disk_health_sentences,
    disturbance_sentences,
    measured_sentences,
)
from headroom.report.notes.saturation import saturation_sentences
from headroom.report.notes.sureness import sureness_sentences
from headroom.report.notes.terminating import analysis_sentences, stretch_words, worst_sentences
from headroom.report.numbers import format_estimate
from headroom.report.sentences.bottleneck import limit_sentence
from headroom.report.sentences.knee import knees_sentence, no_knee_sentence
from headroom.report.sentences.numbers import brief_percent
from headroom.report.words import (
    COLUMN_WORDS,
    count_noun,
    join_words,
    label_metric,
    label_point,
    verdict_counts,
    why_no_figures,
)

Topic: TypeAlias = Literal[
    "Fitted",
    "Predicted",
    "Limit",
    "Saturated",
    "Worst",
    "What if",
    "Compare",
    "Headroom",
    "Knee",
    "Best",
    "How sure",
    "Measured",
    "Theory",
    "Note",
    "Caution",
]
_BEST_AT_MOST = 4
_SPANS_AT_MOST = 4
_LEVELS_AT_MOST = 8
"""Levels of a factor that a sentence names one by one."""
_KNEES_AT_MOST = 4
_REASONS_AT_MOST = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of the summary under its heading."""

    topic: Topic
    text: str


def find(experiment: ExperimentResult) -> list[Finding]:
    """Return the findings of an experiment, the most useful first."""
    groups: list[tuple[Topic, Callable[[ExperimentResult], list[str]]]] = [
        ("Fitted", fit_sentences),
        ("Predicted", prediction_sentences),
        ("Caution", _without_figures),
        ("Caution", disturbance_sentences),
        ("Limit", _limits),
        ("Worst", worst_sentences),
        ("Saturated", saturation_sentences),
        ("Compare", _compared),
        ("What if", what_if_sentences),
        ("Headroom", headroom_sentences),
        ("Knee", _knees),
        ("Best", _bests),
        ("How sure", sureness_sentences),
        ("Measured", measured_sentences),
        ("Measured", disk_health_sentences),
        ("Theory", theory_sentences),
        ("Note", analysis_sentences),
        ("Note", lambda one: _said_of_points(one, lambda point: point.notes)),
        ("Caution", design_cautions),
        ("Caution", _cautions),
    ]
    return [finding for topic, write in groups for finding in _findings(topic, write, experiment)]


def _findings(
    topic: Topic, write: Callable[[ExperimentResult], list[str]], experiment: ExperimentResult
) -> list[Finding]:
    return fallback(
        lambda: [Finding(topic, text) for text in write(experiment)],
        lambda reason: [Finding("Caution", f'No sentences under "{topic}": {reason}.')],
    )


def _compared(experiment: ExperimentResult) -> list[str]:
    """Return from where on a level is better, then how it compares at each combination."""
    return [*crossover_sentences(experiment), *comparison_sentences(experiment)]


def _without_figures(experiment: ExperimentResult) -> list[str]:
    """State first what is missing, so that readers do not take the rest for the whole."""
    reasons = Counter(filter(None, map(why_no_figures, experiment.points)))
    count, total = sum(reasons.values()), len(experiment.points)
    if not count:
        return []
    parts = [words if number == count else f"{number} {words}" for words, number in reasons.items()]
    who = "The only point has" if total == 1 else f"{count:,} of {total:,} points have"
    who = who.replace("points have", "points has") if count == 1 else who
    return [f"{who} no figures: {join_words(parts)}; see the messages below."]


def _limits(experiment: ExperimentResult) -> list[str]:
    judged = [
        (point, point.bottleneck)
        for point in experiment.points
        if point.bottleneck and (point.estimates or point.bottleneck.limits)
    ]
    limited = [(point, found) for point, found in judged if found.limits]
    if not judged:
        return []
    if not limited:
        return [_nothing_limits(experiment, judged)]
    names = list(dict.fromkeys((found.kind, found.name) for _, found in limited))
    sentences = [_limit_sentence(experiment, limited, judged, kind, name) for kind, name in names]
    free = len(judged) - len(limited)
    if free:
        others = "other point" if free == 1 else f"other {free:,} points"
        where = f"the {others}{_with_results(experiment, judged)}"
        sentences.append(f"{_none(found for _, found in judged)} at {where}.")
    return sentences


def _nothing_limits(
    experiment: ExperimentResult, judged: Sequence[tuple[PointResult, Bottleneck]]
) -> str:
    """Say that nothing limits, and what would be next: the busiest part is the headroom left."""
    point, _ = max(judged, key=lambda pair: pair[1].utilization)
    none = _none(found for _, found in judged)
    where = f"at any of the {len(judged):,} points" if len(judged) > 1 else "at the only point"
    where += _with_results(experiment, judged)
    used = {
        resource.name: estimates["utilization"].value
        for resource in point.resources
        if "utilization" in (estimates := resource.estimates_among(point.estimates))
    }
    if not used:
        return f"{none} {where}."
    name = max(used, key=lambda name: used[name])
    at = f" at {label_point(point, experiment.factors)}" if len(judged) > 1 else ""
    share = brief_percent(used[name])
    return f'{none} {where}; busiest: "{name}" ({share}{at}).'


def _none(verdicts: Iterable[Bottleneck]) -> str:
    """Return that points have no bottleneck; some may be full of work that is rejected anyway."""
    found = [verdict.evidence for verdict in verdicts if not verdict.limits]
    is_full = any(isinstance(one, NotLimited) and one.fullest.is_saturated for one in found)
    return "No bottleneck" if is_full else "No station is saturated"


def _with_results(
    experiment: ExperimentResult, judged: Sequence[tuple[PointResult, Bottleneck]]
) -> str:
    return " with results" if len(judged) < len(experiment.points) else ""


def _limit_sentence(
    experiment: ExperimentResult,
    limited: Sequence[tuple[PointResult, Bottleneck]],
    judged: Sequence[tuple[PointResult, Bottleneck]],
    kind: str,
    name: str,
) -> str:
    here = [(point, found) for point, found in limited if (found.kind, found.name) == (kind, name)]
    where = _span(experiment, [point for point, _ in here], [point for point, _ in judged])
    verdicts = [found for _, found in here]
    return limit_sentence(verdicts, where=where, when=stretch_words(verdicts))


def _in_percent(share: float) -> str:
    return f"{format_plain(share * 100.0, decimals=1)}%"


def _span(
    experiment: ExperimentResult, here: Sequence[PointResult], judged: Sequence[PointResult]
) -> str:
    """Return where the points are: a range of the only factor, or a count."""
    if len(here) == len(judged):
        return (
            "at every point"
            if len(judged) > 1
            else f"at {label_point(here[0], experiment.factors)}"
        )
    spans = _spans_by_series(experiment, here, judged)
    return join_words(spans) if spans else f"at {len(here)} of {count_noun(len(judged), 'point')}"


def _spans_by_series(
    experiment: ExperimentResult, here: Sequence[PointResult], judged: Sequence[PointResult]
) -> list[str]:
    """Return one range of the first numeric factor for each of a few series, else nothing."""
    dimensions = dimensions_of(experiment)
    axis = next((dimension for dimension in dimensions if dimension.is_numeric), None)
    if axis is None:
        is_one = len(dimensions) == 1 and len(here) <= _SPANS_AT_MOST
        labels = [f'"{dimension.label_of(point)}"' for dimension in dimensions for point in here]
        return [f"at {dimensions[0].name} = {join_words(labels)}"] if is_one else []
    rest = [dimension for dimension in dimensions if dimension is not axis]
    series = list(dict.fromkeys(hold_label(point, rest) for point in here))
    if len(series) > _SPANS_AT_MOST:
        return []
    spans: list[str] = []
    for name in series:
        inside = [axis.number_of(point) for point in here if hold_label(point, rest) == name]
        every = [axis.number_of(point) for point in judged if hold_label(point, rest) == name]
        span = _one_span(axis.name, inside, every)
        spans.append(f"{span} with {name}" if name else span)
    return spans


def _one_span(name: str, inside: Sequence[float], every: Sequence[float]) -> str:
    """Return ``from users = 80`` where `inside` has no gap, else its levels."""
    low, high = min(inside), max(inside)
    has_gap = sum(low <= level <= high for level in every) > len(inside)
    if has_gap and len(inside) > _LEVELS_AT_MOST:
        ends = f"{format_level(low)} to {format_level(high)}"
        return f"at {len(inside):,} of {count_noun(len(every), 'level')} of {name}, {ends}"
    if has_gap:
        return f"at {name} = {join_words([format_level(level) for level in sorted(inside)])}"
    if high == max(every) and low > min(every) and low < high:
        return f"from {name} = {format_level(low)}"
    tail = "" if low == high else f" to {format_level(high)}"
    return f"at {name} = {format_level(low)}{tail}"


def _knees(experiment: ExperimentResult) -> list[str]:
    found = [knee for knee in experiment.knees if knee.found and knee.level is not None]
    if experiment.knees and not found:
        return _no_knees(experiment.knees)
    # What a user sees over the first factor comes first; the figures show the rest.
    seen = [knee for knee in found if "." not in knee.metric] or found
    groups = dict.fromkeys((knee.factor, format_levels(knee.where)) for knee in seen)
    main = [group for group in groups if group[0] == next(iter(groups))[0]]
    sentences = [
        knees_sentence([knee for knee in seen if (knee.factor, format_levels(knee.where)) == group])
        for group in main[:_KNEES_AT_MOST]
    ]
    others = len(groups) - len(sentences)
    if others:
        sentences.append(f"{count_noun(others, 'other curve')} with a knee: see the figures.")
    return sentences


def _no_knees(knees: Sequence[Knee]) -> list[str]:
    """Return one sentence for each of the first reasons, with the metrics that it is true of."""
    alike: dict[bytes, list[Knee]] = {}
    for knee in knees:
        key = msgspec.json.encode([knee.reason, knee.without])
        alike.setdefault(key, []).append(knee)
    return [
        no_knee_sentence([knee.metric for knee in group], group[0])
        for group in [*alike.values()][:_REASONS_AT_MOST]
    ]


def _bests(experiment: ExperimentResult) -> list[str]:
    is_comparison = experiment.column == "measure" or any(
        not dimension.is_numeric for dimension in dimensions_of(experiment)
    )
    if not is_comparison:
        return []
    sentences = [_best(experiment, metric) for metric in experiment.responses[:_BEST_AT_MOST]]
    return [sentence for sentence in sentences if sentence]


def _best(experiment: ExperimentResult, metric: str) -> str:
    found = [(p, p.estimates[metric]) for p in experiment.points if metric in p.estimates]
    if len(found) < 2 or found[0][1].better == "none":  # noqa: PLR2004
        return ""
    if len({estimate.value for _, estimate in found}) == 1:
        return ""
    sign = -1.0 if found[0][1].better == "high" else 1.0
    best, estimate = min(found, key=lambda pair: sign * pair[1].value)
    equals = sum(_overlap(estimate, other) for point, other in found if point is not best)
    if equals == len(found) - 1:
        return ""  # None is distinguished from the best one, so to name it says nothing.
    word = "Highest" if sign < 0 else "Lowest"
    alone = "; without an interval" if estimate.low is None else ""
    tie = (
        f"; the intervals of {count_noun(equals, 'other point')} overlap with it" if equals else ""
    )
    return (
        f"{word} {label_metric(metric)}: {label_point(best, experiment.factors)} "
        f"with {format_estimate(estimate)}{tie}{alone}."
    )


def _overlap(first: Estimate, second: Estimate) -> bool:
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return False
    return first.low <= second.high and second.low <= first.high


def _cautions(experiment: ExperimentResult) -> list[str]:
    points = experiment.points
    shown = [point for point in points if point.estimates]
    ran = COLUMN_WORDS[experiment.column]
    counted = {
        "{} lost some replications": [p for p in shown if p.failed],
        f"{{}} not {ran} yet": [p for p in points if not p.failed and not p.done],
        "{} violated Little's law: do not trust the figures": [
            p for p in shown if p.little and not p.little.passed
        ],
        "{} whose runs settled at one of two rates; no run takes the mean": [
            p for p in shown if p.settled
        ],
        "{} with faults in some replications, which do not count": [p for p in shown if p.faults],
    }
    sentences = [
        f"{words.format(count_noun(len(found), 'point'))}."
        for words, found in counted.items()
        if found
    ]
    return [
        *sentences,
        *_imprecise(experiment),
        *_said_of_points(experiment, lambda point: point.remarks),
    ]


def _imprecise(experiment: ExperimentResult) -> list[str]:
    """Say how far points are from the requested precision, and what would reach it."""
    return [
        f"{count_noun(found.count, 'point')} did not reach ±{_in_percent(found.wanted or 0.0)} in "
        f"{label_metric(found.metric)} (worst: ±{_in_percent(found.share or 0.0)}"
        f"{f' at {format_levels(found.levels)}' if found.count > 1 else ''}); raise "
        "`replications.maximum` or run longer."
        for found in imprecise(experiment)
    ]


def _said_of_points(
    experiment: ExperimentResult, said_of: Callable[[PointResult], Sequence[str]]
) -> list[str]:
    """Return what is said about points with figures, each sentence once with how many it is of."""
    shown = [point for point in experiment.points if point.estimates]
    said = Counter(
        (without_count(words), _is_of_all_runs(words, point))
        for point in shown
        for words in said_of(point)
    )
    sentences = []
    for (words, is_of_all_runs), number in said.items():
        where = [] if number == len(shown) else [count_noun(number, "point")]
        where += [] if is_of_all_runs else ["in some runs"]
        text = f"{', '.join(where)}: {words}" if where else words
        sentences.append(f"{text[:1].upper()}{text[1:]}.")
    return sentences


def _is_of_all_runs(remark: str, point: PointResult) -> bool:
    return point.done == 1 or remark.endswith(f" ({point.done} times)")


def count_verdicts(claims: Sequence[ClaimResult]) -> str:
    """Return how many claims hold, differ or are undecided, as text.

    Examples
    --------
    >>> count_verdicts([])
    'The study states no claims.'
    """
    if not claims:
        return "The study states no claims."
    counts = Counter(claim.verdict for claim in claims)
    parts = verdict_counts(counts["holds"], counts["differs"], counts["undecided"])
    return f"{count_noun(len(claims), 'claim')}: {join_words(parts)}."


def describe_progress(result: StudyResult) -> str:
    """Return how much of the study is done, as text."""
    total = count_noun(result.planned, "replication")
    if result.is_complete and not result.failed:
        return f"All {total} done"
    failed = f", {result.failed:,} failed" if result.failed else ""
    state = "" if result.is_complete else "; the study is not complete"
    return f"{result.done:,} of {total} done{failed}{state}"
