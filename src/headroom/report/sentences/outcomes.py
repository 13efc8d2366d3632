"""What became of the work of a point, as one clause: the same for models and for measurements."""

from headroom.analysis.evidence import LostShare, Outcome
from headroom.quantities import format_given
from headroom.report.words import count_noun

_WORDS = {
    "rejected": "are rejected",
    "abandoned": "leave out of patience",
    "failed": "fail after their last try",
    "lost": "are lost",
    "late": "are late",
}
_REQUESTS = "fail"
"""Of measured requests: no tries are known."""


def outcome_words(found: Outcome) -> str:
    """Return how much is offered, how much is done in time, and what became of the rest.

    Examples
    --------
    >>> share = LostShare(cause="failed", share=0.3)
    >>> outcome_words(Outcome(offered=100.0, goodput=70.0, lost=[share]))
    'of 100 jobs/s offered, 70 are completed (30% fail after their last try)'
    >>> late = [LostShare(cause="rejected", share=0.952), LostShare(cause="late", share=0.001)]
    >>> outcome_words(Outcome(offered=20e3, goodput=940.0, is_late=True, lost=late))
    'of 20,000 jobs/s offered, 940 are completed in time (95.2% are rejected, 0.1% are late)'
    >>> failed = [LostShare(cause="failed", share=0.013)]
    >>> outcome_words(Outcome(offered=800.0, goodput=790.0, lost=failed, count=100.0))
    'of 800 operations/s offered, 790 are completed (1.3% fail: 100 failures)'
    >>> outcome_words(Outcome(offered=790.0, goodput=790.0, lost=[], count=1.0))
    '790 operations/s are completed, with 1 failure in a run'
    """
    is_measured = found.count is not None
    thing = "operations" if is_measured else "jobs"
    done = "completed in time" if found.is_late else "completed"
    ends = [_end(one, is_measured=is_measured) for one in found.lost]
    count = ""
    if found.count:
        count = f": {count_noun(round(found.count), 'failure')}"
    of_class = f' of class "{found.name}"' if found.name else ""
    offered, goodput = _rate(found.offered), _rate(found.goodput)
    if not ends:
        return f"{goodput} {thing}/s are {done}, with {count.removeprefix(': ')} in a run"
    return (
        f"of {offered} {thing}/s{of_class} offered, {goodput} are {done} ({', '.join(ends)}{count})"
    )


def _end(one: LostShare, *, is_measured: bool) -> str:
    words = _REQUESTS if is_measured and one.cause == "failed" else _WORDS[one.cause]
    return f"{share_words(one.share)} {words}"


def share_words(share: float) -> str:
    """Return a share of the work in per cent, so that little is not none and most is not all.

    Examples
    --------
    >>> share_words(0.3), share_words(0.0004), share_words(0.99801), share_words(0.00000312)
    ('30%', '0.04%', '99.8%', '0.00031%')
    """
    percent = 100.0 * share
    near = min(percent, 100.0 - percent)
    if near >= 10.0 or near <= 0.0:  # noqa: PLR2004 - whole per cent
        return f"{percent:.0f}%"
    rest = float(f"{near:.2g}")
    return f"{format_given(rest if percent < 50.0 else 100.0 - rest, '1')}%"  # noqa: PLR2004 - half


def _rate(value: float) -> str:
    """Return a rate in three digits, without its unit."""
    return format_given(float(f"{value:.3g}"), "1")
