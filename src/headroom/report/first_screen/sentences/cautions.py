"""Cautions of an answer, and how sure it is, as short sentences."""

from headroom.analysis.answer_evidence import Caution, Sureness
from headroom.quantities import format_levels
from headroom.report.first_screen.sentences.sentence import brief_percent_of, plain
from headroom.report.notes.sureness import percent, widest_words
from headroom.report.words import count_noun, label_metric

_CAUSES = {
    "others": "other programs",
    "steal": "the host",
    "throttling": "the processor quota",
    "swapping": "swapping",
    "slower": "slower processors or memory",
}


def caution_words(found: Caution) -> str:
    """Return a caution as a clause with its number.

    Examples
    --------
    >>> caution_words(Caution(code="short_runs", count=1, total=1))
    'the only point ran too briefly for its intervals'
    >>> caution_words(Caution(code="assumed", count=9, total=9, name="assumed"))
    'all 9 numbers of the model are assumed'
    """
    count, total = found.count, found.total
    of = "of at least" if found.name == "at_least" else "of"
    of_points = "the only point" if total == 1 else f"{count:,} of {count_noun(total, 'point')}"
    have, their = ("has", "its") if count == 1 else ("have", "their")
    metric = label_metric(found.metric) if found.metric else ""
    of_runs = f"{count:,} of {count_noun(total, 'run')}" if total else count_noun(count, "run")
    return {
        "quick": f"quick variant: {of_runs.replace('of', of)}",
        "runs_left": f"{of_runs} are left",
        "failed": f"{of_runs} failed",
        "no_results": f"{of_points} {have} no results",
        "disturbed": (
            f"{of_runs} disturbed, by "
            f"{_CAUSES.get(found.name, 'the machine')} up to {brief_percent_of(found.share or 0.0)}"
        ),
        "remark": plain(found.message) + ("" if count == total else f" ({of_points})"),
        "refused": f"experiment {found.name!r} has no runs: {plain(found.message)}",
        "little": f"{of_points} broke Little's law: do not trust what is said of that",
        "settled": (
            f"runs of {of_points} settled at one of two rates, up to "
            f"{brief_percent_of(found.share or 0.0)} apart: no run takes the mean"
        ),
        "imprecise": (
            f"{of_points} did not reach ±{brief_percent_of(found.wanted or 0.0)} in {metric} "
            f"(worst: ±{brief_percent_of(found.share or 0.0)})"
        ),
        "short_runs": f"{of_points} ran too briefly for {their} intervals",
        "no_intervals": f"{of_points} {have} no interval of {metric}: too few runs",
        "unpaired": f"compared runs were not interleaved: {count} of {total} pairs",
        "assumed": _assumed(found),
        "fitted": _fitted(found),
    }[found.code]


def _assumed(found: Caution) -> str:
    is_one = found.total == 1
    lacks = {"assumed": "are assumed", "unsourced": "have no source"}.get(
        found.name, "are assumed or have no source"
    )
    if is_one:
        return f"the only number of the model {lacks.replace('are', 'is').replace('have', 'has')}"
    of_all = (
        f"all {found.total}" if found.count == found.total else f"{found.count} of {found.total}"
    )
    return f"{of_all} numbers of the model {lacks}"


def _fitted(found: Caution) -> str:
    numbers = count_noun(found.count, "number")
    claims = f"; {count_noun(found.total, 'claim')} rest on them" if found.total else ""
    return f"{numbers} of the model {'is' if found.count == 1 else 'are'} fitted{claims}"


def sureness_words(found: Sureness | None, *, has_results: bool = True) -> str:
    """Return how wide the intervals are.

    Examples
    --------
    >>> sureness_words(Sureness(runs=5, typical=0.0051, worst_below=0.103, worst_above=0.12,
    ...     metric="throughput", levels={"users": 250}))
    '95% intervals typically ±0.51%, at worst ±11% (throughput at users = 250)'
    """
    if found is None:
        return "no intervals: too few runs" if has_results else ""
    if not found.worst_above and not found.worst_below:
        return "every run of a point gave the same"
    kind = "prediction intervals" if found.is_prediction else "intervals"
    where = f" at {format_levels(found.levels)}" if found.levels else ""
    return f"95% {kind} typically ±{percent(found.typical)}{widest_words(found, where=where)}"
