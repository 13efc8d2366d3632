"""Summary of terminating runs: when the limit was kept, and the worst interval.

Invariant: restates fields of the results.
"""

from collections.abc import Sequence

from headroom.analysis.results import Bottleneck, ExperimentResult, PointResult
from headroom.analysis.verdicts.nature import is_terminating
from headroom.experiment.study.windows import WORST, window_metric
from headroom.quantities import format_time_span
from headroom.report.numbers import format_estimate
from headroom.report.sentences.runs import analysis_words
from headroom.report.words import join_words, label_point, title_metric

_FIRST = "response_s_p95"
SCATTERED = 0.25
"""Standard deviation over mean of replications from which on their distribution is skewed so much
that Student's interval, which is symmetric, covers too little. Measured: `benches/terminating.py`;
throughputs, which cover 94% and more there, scatter far less."""
ENOUGH = 100
"""Replications from which on nothing is said: the mean of so many is nearly normal."""
COVERED = 83
"""Cases of 100 that the worst line of `benches/terminating.py` covers."""


def stretch_words(verdicts: Sequence[Bottleneck]) -> str:
    """Return when a resource limits, of the longest of several stretches; nothing without one."""
    spans = [
        (verdict.to_s - verdict.from_s, verdict.from_s, verdict.to_s)
        for verdict in verdicts
        if verdict.from_s is not None and verdict.to_s is not None
    ]
    if not spans:
        return ""
    _, from_s, to_s = max(spans)
    longest = "" if len(verdicts) == 1 else "at most "
    return f", {longest}{format_time_span(from_s, to_s)}"


def worst_sentences(experiment: ExperimentResult) -> list[str]:
    """Return the worst interval of the worst point, where the responses do not show it."""
    metric = next((name for name in experiment.responses if name.startswith("response_s")), _FIRST)
    worst = window_metric(WORST, metric)
    if worst in experiment.responses:
        return []
    found = [
        (point, point.estimates[worst], point.estimates[metric])
        for point in experiment.points
        if is_terminating(point) and worst in point.estimates and metric in point.estimates
    ]
    if not found:
        return []
    point, peak, whole = max(found, key=lambda one: one[1].value)
    at = f" at {label_point(point, experiment.factors)}" if len(found) > 1 else ""
    when = _when(point, metric)
    return [
        f"{title_metric(metric)} in the worst interval{when}: {format_estimate(peak)}{at}; "
        f"{format_estimate(whole)} over the whole run."
    ]


def _when(point: PointResult, metric: str) -> str:
    """Return the interval in which a metric is largest."""
    lines = () if point.over_time is None else point.over_time.lines
    line = next((one for one in lines if one.metric == metric), None)
    if point.over_time is None or line is None:
        return ""
    known = [(value, place) for place, value in enumerate(line.values) if value is not None]
    if not known:
        return ""
    _, place = max(known)
    ends_s = [0.0, *point.over_time.ends_s]
    return f", {format_time_span(ends_s[place], ends_s[place + 1])}"


def analysis_sentences(experiment: ExperimentResult) -> list[str]:
    """Return how the runs were analysed, each way once, where any of them have a natural end."""
    kinds = [point.analysed for point in experiment.points if point.analysed]
    if not any(kind.kind == "terminating" for kind in kinds):
        return []
    words = dict.fromkeys(analysis_words(kind) for kind in kinds)
    return [*words, *_skewed_sentences(experiment)]


def _skewed_sentences(experiment: ExperimentResult) -> list[str]:
    """Return which intervals of few, widely scattered runs cover less than they should."""
    found = [
        (metric, point.estimates[metric].count)
        for metric in experiment.responses
        for point in experiment.points
        if is_terminating(point) and _is_skewed(point, metric)
    ]
    if not found:
        return []
    first, *others = dict.fromkeys(title_metric(metric) for metric, _ in found)
    names = join_words([first, *(f"{other[:1].lower()}{other[1:]}" for other in others)])
    verb = "differ" if others else "differs"
    fewest = min(count for _, count in found)
    return [
        f"{names} {verb} much from one replication to the next: intervals from as few as {fewest} "
        f"cover the truth in {COVERED} to 95 of 100 cases, so run more replications."
    ]


def _is_skewed(point: PointResult, metric: str) -> bool:
    """Return whether a metric scatters so much over few runs that Student's interval is short."""
    one = point.estimates.get(metric)
    if one is None or one.stdev is None or one.method != "student-t" or one.count >= ENOUGH:
        return False
    return one.mean > 0.0 and one.stdev >= SCATTERED * one.mean
