"""Keys that are written short, in a study file as in Python: a model, the end of runs, a count.

``model = "shop.py:build"`` is the system `model` with that file, ``completions = 500`` or
``time_s = 60`` ends the runs of a system, ``replications = 3`` is their count.

Invariant: what is spelled out is what the long keys say, so nothing else knows the short ones.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from headroom.experiment.study.file.type_errors import TypeProblem

_Table: TypeAlias = dict[str, Any]
_KeyPath: TypeAlias = tuple[str | int, ...]

JMT_SUFFIXES = frozenset({".jsimg", ".jsimgw", ".jsimw", ".jsim"})
"""How files of JMT end; other files that hold a model are Python."""
ENDS = ("completions", "time_s")
"""Keys of an experiment that are those of its system."""


def model_setup(name: str) -> dict[str, Any]:
    """Return the `[experiment.system]` of what the user calls MODEL.

    Examples
    --------
    >>> model_setup("shop.py:build"), model_setup("shop.jsimg"), model_setup("mm1")
    ({'file': 'shop.py', 'function': 'build'}, {'file': 'shop.jsimg'}, {'model': 'mm1'})
    """
    file, sign, function = name.partition(":")
    if Path(name).suffix.lower() in JMT_SUFFIXES:
        return {"file": name}
    if file.endswith(".py"):
        return {"file": file, **({"function": function} if sign else {})}
    return {"model": name}


def spelled_out(content: Mapping[str, Any]) -> _Table:
    """Return the content of a study with long keys in place of short ones.

    Examples
    --------
    >>> short = {"name": "load", "model": "mm1", "completions": 500, "replications": 3}
    >>> spelled_out({"experiment": [short]})["experiment"][0]["system"]
    {'name': 'model', 'completions': 500, 'model': 'mm1'}
    """
    experiments = content.get("experiment")
    if not isinstance(experiments, list):
        return dict(content)
    return {**content, "experiment": [_spelled_out(one) for one in experiments]}


def _spelled_out(given: Any) -> Any:  # noqa: ANN401 - a table, or what is wrong
    if not isinstance(given, dict):
        return given
    table = _counted(given)
    if isinstance(table.get("model"), str):
        system = table.get("system")
        ends = {key: system[key] for key in ENDS if isinstance(system, dict) and key in system}
        table["system"] = {"name": "model", "model": table.pop("model"), **ends}
    if isinstance(system := table.get("system"), dict):
        ends = {key: table.pop(key) for key in ENDS if key in table}
        table["system"] = _with_file({**system, **ends})
    if isinstance(quick := table.get("quick"), dict):
        table["quick"] = quick = _counted(quick)
        ends = {key: quick.pop(key) for key in ENDS if key in quick}
        if ends:
            quick["system"] = {**quick.get("system", {}), **ends}
    return table


def _counted(given: _Table) -> _Table:
    """Return a copy of a table with its number of replications as a table."""
    count = given.get("replications")
    is_count = isinstance(count, int) and not isinstance(count, bool)
    return {**given, "replications": {"count": count}} if is_count else dict(given)


def _with_file(system: _Table) -> _Table:
    """Return a system whose model, if it is named by its file, is that file's."""
    model = system.get("model")
    if system.get("name") != "model" or not isinstance(model, str):
        return system
    return {**{key: value for key, value in system.items() if key != "model"}, **model_setup(model)}


def twice_given(content: Mapping[str, Any]) -> TypeProblem | None:
    """Return the first key that is given both short and long; None if none is."""
    experiments = content.get("experiment")
    for number, table in enumerate(experiments if isinstance(experiments, list) else []):
        for place, inner in _variants(table, ("experiment", number)):
            system = inner.get("system")
            if isinstance(inner.get("model"), str) and system:
                return TypeProblem(
                    key_path=(*place, "model"),
                    message="stands beside the table `system`, and both name what runs",
                    cure='remove one: model = "mm1" is system = { name = "model", model = "mm1" }',
                )
            for key in ENDS:
                if isinstance(system, dict) and key in inner and key in system:
                    return TypeProblem(
                        key_path=(*place, key),
                        message=f"{key!r} is given here and in the table `system`",
                        cure="remove one of the two",
                    )
    return None


def _variants(table: object, place: _KeyPath) -> Iterator[tuple[_KeyPath, _Table]]:
    if isinstance(table, dict):
        yield place, table
        if isinstance(quick := table.get("quick"), dict):
            yield (*place, "quick"), quick


def with_moved(lines: Mapping[_KeyPath, int]) -> dict[_KeyPath, int]:
    """Return lines of keys with those of the long keys that short ones become.

    Examples
    --------
    >>> list(with_moved({("experiment", 0, "time_s"): 7}))
    [('experiment', 0, 'system', 'time_s'), ('experiment', 0, 'time_s')]
    """
    moved: dict[_KeyPath, int] = {}
    for path, line in lines.items():
        if path[:1] != ("experiment",) or len(path) < 3 or "system" in path:  # noqa: PLR2004
            continue
        *above, last = path
        if last in ENDS:
            moved[*above, "system", last] = line
        elif last == "model":
            moved |= {(*above, "system", key): line for key in ("model", "file", "function")}
    return {**moved, **lines}
