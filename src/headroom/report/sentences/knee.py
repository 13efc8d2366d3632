"""The knees of a curve, or the reason why it has none, as sentences."""

from collections.abc import Sequence

from headroom.analysis.evidence import NoKnee
from headroom.analysis.results import Knee
from headroom.quantities import format_level
from headroom.report.numbers import format_knee
from headroom.report.sentences.numbers import capital, list_levels
from headroom.report.words import count_noun, join_words, label_metric

_LEVELS_OFF = ("throughput", "utilization")
"""Endings of metrics whose knee is the start of a plateau."""


def knees_sentence(knees: Sequence[Knee]) -> str:
    """Return one sentence for the knees of several metrics over one factor.

    Parameters
    ----------
    knees
        Knees that were found, of one factor and with the same other levels; one or more.
    """
    first, *others = knees
    start = f"{_bends(first)} at {first.factor} = {format_knee(first)}"
    rest = [f"{_bends(knee)} at {format_knee(knee)}" for knee in others]
    held = ", ".join(f"{name} = {format_level(level)}" for name, level in first.where.items())
    where = f" with {held}" if held else ""
    notes = "; ".join(dict.fromkeys(note for knee in knees for note in _notes(knee)))
    return capital(f"{join_words([start, *rest])}{where}{f' ({notes})' if notes else ''}.")


def _bends(knee: Knee) -> str:
    verb = "levels off" if knee.metric.endswith(_LEVELS_OFF) else "bends"
    return f"{label_metric(knee.metric)} {verb}"


def _notes(knee: Knee) -> list[str]:
    cut = ["the interval ends with the levels"] if knee.is_cut else []
    return [*cut, *without_words(knee.without)]


def without_words(levels: Sequence[float]) -> list[str]:
    """Return which levels have no results, as one clause or none."""
    return [f"no results at {list_levels(levels)}"] if levels else []


def no_knee_sentence(metrics: Sequence[str], knee: Knee) -> str:
    """Return why several metrics have no knee.

    Parameters
    ----------
    metrics
        Names of the metrics that have no knee for the reason of `knee`.
    knee
        One of the knees.
    """
    what = join_words([*dict.fromkeys(map(label_metric, metrics))])
    missing = "".join(f" {capital(words)}." for words in without_words(knee.without))
    if knee.reason is None:
        return f"No knee in {what}.{missing}"
    why, advice = no_knee_words(knee.reason)
    hint = f" {advice}." if advice else ""
    return f"No knee in {what}: {why}.{hint}{missing}"


def no_knee_words(reason: NoKnee) -> tuple[str, str]:
    """Return why a curve has no knee, and what to do about it if anything helps.

    Examples
    --------
    >>> no_knee_words(NoKnee(code="straight"))
    ('the curve is straight within its intervals', '')
    >>> no_knee_words(NoKnee(code="few_levels", count=4, needed=5, add=[1.5]))
    ('4 levels, at least 5 are needed', 'Add a level at 1.5')
    """
    between = f"Add levels between {format_level(reason.low)} and {format_level(reason.high)}"
    few = "levels" if len(reason.add) > 1 else "a level"
    return {
        "few_replications": (
            "too few replications",
            f"Run at least {reason.needed} at each level",
        ),
        "few_levels": (
            f"{count_noun(reason.count or 0, 'level')}, at least {reason.needed} are needed",
            f"Add {few} at {list_levels(reason.add)}" if reason.add else "",
        ),
        "straight": ("the curve is straight within its intervals", ""),
        "smooth": ("the curve bends evenly", ""),
        "bend_at_end": (f"the bend is too close to the {reason.end} level", between),
        "parallel": ("both ends of the curve have the same slope within their intervals", ""),
        "outside": (
            f"the asymptotes meet at {format_level(_rounded(reason.meets_at))}, outside the levels",
            "Add levels with lighter and heavier load",
        ),
        "unsettled": ("the bend may be at any level", f"{between}, or replications"),
        "defect": (reason.message, ""),
    }[reason.code]


def _rounded(value: float | None) -> float:
    return 0.0 if value is None else float(f"{value:.4g}")
