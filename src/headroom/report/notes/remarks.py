"""Notes on one point: why its results may mislead, and further information.

Invariant: restates `PointResult`; what the system says of the first kind is always a caution.
"""

from headroom.analysis.results import LittleCheck, PointResult
from headroom.report.notes.measuring import disturbance_cautions
from headroom.report.notes.saturation import saturation_words
from headroom.report.sentences.bottleneck import bottleneck_text
from headroom.report.sentences.runs import (
    analysis_words,
    fault_words,
    place_words,
    run_length_words,
    warm_up_words,
)
from headroom.report.words import count_noun


def cautions_of(point: PointResult) -> list[str]:
    """Return why the figures of a point may mislead, in sentences."""
    said = [_told(remark, point) for remark in point.remarks]
    return [*disturbance_cautions(point), *settled_words(point), *said]


def settled_words(point: PointResult) -> list[str]:
    """Return that the runs of a point settled at one of two rates, if they did.

    Examples
    --------
    >>> from headroom.analysis.results import Settled
    >>> settled = Settled(low=1e3, high=1.6e3, low_count=3, high_count=5)
    >>> settled_words(PointResult(key="", levels={}, done=8, failed=0, settled=settled))
    ['3 runs settled around 1,000/s and 5 around 1,600/s: no run takes the mean.']
    """
    if (found := point.settled) is None:
        return []
    return [
        f"{count_noun(found.low_count, 'run')} settled around {found.low:,.4g}/s and "
        f"{found.high_count} around {found.high:,.4g}/s: no run takes the mean."
    ]


def _told(words: str, point: PointResult) -> str:
    """Format a run's note as a sentence, with the number of runs if not all of them have it."""
    text = words.removesuffix(f" ({point.done} times)")
    return f"{text[:1].upper()}{text[1:]}."


def remarks_of(point: PointResult) -> list[str]:
    """Return the notes on one point other than its cautions, in sentences."""
    remarks = [_told(note, point) for note in point.notes]
    if point.analysed and point.analysed.kind == "terminating":
        remarks.append(analysis_words(point.analysed))
    if point.saturation:
        remarks.append(f"Saturated: {saturation_words(point.saturation)}.")
    if point.bottleneck:
        remarks.append(bottleneck_text(point.bottleneck))
    if point.little:
        remarks.append(little_words(point.little))
    if point.warm_up and point.warm_up.is_steady and point.warm_up.evidence:
        remarks.append(f"Warm-up: {warm_up_words(point.warm_up.evidence)}.")
    if point.run_length and point.run_length.is_short:
        remarks.append(f"Run length: {run_length_words(point.run_length)}.")
    return remarks


def page_remarks(point: PointResult) -> list[str]:
    """Return all that is said about a point as one list: cautions first, faults last."""
    head = "Fault" if point.estimates else "No figures"
    return [
        *(f"Caution: {caution}" for caution in cautions_of(point)),
        *remarks_of(point),
        *(f"{head}: {fault_words(fault)}" for fault in point.faults),
    ]


def little_words(little: LittleCheck) -> str:
    """Return whether Little's law holds, and by how much N = X R misses it.

    The law is checked with the jobs that the edges of the window cut; N = X R leaves them out, so
    that its gap is no breach of the law.

    Examples
    --------
    >>> little_words(LittleCheck(passed=True, worst_gap=0.077, kind="station", name="disk"))[:61]
    "Little's law holds, the jobs counted that the edges of the wi"
    """
    gap = f"{little.worst_gap * 100:.2g}%"
    place = f" ({place_words(little.kind, little.name)})"
    if not little.passed:
        return f"Little's law is violated: N differs from X R by {gap}{place}."
    if not little.worst_gap:
        return "Little's law holds."
    return (
        "Little's law holds, the jobs counted that the edges of the window cut; without them N "
        f"differs from X R by at most {gap}{place}, and less in longer runs."
    )
