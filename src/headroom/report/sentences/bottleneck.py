"""The bottleneck of a point, or the reason why there is none, as sentences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from headroom.analysis.evidence import (
    ClassLoss,
    Limiting,
    NotLimited,
    Overflow,
    Symptom,
    UsedResource,
    WorstSpan,
)
from headroom.analysis.results import Bottleneck, Estimate
from headroom.quantities import format_bounds, format_given, format_time_span
from headroom.report.sentences.numbers import (
    brief_percent,
    capital,
    count_jobs,
    list_words,
    percent_bounds,
    percent_range,
    whole_percent,
)

_NOBODY = 0.05
"""Mean number waiting that prints as 0.0."""
_SPANS_SHOWN = 2
_HARMLESS = {
    "unawaited": "no job waits for that work",
    "no_failures": "no job is lost and no try fails",
    "no_gain": "doubling it has no effect",
}


_Share: TypeAlias = Callable[[UsedResource], str]
"""How busy a resource is, in words."""
_Queue: TypeAlias = Callable[[Bottleneck, Limiting], str]
"""How many jobs wait at a bottleneck, in words."""


def bottleneck_text(verdict: Bottleneck, estimates: Mapping[str, Estimate] | None = None) -> str:
    """Return the verdict of a point with its evidence, in sentences.

    Parameters
    ----------
    verdict
        The verdict.
    estimates
        Metrics of the point, if every number is to have its interval.
    """
    if estimates is None:
        return " ".join(bottleneck_sentences(verdict))
    return " ".join(bottleneck_sentences(verdict, _bounded, partial(_bounded_queue, estimates)))


def bottleneck_sentences(
    verdict: Bottleneck, share: _Share | None = None, queue: _Queue | None = None
) -> list[str]:
    """Return the conclusion first, then what supports it."""
    evidence, share = verdict.evidence, share or _brief
    sentences = (
        _limiting(verdict, evidence, share, queue or _queue)
        if isinstance(evidence, Limiting)
        else _not_limited(evidence, share)
    )
    return [f"{capital(sentence)}." for sentence in sentences]


def _brief(used: UsedResource) -> str:
    return brief_percent(used.utilization)


def _bounded(used: UsedResource) -> str:
    return percent_bounds(used.utilization, used.low, used.high)


def _bounded_queue(estimates: Mapping[str, Estimate], verdict: Bottleneck, found: Limiting) -> str:
    """Return how many jobs wait at the bottleneck, with the interval."""
    queue = estimates.get(f"{found.cause.kind}.{found.cause.name}.queue_len_mean")
    if queue is None or queue.low is None or queue.high is None or queue.value < _NOBODY:
        return _queue(verdict, found)
    what = "jobs" if found.is_awaited else "background tasks"
    return f"{format_bounds(queue.value, queue.low, queue.high, '1')} {what} queued"


def limit_sentence(verdicts: Sequence[Bottleneck], *, where: str, when: str = "") -> str:
    """Return at which points a resource is the bottleneck.

    Parameters
    ----------
    verdicts
        Those of points that one resource limits; one or more.
    where
        The points.
    when
        The stretch of terminating runs.
    """
    first = verdicts[0]
    shares = [verdict.utilization for verdict in verdicts]
    verb = "busy" if first.kind == "station" else "held"
    used = percent_range(min(shares), max(shares))
    subject = f'{capital(first.kind)} "{first.name}" is the bottleneck {where}'
    return f"{subject}{when}: {used} {verb}." if when else f"{subject} ({used} {verb})."


def titled(used: UsedResource) -> str:
    """Return a station by its name, a pool as one.

    Examples
    --------
    >>> titled(UsedResource(kind="pool", name="links", utilization=1.0, low=None, high=None,
    ...     waiting=0.0, capacity=4.0, is_saturated=True))
    'pool "links"'
    """
    return f'"{used.name}"' if used.kind == "station" else f'pool "{used.name}"'


def _busy(used: UsedResource) -> str:
    verb = "busy" if used.kind == "station" else "held"
    return f"{percent_bounds(used.utilization, used.low, used.high)} {verb}"


def _limiting(verdict: Bottleneck, found: Limiting, share: _Share, queue: _Queue) -> Iterator[str]:
    yield f"{_when(found.worst)}{_conclusion(found, queue(verdict, found))}"
    if found.classes:
        shares = [f'{brief_percent(class_.share)} for "{class_.name}"' for class_ in found.classes]
        yield f"its work is {list_words(shares)}"
    if found.worst is not None:
        yield from _span_sentences(found.worst, found.cause)
    if found.ties:
        names = [f"{titled(tie)} ({share(tie)})" for tie in found.ties]
        verb = "is" if len(names) == 1 else "are"
        yield f"{list_words(names)} {verb} as busy: they limit together"
    yield from _others(found, share)
    yield from (_symptom(symptom, found.cause) for symptom in found.symptoms)
    yield from _lost(found.overflows, found.losses)
    if found.cause.name.startswith("program."):
        yield (
            "the load program itself limits, not what it measures: give it more processes, or run "
            "it on another machine"
        )
    yield from _neighbours(found.neighbours)
    if not found.is_steady:
        yield "these are whole runs: they have no steady state"


def _when(worst: WorstSpan | None) -> str:
    return "" if worst is None else f"{format_time_span(worst.from_s, worst.to_s)}, "


def _conclusion(found: Limiting, queue: str) -> str:
    """Return what limits, how full it is, and how many jobs wait for that."""
    cause = found.cause
    if found.why == "held":
        tokens = "" if cause.capacity is None else f" of {cause.capacity:g} tokens"
        used = percent_bounds(cause.utilization, cause.low, cause.high)
        return f'pool "{cause.name}" is exhausted: {used}{tokens} held, {queue}'
    if found.why == "uneven":
        busiest = brief_percent(cause.busiest or 0.0)
        return (
            f'one station of "{cause.name}" is saturated: {busiest} busy (all of them '
            f"{brief_percent(cause.utilization)}), {queue}; jobs routed to it queue even while "
            "the others are idle"
        )
    if found.why == "down":
        return (
            f'"{cause.name}" limits because it is down {brief_percent(cause.down)} of the time: '
            f"{_busy(cause)} while it is up, {queue}"
        )
    if found.why == "full_places":
        return f'the places of "{cause.name}" are full and block others: {_busy(cause)}, {queue}'
    if cause.waiting is None:
        return f'"{cause.name}" is saturated: {_busy(cause)}'
    return f'"{cause.name}" is saturated: {_busy(cause)}, {queue}'


def _queue(verdict: Bottleneck, found: Limiting) -> str:
    """Return how many jobs wait at the bottleneck, and how much of the response time that is."""
    waiting = found.cause.waiting or 0.0
    if waiting < _NOBODY:
        return "no jobs queued"
    if not found.is_awaited:
        return f"{count_jobs(waiting)} background tasks queued, which no job waits for"
    of_all = "" if found.population is None else f" of {found.population:g}"
    share = verdict.wait_share
    time = (
        f" ({whole_percent(share)} of response time)" if share is not None and share <= 1.0 else ""
    )
    return f"{count_jobs(waiting)}{of_all} jobs queued{time}"


def _others(found: Limiting, words: _Share) -> Iterator[str]:
    """Yield how busy the resources are that do not limit."""
    if found.cause.kind == "pool":
        yield from _inside(found, words)
    elif found.next is not None:
        after = found.next
        share = words(after)
        if after.busiest is not None:
            yield f'next: "{after.name}" ({share}, its busiest {brief_percent(after.busiest)})'
        elif after.is_saturated:
            yield f'next: "{after.name}" ({share})'
        elif found.others == 1:
            yield f'the other station, "{after.name}", is {share} busy'
        else:
            yield f"all other stations are at most {share} busy"


def _inside(found: Limiting, words: _Share) -> Iterator[str]:
    """Yield how full the resources are that the holders of a pool use."""
    if found.behind:
        for one in found.behind:
            yield f"{titled(one)} behind it is {_busy(one)}, but no job queues there"
    elif found.inside is None:
        yield "no station is used while holding a token"
    elif found.inside.name not in {tie.name for tie in found.ties}:
        busiest = f'"{found.inside.name}" ({words(found.inside)})'
        yield f"no station used while holding a token is saturated; busiest: {busiest}"


def _symptom(one: Symptom, cause: UsedResource) -> str:
    resource = one.resource
    if one.because == "no_place":
        return (
            f'"{resource.name}" is full only because its finished jobs find no place at '
            f'"{cause.name}"'
        )
    delayed = {
        "waits_for_pool": f'wait for pool "{cause.name}"',
        "queues": "queue there",
        "blocked": f'are held up by "{cause.name}"',
    }[one.because]
    return f'pool "{resource.name}" is exhausted only because its holders {delayed}'


def _lost(overflows: Sequence[Overflow], losses: Sequence[ClassLoss]) -> Iterator[str]:
    """Yield the work that stations reject, the jobs lost, and the number of failed attempts."""
    for one in overflows:
        rejects = f'"{one.resource.name}" rejects {brief_percent(one.rejected)} of arrivals'
        if one.harmless:
            used = brief_percent(one.resource.utilization)
            yield f"{rejects} at {used} busy, without harm: {_HARMLESS[one.harmless]}"
        else:
            yield rejects
    for loss in losses:
        of_class = f' of class "{loss.name}"' if loss.name else ""
        if loss.lost:
            yield f"{brief_percent(loss.lost)} of jobs{of_class} are lost"
        else:
            tries = format_given(float(f"{loss.failed_tries:.2g}"), "1")
            yield f"each job{of_class} makes {tries} failing tries"


def _span_sentences(worst: WorstSpan, cause: UsedResource) -> Iterator[str]:
    if worst.longest_queue >= 1.0:
        whose = (
            "its queue" if worst.name == cause.name else f'the queue of {worst.kind} "{worst.name}"'
        )
        end = " and is not empty when the run ends" if worst.is_last else ""
        yield f"{whose} grows to {count_jobs(worst.longest_queue)} jobs{end}"
    if worst.whole_utilization is None:
        yield "the rest of the run is not saturated"
    else:
        verb = "busy" if cause.kind == "station" else "held"
        yield f"over the whole run it is {brief_percent(worst.whole_utilization)} {verb}"
    if worst.others:
        spans = [
            format_time_span(other.from_s, other.to_s)
            if other.name == cause.name
            else f'"{other.name}" {format_time_span(other.from_s, other.to_s)}'
            for other in worst.others
        ]
        yield f"also saturated: {list_words(spans, most=_SPANS_SHOWN)}"


def _neighbours(share: float | None) -> Iterator[str]:
    if share is not None:
        yield f"other programs take {brief_percent(share)} of the machine's processors"


def _not_limited(found: NotLimited, share: _Share) -> Iterator[str]:
    fullest = found.fullest
    used = f'"{fullest.name}" ({share(fullest)})'
    if fullest.is_saturated:
        yield "no bottleneck: full stations reject work without harm"
    elif found.by == "observed":
        yield f"nothing that was observed is saturated; busiest: {used}"
    elif fullest.kind == "station":
        yield f"no station is saturated; busiest: {used}"
    else:
        yield f"no pool is exhausted; fullest: {used}"
    if fullest.down > 0.0:
        yield f'"{fullest.name}" is down {brief_percent(fullest.down)} of the time'
    if found.by == "observed":
        if fullest.utilization > 0.0:
            most = 1.0 / fullest.utilization
            yield f"at equal work per operation, it permits {most:.3g} times this throughput"
        yield from _neighbours(found.neighbours)
        return
    yield {
        "think_time": (
            f"think time limits throughput: {count_jobs(found.thinking)} of {found.population:g} "
            "users think at any time"
        ),
        "population": (
            "the number of users limits throughput: "
            f"{found.population:g} cannot keep a station busy"
        ),
        "arrivals": "throughput equals the arrival rate",
        "accepted_arrivals": "throughput equals the rate of accepted arrivals",
        "failing_arrivals": "the arrival rate limits throughput, but some work fails",
    }[found.by]
    yield from _lost(found.overflows, found.losses)
