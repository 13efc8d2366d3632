"""What went wrong with the runs of a point, their warm-up and their length, as sentences."""

from headroom.analysis.evidence import Fault, LawPlace, WarmUpEvidence
from headroom.analysis.results import PointResult, RunLength, RunsAnalysed
from headroom.experiment.study.study import Replications
from headroom.quantities import format_quantity
from headroom.report.sentences.intervals import absent_words
from headroom.report.words import count_noun

_METRICS_NAMED = 3


def place_words(kind: LawPlace, name: str) -> str:
    """Return where a law was checked.

    Examples
    --------
    >>> place_words("system", ""), place_words("class", "read")
    ('the system', 'class read')
    """
    return "the system" if kind == "system" else f"{kind} {name}"


def messages_of(point: PointResult, *, fault: str = "") -> list[tuple[str, str]]:
    """Return errors and faults of a point, each once under its heading, faults behind a word."""
    head = "Fault" if point.estimates else "Missing"
    return [
        *(("Failed", text) for text in dict.fromkeys(point.errors)),
        *((head, f"{fault}{text}") for text in dict.fromkeys(map(fault_words, point.faults))),
    ]


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


def fault_words(fault: Fault) -> str:
    """Return why runs do not count, with how often that came if more than once."""
    words = _fault_words(fault)
    return words if fault.times == 1 else f"{words} ({fault.times} times)"


def _fault_words(fault: Fault) -> str:
    if fault.warm_up is not None:
        return warm_up_words(fault.warm_up)
    place = place_words(fault.kind, fault.name)
    return {
        "little": (
            f"Little's law fails for {place}: the time that jobs spent there is not that of the "
            "jobs that left and of those still present"
        ),
        "little_of_queue": (
            f"Little's law fails for the queue of {place}: the time that jobs waited is not that "
            "of the jobs served and of those still waiting"
        ),
        "utilization_law": (
            f"the utilization law fails for {place}: it is busy for longer than jobs are there "
            "outside its queue"
        ),
        "busy": f"{place} has more busy time than elapsed time",
        "nothing_left": f"nothing is left of a run after a warm-up of {fault.cut_s or 0.0:.6g} s",
    }.get(fault.code, fault.message)


def warm_up_words(evidence: WarmUpEvidence) -> str:
    """Return what there is to say of a warm-up, as one clause.

    Examples
    --------
    >>> warm_up_words(WarmUpEvidence(code="few_completions", run_s=49.0, needed=50))
    'fewer than 50 completions in 49.0 s; run longer'
    """
    if evidence.code == "rare_classes":
        return "; ".join(
            f"the response time of class {name} is not reported: fewer than {evidence.needed} "
            "completions in a run"
            for name in evidence.classes
        )
    run = format_quantity(evidence.run_s, "s")
    words = {
        "too_long": (
            f"the warm-up of {format_quantity(evidence.cut_s, 's')} is longer than the run ({run})"
        ),
        "no_series": "no series to find a warm-up in",
        "few_completions": f"fewer than {evidence.needed} completions in {run}; run longer",
        "still_settles": (
            f"no steady state within {run} by {_series_words(evidence.metric)}: it still settles "
            "when half of the run is cut; run longer"
        ),
        "saturated": "saturated: no steady state",
    }[evidence.code]
    return f"{words}{_load_words(evidence)}"


def _load_words(evidence: WarmUpEvidence) -> str:
    if evidence.overloaded is not None:
        kind, name = evidence.overloaded
        where = name if kind == "station" else f"{kind} {name}"
        return f", or the load is more than {where} can serve"
    if evidence.code == "still_settles":
        return ", unless the load is more than the system can serve"
    return ""


def _series_words(metric: str) -> str:
    owner, _, quantity = metric.removeprefix("class.").rpartition(".")
    words = "the response time" if quantity == "response_s" else metric
    return f"{words} of class {owner}" if metric.startswith("class.") else words


def run_length_words(length: RunLength) -> str:
    """Return which intervals are doubtful because runs are short, and how long would do."""
    own = [name for name in length.metrics if "." not in name] or length.metrics
    more = f" and {len(own) - _METRICS_NAMED} more" if len(own) > _METRICS_NAMED else ""
    is_heavy = set(own) <= set(length.heavy)
    cause = "a tail too heavy" if is_heavy else "too few bursts"
    return (
        f"short: {cause} for {', '.join(own[:_METRICS_NAMED])}{more}, whose intervals cover less "
        f"often than 95%; run at least {length.completions_needed:,} completions"
        + (" in each replication" if length.runs > 1 else "")
        + (" to see whether it ends" if is_heavy else "")
    )


def stopping_words(rule: Replications) -> str:
    """Return how often each point runs.

    Examples
    --------
    >>> stopping_words(Replications(count=10))
    '10 replications of each point'
    >>> stopping_words(Replications(metric="throughput", half_width=0.02))
    'until the 95% interval of throughput is within 2%, 5 to 100 replications'
    """
    if rule.count is not None or rule.metric is None or rule.half_width is None:
        return f"{count_noun(rule.count or rule.minimum, 'replication')} of each point"
    return (
        f"until the 95% interval of {rule.metric} is within {100 * rule.half_width:g}%, "
        f"{rule.minimum} to {rule.maximum} replications"
    )


def analysis_words(analysed: RunsAnalysed) -> str:
    """Return how the runs of a point were analysed, and why.

    Examples
    --------
    >>> analysis_words(RunsAnalysed(kind="terminating", is_declared=True))
    'Terminating runs (the study says so): each replication is one observation, nothing is cut.'
    """
    because = "the study says so" if analysed.is_declared else analysed.because
    if analysed.kind == "terminating":
        return f"Terminating runs ({because}): each replication is one observation, nothing is cut."
    return f"Runs of a steady state{f' ({because})' if because else ''}."
