"""Each statement of an answer as a sentence.

Invariant: a sentence claims no more than the intervals of its statement carry: a gain, a winner or
an equality is worded only where the statement says that the whole interval is on one side.
"""

from collections.abc import Callable
from typing import Any

from headroom.analysis import answer_evidence as said
from headroom.report.first_screen.sentences import asked, changes, limits, settings, targets
from headroom.report.first_screen.sentences.names import (
    level_words,
    range_words,
    where_words,
)
from headroom.report.first_screen.sentences.sentence import (
    Sentence,
    bounded_words,
    brief,
    brief_percent_of,
    first_short,
    number,
    plain,
    times,
)
from headroom.report.sentences.numbers import capital
from headroom.report.words import count_noun, label_metric, verdict_counts


def statement_sentence(statement: said.Statement, *, start: str = "") -> Sentence:
    """Return a statement as a sentence, behind a start if there is one.

    Examples
    --------
    >>> statement_sentence(said.Incomplete(code="runs_left", done=12, failed=0, planned=95,
    ...     points=19, points_without=16)).text
    'No answer yet: 12 of 95 runs are done.'
    """
    words = _WORDS[type(statement)](statement)
    return Sentence.of(f"{start}{words if start else capital(words)}.")


def _reproduction(found: said.Reproduction) -> str:
    total = found.holds + found.differs + found.undecided - found.left_out
    start = {
        "stands": "the study stands",
        "partly": "the study stands in part",
        "falls": "the study does not stand",
    }[found.state]
    undecided = found.undecided - found.left_out
    topic = f" about {_topic(found.topics[0])}" if len(found.topics) == 1 else ""

    def rest(topic: str) -> str:
        words = []
        if found.differs:
            number = count_noun(found.differs, "finding") if topic else str(found.differs)
            words.append(f"{number}{topic} {'differs' if found.differs == 1 else 'differ'}")
        if undecided:
            words.append(f"{undecided} {'is' if undecided == 1 else 'are'} undecided")
        return f"; {', '.join(words)}" if words else ""

    hold = "holds" if found.holds == 1 or total == 1 else "hold"
    words = f"{start}: {found.holds} of {count_noun(total, 'finding')} {hold}"
    return first_short(f"{words}{rest(topic)}", f"{words}{rest('')}")


def _topic(metric: str) -> str:
    """Return what findings are about: a metric's name; of a time, the word too.

    Examples
    --------
    >>> _topic("record_s"), _topic("response_s_mean"), _topic("bytes_per_s")
    ('the record time', 'the mean response time', 'the bytes per s')
    """
    name = label_metric(plain(metric))
    is_time = metric.endswith("_s") and not metric.endswith("_per_s") and "time" not in name
    return f"the {name}{' time' if is_time else ''}"


def _prediction(found: said.Prediction) -> str:
    start = {
        "holds": "the prediction holds",
        "differs": "the prediction fails",
        "undecided": "the prediction is undecided",
    }[found.verdict]
    if found.claims > 1:
        undecided = found.undecided
        still = f", {undecided} {'is' if undecided == 1 else 'are'} undecided" if undecided else ""
        start = f"{found.held} of {found.claims} predictions hold{still}; the worst"
    if not found.is_bounded:
        return f"{start}: a point is saturated on one side only, an error without bound"
    joint = " is " if found.claims > 1 else ": "
    of_points = f" of {count_noun(found.points, 'unseen point')}"
    candidates = [f"{start}{joint}{_errors(found, points)}" for points in (of_points, "")]
    return first_short(*candidates) if found.median or found.worst is not None else start


def _errors(found: said.Prediction, of_points: str) -> str:
    parts = []
    if found.median is not None:
        parts.append(f"{brief_percent_of(found.median.value)} off at the median{of_points}")
    if found.worst is not None:
        parts.append(f"{brief_percent_of(found.worst)} at worst")
    return ", ".join(parts)


