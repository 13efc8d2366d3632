"""An answer as sentences.

Invariant: restates `Answer`; what the range seen does not tell is said so, with what would.
"""

from collections.abc import Iterator, Mapping

from headroom.observe.answer import FULL, THROTTLED, Answer, Cost, Limit
from headroom.quantities import format_bounds, format_given, format_percent

_PARTS = {
    "quota": "its limit of {room:.3g} processors is",
    "processors": "the {room:.3g} processors that others leave are",
    "thread": "its only busy thread is",
    "shared": "the {room:.3g} processors that it shares with its clients are",
}
_MORE = "observe while the load varies more (`--for 1h`, over a peak)"
_OWN_COST = 0.01
"""Processors of its own from which observing says how to take less."""
_LOCKS = ("lock", "lwlock")
_WAITING = 1.0
"""Clients that wait on average from which a wait is named first."""


def sentences(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line of the answer; the first label is empty."""
    yield "", headline(answer)
    yield "Limit", _limit(answer)
    yield "Load", _load(answer)
    for cost in answer.costs:
        yield ("Cost" if cost is answer.costs[0] else ""), _cost(cost, answer)
    if len(answer.programs) > 1:
        yield "Programs", _shares(answer.programs)
    yield "Others", _others(answer)
    if answer.waits:
        yield "Waits", _waits(answer)
    for text in answer.statements:
        yield "", f"waiting in: {text}"
    for text in _cautions(answer):
        yield "! Care", text
    yield "Own cost", _own_cost(answer)


def headline(answer: Answer) -> str:
    """Return the answer in one sentence."""
    name, limit = answer.target.partition(" (")[0], answer.limit
    name = name[:1].upper() + name[1:]
    if answer.verdict == "carries" and limit.times is not None:
        times = f"{limit.times:.2g} times this load ({_ends(limit)})"
        full = format_given((answer.rate or 0.0) * limit.times, "1/s")
        return f"{name} carries {times}, about {full}, until {_part(limit)} full."
    if answer.verdict == "at_least" and limit.low is not None:
        return (
            f"The range seen cannot tell how much more {name[:1].lower() + name[1:]} carries: "
            f"between {max(limit.low, 1.0):.2g} and {limit.high or 0.0:.2g} times this load."
        )
    return {
        "no_rate": f"{name} keeps {_busy(limit)} busy; without a rate, how much more it carries is "
        "unknown.",
        "idle": f"{name} does nearly nothing: no answer.",
        "few_windows": f"{name} keeps {_busy(limit)} busy; it was observed too briefly to tell how "
        "much more it carries.",
    }.get(
        answer.verdict,
        f"{name} keeps {_busy(limit)} busy; the load varied too little to tell how much more it "
        "carries.",
    )


def _ends(limit: Limit) -> str:
    return f"{max(limit.low or 0.0, 0.0):.2g} to {limit.high or 0.0:.2g}"


def _part(limit: Limit) -> str:
    return _PARTS["shared" if limit.is_shared else limit.part].format(room=limit.room)


def _busy(limit: Limit) -> str:
    return f"{limit.busy:.2g} of {limit.room:.3g} processors ({limit.busy / limit.room:.0%})"


def _limit(answer: Answer) -> str:
    limit = answer.limit
    share = limit.busy / limit.room
    waiting = {name: answer.waits.get(name, 0.0) for name in _LOCKS}
    if share >= FULL:
        return f"{_part(limit)} full now: {share:.0%} busy."
    if answer.throttled > THROTTLED:
        return (
            f"its limit of processors holds it back in {answer.throttled:.0%} of the time, though "
            f"only {share:.0%} are busy on average: it comes in bursts."
        )
    if sum(waiting.values()) >= _WAITING:
        return (
            f"locks: {sum(waiting.values()):.2g} clients wait for them on average, while "
            f"{share:.0%} of the processors are busy; the headroom of processors does not count."
        )
    return f"nothing that takes processors limits now: {_part(limit)} {share:.0%} busy."


def _load(answer: Answer) -> str:
    if answer.rate is None:
        return "no rate: name a counter of operations with --rate, see `headroom observe --help`."
    low, high = answer.rate_low or 0.0, answer.rate_high or 0.0
    return (
        f"{format_bounds(answer.rate, None, None, '1/s')} {answer.operation} on average, "
        f"{format_given(low, '1/s')} to {format_given(high, '1/s')} in {answer.windows} windows."
    )


def _cost(cost: Cost, answer: Answer) -> str:
    part = {"all": "", "user": " in programs", "system": " in the kernel"}[cost.part]
    value = format_bounds(cost.value_s, cost.low_s, cost.high_s, "s")
    if cost.part != "all":
        return f"{value}{part}"
    background = "" if answer.limit.times else ", background included"
    return f"{value} of a processor for one of {cost.operation}{background}"


def _shares(busy: Mapping[str, float]) -> str:
    rows = sorted(busy.items(), key=lambda row: -row[1])[:5]
    whole = sum(busy.values()) or 1.0
    return ", ".join(f"{name or 'ended'} {value / whole:.0%}" for name, value in rows)


def _others(answer: Answer) -> str:
    limited = "" if answer.quota is None else f"; its limit is {answer.quota:.3g}"
    names = ", ".join(f"{name} {value:.2g}" for name, value in answer.neighbours.items())
    return (
        f"{answer.others:.2g} of {answer.usable} processors are busy for others"
        f"{f' ({names})' if names else ''}, {answer.steal:.2g} are taken by the hypervisor"
        f"{limited}."
    )


def _waits(answer: Answer) -> str:
    rows = sorted(answer.waits.items(), key=lambda row: -row[1])
    return ", ".join(f"{name} {value:.2g}" for name, value in rows) + " clients on average"


def _cautions(answer: Answer) -> Iterator[str]:
    if answer.verdict in {"carries", "at_least"}:
        yield (
            "this counts processors alone: a lock, a pool or a limit of connections takes none and "
            "shows only near its limit."
        )
    if answer.verdict in {"at_least", "alike", "few_windows"}:
        yield f"for a better answer, {_MORE}, or let a burst fill the server for 2 s."
    if answer.limit.is_shared:
        yield "the time of others grows with the load: clients on this machine count as its cost."
    if answer.is_full:
        yield (
            "the machine is full: others give way to a busier server, so it may get more than they "
            "leave now."
        )
    if answer.gaps:
        yield f"{answer.gaps} windows do not count: {answer.gap}."
    if answer.stolen:
        yield (
            f"{answer.stolen} windows do not count: a hypervisor took more than 5% of the "
            "processors."
        )


def _own_cost(answer: Answer) -> str:
    more = "; --window makes it cheaper" if answer.own_cpu > _OWN_COST else ""
    return f"{format_percent(answer.own_cpu)} of a processor{more}"
