"""Precision of an experiment in one sentence: its typical and its widest interval.

Invariant: restates `headroom.analysis.answer.sureness`.
"""

from headroom.analysis.answer.sureness import sureness_of
from headroom.analysis.answer_evidence import Sureness
from headroom.analysis.results import ExperimentResult
from headroom.quantities import MINUS, format_bounds, format_levels
from headroom.report.sentences.numbers import capital
from headroom.report.sentences.runs import stopping_words
from headroom.report.words import label_metric

_WHOLE = 0.995
"""Share from which two digits in per cent would be written with an exponent."""
_LOPSIDED = 1.5
"""Times the other side of an interval from which one ± does not tell both."""


def sureness_sentences(experiment: ExperimentResult) -> list[str]:
    """Return how wide the intervals of the responses are, or that there are none."""
    found = sureness_of(experiment)
    if found is None:
        has_figures = any(point.estimates for point in experiment.points)
        return ["No interval: too few replications."] if has_figures else []
    stopping = experiment.replications
    rule = f" {capital(stopping_words(stopping))}." if stopping else ""
    kind = "prediction intervals" if found.is_prediction else "intervals"
    return [
        f"The 95% {kind} are typically ±{percent(found.typical)} of the value"
        f"{widest_words(found, where=f' at {format_levels(found.levels)}')}.{rule}"
    ]


def widest_words(found: Sureness, *, where: str) -> str:
    """Return how far the widest interval reaches, behind the typical one.

    An interval that reaches beyond all proportion is printed itself: no percentage tells it.

    Examples
    --------
    >>> from headroom.analysis.answer_evidence import Bounded
    >>> widest = Bounded(value=213e-6, low=184e-6, high=25.7e-3, metric="record_s", unit="s")
    >>> vague = Sureness(runs=6, typical=0.02, worst_below=0.14, worst_above=119.6, count=24,
    ...     metric="record_s", levels={}, widest=widest, vague=1)
    >>> widest_words(vague, where=" at node_bytes = 8192")
    '; 1 of 24 values is hardly known: record at node_bytes = 8192, 210 µs (180 to 26,000)'
    """
    name = f"{label_metric(found.metric)}{where}"
    widest = found.widest
    if widest is None or not found.vague:
        return f", at worst {reach(found)} ({name})"
    value = format_bounds(widest.value, widest.low, widest.high, widest.unit, metric=widest.metric)
    is_one = found.vague == 1
    known = "values is hardly known:" if is_one else "values are hardly known, most of all"
    return f"; {found.vague} of {found.count} {known} {name}, {value}"


def reach(found: Sureness) -> str:
    """Return how far the widest interval reaches from its value, in per cent of it."""
    below, above = found.worst_below, found.worst_above
    if max(below, above) > _LOPSIDED * min(below, above):
        return f"{MINUS}{percent(below)} to +{percent(above)}"
    return f"±{percent((below + above) / 2.0)}"


def percent(share: float) -> str:
    """Return a half-width in per cent, with two digits.

    Examples
    --------
    >>> percent(0.0051), percent(1.234)
    ('0.51%', '123%')
    """
    return f"{share * 100.0:.2g}%" if share < _WHOLE else f"{share * 100.0:,.0f}%"
