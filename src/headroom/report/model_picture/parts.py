"""The parts of a model as nodes: their names, small print and tooltips."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headroom.quantities import format_level
from headroom.report.model_picture.graph import Node
from headroom.report.model_picture.words import (
    chance_words,
    discipline_words,
    law_words,
    listed,
    mean_of,
    mean_words,
)

_SERVICES_SHOWN = 2


def usage_of(
    programs: Mapping[str, Mapping[str, Any]], unit: str
) -> dict[str, list[tuple[str, str, str]]]:
    """Return for each station who uses it: program, mean service time, law as text."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name, program in programs.items():
        for step in _steps(program):
            if step.get("op") == "use":
                law = step.get("service")
                uses = found.setdefault(str(step.get("station")), [])
                uses.append((name, mean_words(law, unit), law_words(law, unit)))
    return found


def _steps(program: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    steps = program.get("steps")
    yield from (
        (step for step in steps if isinstance(step, Mapping)) if isinstance(steps, list) else ()
    )


def station_node(
    data: Mapping[str, Any],
    usage: list[tuple[str, str, str]],
    breakdown: Mapping[str, Any] | None,
    unit: str,
    changes: Sequence[str] = (),
) -> Node:
    """Return the node of a station; `changes` is what `changes_by_part` says about it."""
    name = str(data.get("name"))
    means = list(dict.fromkeys(mean or law for _, mean, law in usage))
    shown = " or ".join(means) if 0 < len(means) <= _SERVICES_SHOWN else ""
    lines = [_servers(data), shown, discipline_words(str(data.get("discipline", "fcfs"))),
             *_limits(data), *_failing(breakdown, unit), *changes]  # fmt: skip
    if any(" servers by schedule" in change for change in changes):
        lines[0] = ""
    one = "1 server" if data.get("servers", 1) == 1 or data.get("discipline") == "infinite" else ""
    uses = dict.fromkeys(f"{program} uses it for {law}" for program, _, law in usage)
    return Node(
        key=f"station {name}",
        kind="station",
        name=name,
        lines=tuple(filter(None, lines)),
        note="; ".join(
            [name, *filter(None, [lines[0] or one, *lines[2:], _in_group(data)]), *uses]
        ),
        data=dict(data),
        members=(name,),
        rows=_group(data),
    )


def _in_group(data: Mapping[str, Any]) -> str:
    return "".join(f"reported as {row}" for row in _group(data))


def _group(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the name under which a part is reported with others like it."""
    return (str(data["group"]),) if data.get("group") else ()


def _servers(data: Mapping[str, Any]) -> str:
    servers = data.get("servers", 1)
    if data.get("discipline") == "infinite" or servers == 1:
        return ""
    return f"{format_level(servers)} servers"


def _limits(data: Mapping[str, Any]) -> list[str]:
    limits = []
    if data.get("limit") is not None:
        limits.append(f"{format_level(data['limit'])} at once")
    if data.get("buffer") is not None:
        full = "else rejected" if data.get("when_full") == "reject" else "else blocks"
        limits.append(f"{format_level(data['buffer'])} may wait, {full}")
    speeds = data.get("speeds")
    if isinstance(speeds, (list, tuple)) and speeds:
        limits.append(f"speeds {listed([format_level(speed) for speed in speeds])}")
    batch = data.get("batch")
    if isinstance(batch, Mapping):
        least, most = batch.get("least"), batch.get("most")
        span = str(most) if least == most else f"{least} to {most}"
        limits.append(f"batches of {span}")
    return limits


def _failing(breakdown: Mapping[str, Any] | None, unit: str) -> list[str]:
    if breakdown is None:
        return []
    fails = mean_words(breakdown.get("time_to_failure"), unit)
    repair = mean_words(breakdown.get("repair"), unit)
    each = "each server " if breakdown.get("unit") == "each" else ""
    return [
        f"{each}fails after {fails}" if fails else f"{each}fails",
        f"repaired in {repair}" if repair else "",
    ]


def pool_node(data: Mapping[str, Any], changes: Sequence[str] = ()) -> Node:
    """Return the node of a pool; `changes` is what `changes_by_part` says about it."""
    name = str(data.get("name"))
    tokens = data.get("tokens")
    count = "" if tokens is None else f"{format_level(tokens)} token{'' if tokens == 1 else 's'}"
    order = "by priority" if data.get("order") == "priority" else ""
    if any(" tokens by schedule" in change for change in changes):
        count = ""
    lines = tuple(filter(None, [count, order, *changes]))
    note = "; ".join([f"pool {name}", *lines, *filter(None, [_in_group(data)])])
    return Node(key=f"pool {name}", kind="pool", name=name, lines=lines, note=note,
                data=dict(data), members=(name,), rows=_group(data))  # fmt: skip


def class_node(data: Mapping[str, Any], unit: str) -> Node:
    """Return the node where the jobs of a class come from."""
    name = str(data.get("name", "?"))
    is_closed = data.get("kind") == "closed"
    lines = _closed_lines(data, unit) if is_closed else _open_lines(data, unit)
    priority = data.get("priority")
    if priority:
        lines.append(f"priority {format_level(priority)}")
    lines += _at_the_start(data)
    kind = "closed" if is_closed else "open"
    program = f"walks {data.get('program')}"
    return Node(
        key=f"class {name}",
        kind="class",
        name=name,
        lines=tuple(filter(None, lines)),
        note="; ".join([f"{kind} class {name}", *filter(None, lines), program]),
        data=dict(data),
        members=(name,),
    )


def mix_node(data: Mapping[str, Any], unit: str) -> Node:
    """Return the node where the jobs of a mix come from, whichever class they draw."""
    name = str(data.get("name", "?"))
    lines = [*filter(None, _closed_lines(data, unit)), *_at_the_start(data)]
    drawn = "dealt from a deck" if data.get("draw") == "deck" else "drawn by chance"
    members = [
        f"{chance_words(share)} {one.get('name')}, walks {one.get('program')}"
        + (f", priority {format_level(one['priority'])}" if one.get("priority") else "")
        for one, share in shares_of(data)
    ]
    return Node(
        key=f"mix {name}",
        kind="class",
        name=name,
        lines=tuple(lines),
        note="; ".join([f"mix {name}", *lines, f"each walk {drawn}", *members]),
        data=dict(data),
        members=(name,),
    )


def shares_of(mix: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], float]]:
    """Return the classes of a mix, each with the share of walks that are its own.

    Examples
    --------
    >>> shares_of({"classes": [{"weight": 3}, {"weight": 1}]})
    [({'weight': 3}, 0.75), ({'weight': 1}, 0.25)]
    """
    found = mix.get("classes")
    classes = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    weights = [_weight(class_) for class_ in classes]
    total = sum(weights)
    return [
        (one, weight / total if total else 1.0)
        for one, weight in zip(classes, weights, strict=True)
    ]


def _weight(one: Mapping[str, Any]) -> float:
    weight = one.get("weight", 1)
    return float(weight) if isinstance(weight, (int, float)) and weight > 0 else 0.0


def _at_the_start(data: Mapping[str, Any]) -> list[str]:
    """Return where jobs are at time 0, where that is not the usual place."""
    placed = data.get("placed")
    found = [
        f"{format_level(one.get('jobs'))} at {one.get('station')} at first"
        for one in (placed if isinstance(placed, (list, tuple)) else ())
        if isinstance(one, Mapping)
    ]
    if data.get("start") == "ready":
        found.append("ready at first")
    if data.get("initial"):
        found.append(f"{format_level(data['initial'])} there at first")
    return found


def _closed_lines(data: Mapping[str, Any], unit: str) -> list[str]:
    think = data.get("think")
    words = "" if think is None or mean_of(think) == 0 else f"think {law_words(think, unit)}"
    return [f"{format_level(data.get('population'))} jobs", words]


def _open_lines(data: Mapping[str, Any], unit: str) -> list[str]:
    batch = data.get("batch")
    words = "" if batch is None else f"in batches, {law_words(batch, '')}"
    arrivals = data.get("arrivals")
    if isinstance(arrivals, Mapping):
        kind = str(arrivals.get("kind", "?")).replace("_", " ")
        return [{"mmpp": "bursty (MMPP)", "trace": "from a trace"}.get(kind, kind), words]
    every = law_words(data.get("interarrival"), unit)
    return [f"every {every}" if every else "", words]


def delay_node(key: str, law: object, unit: str) -> Node:
    """Return the node of a delay: its mean inside, its law below."""
    mean = mean_words(law, unit)
    words = law_words(law, unit)
    kind = "" if mean in ("", words) else words.removeprefix(mean).strip()
    name = mean or words or "?"
    return Node(key=key, kind="delay", name=name, lines=(kind,) if kind else (),
                note=f"delay of {words}", members=())  # fmt: skip


def attempt_node(key: str, data: Mapping[str, Any], unit: str) -> Node:
    """Return the node at which an attempt begins."""
    timeout = law_words(data.get("timeout"), unit)
    tries = data.get("tries", 1)
    lines = [
        f"at most {timeout}" if timeout else "",
        "1 try" if tries == 1 else f"{format_level(tries)} tries",
        "then lost" if data.get("loses") else "",
    ]
    pause = law_words(data.get("pause"), unit)
    note = "; ".join(["attempt", *filter(None, [*lines, f"pause {pause}" if pause else ""])])
    return Node(
        key=key, kind="attempt", name="attempt", lines=tuple(filter(None, lines)), note=note
    )
