"""An answer as sentences.

Invariant: restates `Answer`; what the range seen does not tell is said so, with what would.
"""

from collections.abc import Iterator

from headroom.analysis.verdicts.culprits import SATURATED
from headroom.observe.answer import Answer, Cost, Limit
from headroom.observe.windows import Observation
from headroom.quantities import format_bounds, format_given, format_percent

THROTTLED = 0.01
"""Share of time from which being held back is named."""
_PARTS = {
    "quota": "the {:.3g} processors that its limit leaves are",
    "processors": "the {:.3g} processors that others leave are",
    "shared": "the {:.3g} processors that it shares with its clients are",
    "thread": "its only busy thread is",
}
_UNKNOWN = {
    "no_rate": "keeps {} busy; without a rate, how much more it carries is unknown.",
    "idle": "does nearly nothing: no answer.",
    "few_windows": "keeps {} busy; it was observed too briefly to tell how much more it carries.",
    "alike": "keeps {} busy; the load varied too little to tell how much more it carries.",
}
_COSTS = {
    "all": " of a processor for one of {}", "user": " in programs", "system": " in the kernel"
}  # fmt: skip
_OWN_COST = 0.01
"""Processors of its own from which observing says how to take less."""
_WAITING = 1.0
"""Clients that wait for locks on average from which these are named first."""


def sentences(answer: Answer, seen: Observation) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line of the answer; the first label is empty."""
    yield "", headline(answer, seen)
    yield "Limit", _limit(answer, seen)
    yield "Load", _load(answer, seen)
    for cost in answer.costs:
        yield ("Cost" if cost is answer.costs[0] else ""), _cost(cost)
    if len(seen.programs) > 1:
        whole = sum(seen.programs.values())
        rows = sorted(seen.programs.items(), key=lambda row: -row[1])[:5]
        yield "Programs", ", ".join(f"{name} {busy / whole:.0%}" for name, busy in rows)
    quota = "" if seen.quota is None else f"; its limit is {seen.quota:.3g}"
    others = f"{seen.mean('others'):.2g} of {seen.usable} processors are busy for others"
    yield "Others", f"{others}, {seen.mean('steal'):.2g} are taken by the hypervisor{quota}."
    if seen.waits:
        rows = sorted(seen.waits.items(), key=lambda row: -row[1])
        shown = ", ".join(f"{name} {clients:.2g}" for name, clients in rows)
        yield "Waits", f"{shown} clients on average"
    yield from (("", f"waiting in: {text}") for text in seen.statements)
    yield from (("! Care", text) for text in _cautions(answer, seen))
    more = "; a longer --window takes less" if seen.own_cpu > _OWN_COST else ""
    yield "Own cost", f"{format_percent(seen.own_cpu)} of a processor{more}"


def headline(answer: Answer, seen: Observation) -> str:
    """Return the answer in one sentence."""
    name, limit = seen.target.partition(" (")[0], answer.limit
    if limit.times is None or limit.low is None or limit.high is None:
        busy = f"{limit.mean:.2g} of {limit.room:.3g} processors ({limit.mean / limit.room:.0%})"
        return f"{name[0].upper()}{name[1:]} {_UNKNOWN[answer.verdict].format(busy)}"
    if answer.verdict == "unclear":
        return (
            f"The range seen cannot tell how much more {name} carries: {limit.low:.2g} to "
            f"{limit.high:.2g} times this load."
        )
    return (
        f"{name[0].upper()}{name[1:]} carries {limit.times:.2g} times this load ({limit.low:.2g} "
        f"to {limit.high:.2g}), about {format_given(answer.rate * limit.times, '1/s')}, until "
        f"{_part(limit)} full."
    )


def _part(limit: Limit) -> str:
    return _PARTS[limit.part].format(limit.room)


def _limit(answer: Answer, seen: Observation) -> str:
    share = answer.limit.mean / answer.limit.room
    locks = seen.waits.get("lock", 0.0) + seen.waits.get("lwlock", 0.0)
    if share >= SATURATED:
        return f"{_part(answer.limit)} full now: {share:.0%} busy."
    if seen.mean("throttled") > THROTTLED:
        return (
            f"its limit of processors holds it back in {seen.mean('throttled'):.0%} of the time, "
            f"though only {share:.0%} are busy on average: the load comes in bursts."
        )
    if locks >= _WAITING:
        return (
            f"locks: {locks:.2g} clients wait for them on average, while {share:.0%} of the "
            "processors are busy; their headroom does not count."
        )
    return f"nothing that takes processors limits now: {_part(answer.limit)} {share:.0%} busy."


def _load(answer: Answer, seen: Observation) -> str:
    if not seen.names:
        return "no rate: name a counter of operations with --rate."
    low, high = min(seen.rates), max(seen.rates)
    return (
        f"{format_given(answer.rate, '1/s')} {seen.names[0]} on average, "
        f"{format_given(low, '1/s')} to {format_given(high, '1/s')} in {len(seen.windows)} windows."
    )


def _cost(cost: Cost) -> str:
    value = format_bounds(cost.value_s, cost.low_s, cost.high_s, "s")
    return value + _COSTS[cost.part].format(cost.operation)


def _cautions(answer: Answer, seen: Observation) -> Iterator[str]:
    if answer.limit.times is not None:
        yield (
            "this counts processors alone: a lock, a pool or a limit of connections takes none and "
            "shows only near its limit."
        )
    if answer.verdict in {"unclear", "alike", "few_windows"}:
        yield (
            "for a better answer, observe while the load varies more (`--for 1h`, over a peak), or "
            "let a burst fill the server for 2 s."
        )
    if answer.limit.part == "shared":
        yield "the time of others grows with the load: clients on this machine count as its cost."
    if seen.is_full and answer.limit.part in {"processors", "quota"}:
        yield (
            "the machine often is full: others give way to a busier server, by how much is unknown."
        )
    if seen.gaps:
        yield f"windows that do not count: {seen.gaps}, {seen.gap}."
    if seen.stolen:
        yield f"windows that do not count: {seen.stolen}, a hypervisor took over 5%."
