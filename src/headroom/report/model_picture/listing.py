"""A model as text: an indented listing of its stations, pools, classes and programs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headroom.quantities import format_level
from headroom.report.model_picture.changing import (
    change_words,
    changes_by_part,
    patience_words,
)
from headroom.report.model_picture.parts import (
    class_node,
    mix_node,
    pool_node,
    station_node,
    usage_of,
)
from headroom.report.model_picture.steps import Step, records, tree_of
from headroom.report.model_picture.words import code_words, count_words, law_words

_HIDDEN = frozenset({"op", "stream", "pause_stream", "batch_stream", "patience_stream"})


def list_model(model: Mapping[str, Any]) -> str:
    """Return a model as an indented listing.

    Parameters
    ----------
    model
        The model as data.

    Examples
    --------
    >>> print(list_model({"name": "queue", "time_unit": "ms",
    ...     "stations": [{"name": "server", "servers": 2}], "programs": [{"name": "visit",
    ...     "steps": [{"op": "use", "station": "server",
    ...                "service": {"kind": "exponential", "mean": 5}}]}],
    ...     "classes": [{"name": "jobs", "kind": "open", "program": "visit",
    ...                  "interarrival": {"kind": "exponential", "mean": 3}}]}))
    model queue, times in ms
    stations
      server; 2 servers; visit uses it for 5 ms exponential
    classes
      open class jobs; every 3 ms exponential; walks visit
    program visit
      use server for 5 ms exponential
    """
    unit = str(model.get("time_unit", ""))
    head = f"model {model.get('name', '?')}"
    lines = [f"{head}, times in {unit}" if unit else head]
    for title, notes in _parts(model, unit):
        lines += [title, *(f"  {note}" for note in notes)] if notes else []
    for program in records(model.get("programs")):
        lines.append(f"program {program.get('name', '?')}")
        lines += _steps(tree_of(program.get("steps")), unit, "  ")
    return "\n".join(lines)


def _parts(model: Mapping[str, Any], unit: str) -> Iterator[tuple[str, list[str]]]:
    programs = {str(record.get("name")): record for record in records(model.get("programs"))}
    failing = {str(record.get("station")): record for record in records(model.get("breakdowns"))}
    usage = usage_of(programs, unit)
    changes = changes_by_part(model)
    stations = [
        station_node(
            record,
            usage.get(name, []),
            failing.get(name),
            unit,
            changes.get(("station", name), []),
        ).note
        for record in records(model.get("stations"))
        if (name := str(record.get("name")))
    ]
    yield "stations", stations
    yield (
        "pools",
        [
            pool_node(record, changes.get(("pool", str(record.get("name"))), [])).note.removeprefix(
                "pool "
            )
            for record in records(model.get("pools"))
        ],
    )
    yield (
        "attributes",
        [
            f"{record.get('name', '?')}, first {format_level(record.get('initial', 0))}"
            for record in records(model.get("attributes"))
        ],
    )
    yield "classes", [class_node(record, unit).note for record in records(model.get("classes"))]
    late = dict(model.get("late_after") or {})
    yield "late", [f"{name} after {format_level(time)} {unit}" for name, time in late.items()]
    yield (
        "controllers",
        [
            f"{record.get('name', '?')}; every {law_words(record.get('every'), unit)}; "
            f"walks {record.get('program')}"
            for record in records(model.get("controllers"))
        ],
    )
    yield "mixes", [mix_node(record, unit).note for record in records(model.get("mixes"))]


def _steps(steps: list[Step], unit: str, indent: str) -> Iterator[str]:
    for step in steps:
        yield indent + _words(step, unit)
        yield from _steps(step.inside, unit, indent + "  ")


def _words(step: Step, unit: str) -> str:
    data = step.data
    tokens = "" if data.get("tokens", 1) == 1 else f"{data['tokens']} tokens of "
    writers: dict[str, Callable[[], str]] = {
        "use": lambda: _use(data, unit),
        "delay": lambda: f"delay of {_time(data.get('time'), unit)}",
        "acquire": lambda: f"acquire {tokens}{data.get('pool')}{patience_words(data, unit)}",
        "change": lambda: change_words(data),
        "release": lambda: f"release {tokens}{data.get('pool')}",
        "set": lambda: f"set {data.get('attribute')} to {law_words(data.get('value'), '')}",
        "loop": lambda: f"loop {count_words(data.get('count'))}",
        "branch": lambda: f"branch{_policy(data)}",
        "case": lambda: _chosen(data) or "case",
        "node": lambda: _node(data),
        "attempt": lambda: _attempt(data, unit),
    }
    return writers.get(step.op, lambda: _generic(step))()


def _time(law: object, unit: str) -> str:
    """Return a time as text; a computed one with the unit in which it is computed."""
    is_computed = isinstance(law, Mapping) and law.get("kind") == "expression"
    return f"({law_words(law, unit)}) {unit}" if is_computed else law_words(law, unit)


def _use(data: Mapping[str, Any], unit: str) -> str:
    reserved = ", the next place reserved before" if data.get("reserve") else ""
    used = f"use {data.get('station')} for {_time(data.get('service'), unit)}"
    return f"{used}{patience_words(data, unit)}{reserved}"


def _policy(data: Mapping[str, Any]) -> str:
    """Return how a way is chosen, nothing where each case says it."""
    choice = data.get("choice")
    if not isinstance(choice, Mapping):
        return ""
    kind = str(choice.get("kind", "?"))
    if kind in {"probability", "condition"}:
        return ""
    if kind == "sampled_queue":
        return f", shortest of {choice.get('sample', '?')} drawn queues"
    by = f" of {code_words(choice['by'])}" if "by" in choice else ""
    return f", {kind.replace('_', ' ')}{by}"


def _node(data: Mapping[str, Any]) -> str:
    to = data.get("to")
    routes = (
        [one for one in to if isinstance(one, Mapping)] if isinstance(to, (list, tuple)) else []
    )
    ways = ", ".join(_route(route) for route in routes)
    return f"node {data.get('name')}{_policy(data)}; then {ways}"


def _route(route: Mapping[str, Any]) -> str:
    target = "out" if route.get("node") is None else f"to {route['node']}"
    chosen = _chosen(route)
    return f"{target} {chosen}" if chosen else target


def _chosen(data: Mapping[str, Any]) -> str:
    """Return when a case or a route is taken."""
    if "probability" in data:
        return f"with probability {format_level(data['probability'])}"
    if "condition" in data:
        return f"if {code_words(data['condition'])}"
    of = data.get("of")
    return f"by the queue of {', '.join(map(str, of.values()))}" if isinstance(of, Mapping) else ""


def _attempt(data: Mapping[str, Any], unit: str) -> str:
    tries = data.get("tries", 1)
    words = ["attempt", "1 try" if tries == 1 else f"{tries} tries"]
    timeout, pause = _time(data.get("timeout"), unit), _time(data.get("pause"), unit)
    words += [f"at most {timeout}"] if timeout else []
    words += [f"pause {pause}"] if pause else []
    words += ["then lost"] if data.get("loses") else []
    return ", ".join(words)


def _generic(step: Step) -> str:
    facts = [
        str(value) if name in ("program", "name") else f"{name} {value}"
        for name, value in step.data.items()
        if name not in _HIDDEN and isinstance(value, (str, int, float))
    ]
    return " ".join([step.op, *facts])
