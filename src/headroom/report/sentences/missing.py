"""Why a point has no estimate of a metric, as one clause."""

from headroom.analysis.results import PointResult
from headroom.report.sentences.intervals import absent_words
from headroom.report.sentences.runs import fault_words


def missing_words(point: PointResult, metric: str) -> str:
    """Return why a point has no estimate of a metric; empty if that is not known.

    Examples
    --------
    >>> missing_words(PointResult(key="a", levels={}, done=0, failed=0), "throughput")
    'no replication has run'
    """
    if metric in point.absent:
        return absent_words(point.absent[metric])
    if point.saturation is not None:
        return "the point is saturated: the metric grows with the length of the run"
    if point.estimates:
        return ""
    if point.errors:
        return f"every replication failed: {point.errors[0].partition(chr(10))[0]}"
    if point.faults:
        return f"no run counts: {fault_words(point.faults[0])}"
    return "" if point.done else "no replication has run"
