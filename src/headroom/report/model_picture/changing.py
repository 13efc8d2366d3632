"""Changes during a run, and maximum waiting times, as small print of stations and pools.

Invariant: nothing is said of a part whose capacity stays and whose queue nobody leaves.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from headroom.quantities import format_level
from headroom.report.model_picture.steps import records
from headroom.report.model_picture.words import law_words, mean_words

_WORDS = {"servers": "servers", "speed": "speed", "tokens": "tokens"}


def changes_by_part(model: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Return the small print of each part, by ``"station"`` or ``"pool"`` and its name.

    Examples
    --------
    >>> day = {"of": {"servers": "web"}, "times": [0, 8], "values": [2, 6], "period": 24}
    >>> changes_by_part({"schedules": [day], "time_unit": "h"})
    {('station', 'web'): ['2 to 6 servers by schedule, every 24 h']}
    """
    unit = str(model.get("time_unit", ""))
    changes: dict[tuple[str, str], list[str]] = {}
    for kind, name, text in (*_scheduled(model, unit), *_programmed(model), *_left(model, unit)):
        part = "pool" if kind == "tokens" else "station"
        lines = changes.setdefault((part, name), [])
        if text not in lines:
            lines.append(text)
    return changes


def patience_words(data: Mapping[str, Any], unit: str) -> str:
    """Return how long a job waits at most, as the end of a line; nothing without a limit."""
    patience = data.get("patience")
    return f", patience {law_words(patience, unit)}" if patience is not None else ""


def change_words(data: Mapping[str, Any]) -> str:
    """Return a step that changes a capacity or a speed as a line."""
    kind, name = _of(data)
    return f"set {_WORDS.get(kind, kind)} of {name} to {law_words(data.get('value'), '')}"


def _scheduled(model: Mapping[str, Any], unit: str) -> Iterator[tuple[str, str, str]]:
    for record in records(model.get("schedules")):
        kind, name = _of(record)
        values = record.get("values")
        if not isinstance(values, list) or not values:
            continue
        low, high = format_level(min(values)), format_level(max(values))
        period = record.get("period")
        again = f", every {format_level(period)} {unit}".rstrip() if period is not None else ""
        amount = low if low == high else f"{low} to {high}"
        text = f"speed {amount}" if kind == "speed" else f"{amount} {_WORDS.get(kind, kind)}"
        yield kind, name, f"{text} by schedule{again}"


def _programmed(model: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for program, step in _steps(model):
        if step.get("op") == "change":
            kind, name = _of(step)
            yield kind, name, f"{_WORDS.get(kind, kind)} set by {program}"


def _left(model: Mapping[str, Any], unit: str) -> Iterator[tuple[str, str, str]]:
    for _, step in _steps(model):
        if step.get("patience") is not None and step.get("op") in {"use", "acquire"}:
            is_pool = step["op"] == "acquire"
            mean = mean_words(step["patience"], unit)
            name = str(step.get("pool" if is_pool else "station"))
            yield (
                "tokens" if is_pool else "servers",
                name,
                f"patience {mean}" if mean else "patience",
            )


def _of(data: Mapping[str, Any]) -> tuple[str, str]:
    of = data.get("of")
    if not isinstance(of, Mapping) or not of:
        return "?", "?"
    kind, name = next(iter(of.items()))
    return str(kind), str(name)


def _steps(model: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for program in records(model.get("programs")):
        for step in records(program.get("steps")):
            yield str(program.get("name", "?")), step