_WIDE = 1.5
"""Upper over lower end of an interval from which on it does not say that nothing changes."""


def _sweep(found: said.Sweep) -> str:
    metric = f"{where_words(found.where)}{label_metric(plain(found.metric))}"
    start, end = level_words(found.start), level_words(found.end)
    way, ratio = range_words(found.start, found.end), found.ratio
    if ratio is None:
        before, after = bounded_words(found.before), bounded_words(found.after)
        return f"{metric} is {before} at {start} and {after} at {end}"
    if ratio.low is None or ratio.high is None:
        ends = (found.before, found.after)
        before, after = (brief(one.value, found.unit, metric=found.metric) for one in ends)
        return f"{metric} is {before} at {start} and {after} at {end}"
    if ratio.low <= 1.0 <= ratio.high and ratio.high > _WIDE * ratio.low:
        return f"whether {metric} changes {way} is undecided"
    if ratio.low <= 1.0 <= ratio.high:
        return f"{metric} does not clearly change {way}"
    if ratio.value > 1.0:
        return f"{metric} grows {times(ratio.value, ratio.low, ratio.high)} {way}"
    share = number(ratio.value, ratio.low, ratio.high, "1", metric="share")
    return f"{metric} falls to {share} {way}"


def counts_words(holds: int, differs: int, undecided: int) -> str:
    """Return how many claims hold, differ and are undecided.

    Examples
    --------
    >>> counts_words(6, 1, 6), counts_words(1, 0, 0)
    ('6 hold, 1 differs, 6 are undecided', '1 holds')
    """
    return ", ".join(verdict_counts(holds, differs, undecided))


def _printed(found: said.PrintedNumbers) -> str:
    all_numbers = found.count + found.fitted
    what = "printed number" if all_numbers == 1 else f"{all_numbers} printed numbers"
    if found.within is None:
        return f"the model was fitted to the {what}"
    if found.fitted:
        what = f"{found.count} of {what}"
    start = what if found.fitted else f"the {what}"
    met = (
        f"{start} {'is' if found.count == 1 else 'are'} met within {brief_percent_of(found.within)}"
    )
    rest = f"; to the other{'s' if found.fitted > 1 else ''} the model was fitted"
    return f"{met}{rest if found.fitted else ''}"


def _findings(found: said.Findings) -> str:
    """Return how many claims hold, with the first one if it does."""
    total = found.holds + found.differs + found.undecided
    hold = "holds" if found.holds == 1 or total == 1 else "hold"
    words = f"{found.holds} of {count_noun(total, 'finding')} {hold}"
    first = found.first[:1].lower() + found.first[1:] if found.first[1:2].islower() else found.first
    return first_short(f"{words}: {first}", words) if first else words


_WORDS: dict[type, Callable[[Any], str]] = {
    said.Incomplete: limits.incomplete_words,
    said.Disturbed: limits.disturbed_words,
    said.Saturated: limits.saturated_words,
    said.Limit: limits.limit_words,
    said.NoLimit: limits.no_limit_words,
    said.Losses: limits.losses_words,
    said.Target: targets.target_words,
    said.OtherCurves: targets.other_curves_words,
    said.Comparison: settings.comparison_words,
    said.Equal: settings.equal_words,
    said.Undecided: settings.undecided_words,
    said.TradeOff: settings.trade_off_words,
    said.Reproduction: _reproduction,
    said.Prediction: _prediction,
    said.Findings: _findings,
    said.Sweep: _sweep,
    said.SinglePoint: asked.value_words,
    said.Enough: asked.enough_words,
    said.Effects: asked.effects_words,
    said.Scale: asked.scale_words,
    said.Safe: asked.safe_words,
    said.Changes: changes.changes_words,
    said.Busiest: limits.busiest_words,
    said.Settings: settings.settings_words,
    said.PrintedNumbers: _printed,
}
