"""What an interval is, why a value has none, or why a point lacks a metric, as clauses."""

from collections.abc import Sequence

from headroom.analysis.evidence import Absent, NoInterval
from headroom.analysis.results import Estimate
from headroom.report.words import count_noun

_CENTRES = {"pooled": "pooled value", "choice": "most frequent choice"}
_MORE = "run {needed} or more"
_NO_INTERVAL = {
    "one_replication": "one replication gives no interval: run 2 or more",
    "few_for_median": (
        f"{{count}} replications give no {{percent:.4g}}% interval of the median: {_MORE}"
    ),
    "few_for_extreme": (
        f"{{count}} replications give no interval of the extreme of {{extreme_of}}: {_MORE}"
    ),
    "few_for_spread": f"{{count}} replications give no interval of their spread: {_MORE}",
    "few_for_shift": "{count} and {other_count} runs are too few for an interval of the shift",
    "few_pairs": f"{{pairs}} of runs can never decide: {_MORE}",
    "zero_divisor": "the divisor is zero",
    "divisor_near_zero": "the divisor may be zero: its interval contains it",
    "zero_inside": "a ratio needs values above zero: an interval contains zero",
    "not_positive": "a value that is not above zero has no ratio, so differences decide",
    "both_unbounded": "both grow without bound: the points are saturated",
    "same_values": "every replication gave the same value: no spread to compare",
    "one_outlier": "one replication determines the spread: no interval",
    "no_upper_end": "no upper end: by what the points allow, there may be no steady state",
    "no_formula": (
        "no prediction interval: formulas do not say how it follows from the fitted parameters"
    ),
    "fitted_parts": "no interval: errors of predictions with fitted parameters go together",
}


def no_interval_words(reason: NoInterval | None) -> str:
    """Return why a value has no interval; empty if it has one.

    Examples
    --------
    >>> no_interval_words(NoInterval(code="few_pairs", count=1, needed=6))
    '1 pair of runs can never decide: run 6 or more'
    """
    if reason is None:
        return ""
    return _NO_INTERVAL[reason.code].format(
        count=reason.count,
        needed=reason.needed,
        other_count=reason.other_count,
        extreme_of=reason.extreme_of,
        percent=100.0 * (reason.confidence or 0.0),
        pairs=count_noun(reason.count or 0, "pair"),
    )


def absent_words(absent: Absent | None) -> str:
    """Return why a point lacks a metric; empty if that is not known.

    Examples
    --------
    >>> absent_words(Absent(code="few_bursts", percent=99.9, needed=20.0, found=4.0))[:50]
    'p99.9 needs 20 independent bursts beyond it, and r'
    """
    if absent is None:
        return ""
    if absent.code == "saturated":
        return "the point is saturated"
    if absent.code == "no_mean":
        return "the mean does not exist, as some service has no variance; percentiles do"
    needed, found = absent.needed or 0.0, absent.found or 0.0
    if absent.code == "few_bursts":
        return (
            f"p{absent.percent:g} needs {needed:g} independent bursts beyond it, and runs of this "
            f"length show about {found:.2g}; {_longer(absent, needed / max(found, 1e-3))}"
        )
    return (
        f"p{absent.percent:g} needs {needed:,.0f} observations in each run, {absent.beyond} of "
        f"them beyond it; the shortest run has {found:,.0f}"
    )


def _longer(absent: Absent, times: float) -> str:
    """Return how long runs must be for a percentile, as far as that is known."""
    longer = f"run {times:.2g} times as long"
    if absent.observations is None:
        return longer
    size = float(f"{absent.observations:.2g}")
    return f"{longer}, about {size:,.0f} observations in each run"


def describe_interval(estimates: Sequence[Estimate]) -> str:
    """Return the meaning of the marks and bands, in one sentence.

    Examples
    --------
    >>> describe_interval([])
    'No point has a result.'
    """
    if not estimates:
        return "No point has a result."
    counts = sorted({estimate.count for estimate in estimates})
    spread = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    centre = _CENTRES.get(estimates[0].centre, estimates[0].centre).capitalize()
    if estimates[0].centre == "choice":
        return f"{centre} of n = {spread}."
    methods = {estimate.method for estimate in estimates} - {"none"}
    if not methods:
        return f"{centre} of n = {spread}; too few replications for an interval."
    method = " / ".join(sorted(methods)).replace("student-t", "Student t")
    return f"{centre} and 95% interval ({method}), n = {spread} per point."
