"""A model in words: an indented listing of its stations, pools, classes and programs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headroom.report.model_picture.parts import class_node, pool_node, station_node, usage_of
from headroom.report.model_picture.steps import Step, tree_of
from headroom.report.model_picture.words import code_words, count_words, law_words

_HIDDEN = frozenset({"op", "stream", "pause_stream", "batch_stream"})


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
    for program in _records(model, "programs"):
        lines.append(f"program {program.get('name', '?')}")
        lines += _steps(tree_of(program.get("steps")), unit, "  ")
    return "\n".join(lines)


def _parts(model: Mapping[str, Any], unit: str) -> Iterator[tuple[str, list[str]]]:
    programs = {str(one.get("name")): one for one in _records(model, "programs")}
    failing = {str(one.get("station")): one for one in _records(model, "breakdowns")}
    usage = usage_of(programs, unit)
    stations = [
        station_node(one, usage.get(name, []), failing.get(name), unit).note
        for one in _records(model, "stations")
        if (name := str(one.get("name")))
    ]
    yield "stations", stations
    yield "pools", [pool_node(one).note.removeprefix("pool ") for one in _records(model, "pools")]
    yield (
        "attributes",
        [
            f"{one.get('name', '?')}, first {one.get('initial', 0)}"
            for one in _records(model, "attributes")
        ],
    )
    yield "classes", [class_node(one, unit).note for one in _records(model, "classes")]


def _records(model: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = model.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _steps(steps: list[Step], unit: str, indent: str) -> Iterator[str]:
    for step in steps:
        yield indent + _words(step, unit)
        yield from _steps(step.inside, unit, indent + "  ")


def _words(step: Step, unit: str) -> str:
    data = step.data
    tokens = "" if data.get("tokens", 1) == 1 else f"{data['tokens']} tokens of "
    writers: dict[str, Callable[[], str]] = {
        "use": lambda: f"use {data.get('station')} for {law_words(data.get('service'), unit)}",
        "delay": lambda: f"delay of {law_words(data.get('time'), unit)}",
        "acquire": lambda: f"acquire {tokens}{data.get('pool')}",
        "release": lambda: f"release {tokens}{data.get('pool')}",
        "set": lambda: f"set {data.get('attribute')} to {law_words(data.get('value'), '')}",
        "loop": lambda: f"loop {count_words(data.get('count'))}",
        "case": lambda: _case(data),
        "attempt": lambda: _attempt(data, unit),
    }
    return writers.get(step.op, lambda: _generic(step))()


def _case(data: Mapping[str, Any]) -> str:
    if "probability" in data:
        return f"with probability {data['probability']}"
    if "condition" in data:
        return f"if {code_words(data['condition'])}"
    of = data.get("of")
    return f"case of {', '.join(map(str, of.values()))}" if isinstance(of, Mapping) else "case"


def _attempt(data: Mapping[str, Any], unit: str) -> str:
    timeout = law_words(data.get("timeout"), unit)
    limit = f", at most {timeout}" if timeout else ""
    return f"attempt, tries {data.get('tries', 1)}{limit}"


def _generic(step: Step) -> str:
    facts = [
        str(value) if name in ("program", "name") else f"{name} {value}"
        for name, value in step.data.items()
        if name not in _HIDDEN and isinstance(value, (str, int, float))
    ]
    return " ".join([step.op, *facts])
