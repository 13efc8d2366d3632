"""Derived quantities as sentences: why a value is missing, and what an interval counts."""

from headroom.analysis.evidence import NoValue
from headroom.analysis.results import DerivedResult, DerivedValue
from headroom.quantities import format_levels
from headroom.report.sentences.intervals import absent_words, no_interval_words
from headroom.report.words import join_words, label_metric

_OPERATIONS = {
    "ratio_to": "{of} divided by that at {to}",
    "difference_to": "{of} less that at {to}",
    "divided_by": "{of} divided by {divisor}",
    "share_over": "share of the sum of {of} over {over}",
    "standardised_over": "{of} standardised over {over}",
    "sum_over": "sum of {of} over {over}",
    "mean_over": "mean of {of} over {over}",
    "geometric_mean_over": "geometric mean of {of} over {over}",
    "maximum_over": "largest {of} over {over}",
    "minimum_over": "smallest {of} over {over}",
    "function": "registered function of {of}",
}


def derived_words(found: DerivedResult) -> str:
    """Return the definition of a derived quantity.

    Examples
    --------
    >>> derived_words(DerivedResult(name="all", of="throughput", operation="sum_over", unit="1/s",
    ...     better="none", factors=[], over=["mode", "users"]))
    'sum of throughput over mode and users'
    """
    to = ", ".join(filter(None, [format_levels(found.to), found.to_experiment]))
    if found.is_inverse:
        return f"{label_metric(found.of)} at {to} divided by that of each point"
    return _OPERATIONS[found.operation].format(
        of=label_metric(found.of), over=join_words(found.over), to=to,
        divisor=label_metric(found.divisor),
    )  # fmt: skip


def no_value_words(missing: NoValue | None) -> str:
    """Return why a derived quantity, or one of its terms, has no value; empty if it has one.

    Examples
    --------
    >>> no_value_words(NoValue(code="saturated", quantity="response_s_mean", levels={"users": 9}))
    'users = 9 is saturated'
    """
    if missing is None:
        return ""
    levels = format_levels(missing.levels) or "the point"
    why = f": {absent_words(missing.absent)}" if missing.absent else ""
    return {
        "no_point": f"no point with {levels} was planned",
        "no_results": f"no results for {missing.quantity} at {levels}{why}",
        "saturated": f"{levels} is saturated",
        "zero_divisor": f"the divisor at {levels} is zero",
        "not_positive": f"a {missing.quantity} is not above zero",
        "few_levels": "fewer than two levels have values",
        "function": "the function gives no value",
    }[missing.code]


def remark_of(value: DerivedValue) -> str:
    """Return a remark on one value: which terms are missing, or the reason for no interval."""
    is_part = value.value is not None and value.missing is not None
    terms = f"{value.count} of {value.planned} terms" if is_part else ""
    clauses = [terms, no_value_words(value.missing), no_interval_words(value.reason)]
    return "; ".join(filter(None, clauses))
