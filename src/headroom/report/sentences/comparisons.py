"""Comparisons of levels with a base, as sentences."""

from collections.abc import Sequence

from headroom.analysis.evidence import ComparisonEvidence, RunOrder
from headroom.analysis.results import LevelComparison, LevelsCompared
from headroom.experiment.protocol.system import Value
from headroom.quantities import format_level, format_limit, format_ratio
from headroom.report.sentences.intervals import absent_words, no_interval_words
from headroom.report.sentences.numbers import list_levels
from headroom.report.words import label_metric

_MORE = "run more replications"
METRICS_SHOWN = 4


def comparison_sentence(found: LevelsCompared, rows: Sequence[LevelComparison]) -> str:
    """Return how one level compares with the base in every metric.

    Parameters
    ----------
    found
        The comparison.
    rows
        Its rows of one level and one combination of other levels, one or more.
    """
    clauses = [_clause(row, found.same_within) for row in rows[:METRICS_SHOWN]]
    if len(rows) > METRICS_SHOWN:
        clauses.append(f"{len(rows) - METRICS_SHOWN} more")
    zone = format_limit(found.same_within)
    who = comparison_label(rows[0].level, found, where=rows[0].where)
    return f"{who}: {'; '.join(clauses)} (same: within {zone})."


def comparison_label(
    level: Value, found: LevelsCompared, *, where: dict[str, Value] | None = None
) -> str:
    """Return what is compared with what.

    Examples
    --------
    >>> found = LevelsCompared(factor="mode", base="buffered", same_within=0.05, confidence=0.95,
    ...     order=RunOrder(code="simulated"), rows=[])
    >>> comparison_label("durable", found, where={"size": 4})
    '"durable" vs "buffered", size = 4'
    """
    others = (f"{name} = {format_level(value)}" for name, value in (where or {}).items())
    is_word = isinstance(level, str)
    head = _named(level) if is_word else f"{found.factor} = {format_level(level)}"
    return ", ".join([f"{head} vs {_named(found.base)}", *others])


def _named(level: Value) -> str:
    return f'"{level}"' if isinstance(level, str) else format_level(level)


def _clause(row: LevelComparison, same_within: float) -> str:
    ratio = "" if row.ratio is None else f" {format_ratio(row.ratio, row.low, row.high)}"
    is_plain = row.low is not None or row.verdict == "same"
    why = "" if is_plain else f" ({comparison_reason(row.evidence, same_within)})"
    comma = "," if ratio else ""
    return f"{label_metric(row.metric)}{ratio}{comma} {row.verdict}{why}"


def comparison_reason(evidence: ComparisonEvidence, same_within: float) -> str:
    """Return the basis of a verdict, as a clause.

    Parameters
    ----------
    evidence
        The evidence of the row.
    same_within
        Share by which levels that are the same may differ.

    Examples
    --------
    >>> comparison_reason(ComparisonEvidence(code="open"), 0.05)
    'the ratio may be 1 or differ by more than 5%; run more replications'
    """
    zone, levels = format_limit(same_within), list_levels(evidence.levels)
    verb = "are" if len(evidence.levels) > 1 else "is"
    reason = {
        "within": f"differs by less than {zone}",
        "beyond": f"differs by more than {zone}",
        "both_zero": "zero in every run of both",
        "unbounded": f"without bound: {levels} {verb} saturated",
        "missing": f"{levels}: {absent_words(evidence.absent) or 'no results'}",
        "few_runs": no_interval_words(evidence.reason),
        "larger_open": f"the ratio is above 1 but may differ by less than {zone}; {_MORE}",
        "smaller_open": f"the ratio is below 1 but may differ by less than {zone}; {_MORE}",
        "open": f"the ratio may be 1 or differ by more than {zone}; {_MORE}",
    }[evidence.code]
    if evidence.by_differences:
        return f"{reason}; a value is not above zero, so differences decide"
    return reason


def no_comparison_sentence(found: LevelsCompared) -> str:
    """Return why nothing is compared, empty if something is."""
    if found.why_empty is None:
        return ""
    if found.why_empty.code == "defect":
        return f"Nothing to compare: {found.why_empty.message}."
    return f"Nothing to compare: {found.factor} = {format_level(found.base)} was not run."


def order_sentences(order: RunOrder) -> str:
    """Return how the runs were ordered, and what that means for the ratios.

    Examples
    --------
    >>> order_sentences(RunOrder(code="simulated"))
    'Simulated: the order of runs does not matter. Ratios are ratios of means.'
    """
    whole = (
        f"all {order.blocks:,}"
        if order.intact == order.blocks
        else f"{order.intact:,} of {order.blocks:,}"
    )
    pairs = "the only pair" if order.blocks == 1 else f"{whole} pairs"
    return {
        "simulated": "Simulated: the order of runs does not matter. Ratios are ratios of means.",
        "no_runs": "No runs to compare yet.",
        "interleaved": (
            f"Levels were interleaved in randomised blocks ({pairs} of runs ran side by side). "
            "Ratios are typical ratios within blocks (signed ranks)."
        ),
        "apart": (
            f"Levels were not interleaved (only {order.intact:,} of {order.blocks:,} pairs of runs "
            "ran side by side): a drift of the machine would look like a difference. Ratios are "
            "ratios of medians. Run the study again to get blocks."
        ),
    }[order.code]
