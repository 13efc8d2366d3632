"""Precision of an experiment in one sentence: its typical and its widest interval.

Invariant: restates `headroom.analysis.answer.sureness`.
"""

from headroom.analysis.answer.sureness import sureness_of
from headroom.analysis.answer_evidence import Sureness
from headroom.analysis.results import ExperimentResult
from headroom.quantities import MINUS, format_levels
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
        f"The 95% {kind} are typically ±{percent(found.typical)} of the value, at worst "
        f"{reach(found)} ({label_metric(found.metric)} at {format_levels(found.levels)}).{rule}"
    ]


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
