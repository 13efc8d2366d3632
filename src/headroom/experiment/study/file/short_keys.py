"""Keys that are written short, in a study file as in Python: a model, the end of runs, a count.

``model = "shop.py:build"`` is the system `model` with that file, ``completions = 500`` or
``time_s = 60`` ends the runs of a system, ``replications = 3`` is their count.

Invariant: a short key beside its long one stays where it is, and is refused there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE_SUFFIXES = frozenset({".jsimg", ".jsimgw", ".jsimw", ".jsim", ".jmva", ".lqnx", ".lqn"})
"""How files of other tools end; other files that hold a model are Python."""
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
    if Path(name).suffix.lower() in FILE_SUFFIXES:
        return {"file": name}
    if file.endswith(".py"):
        return {"file": file, **({"function": function} if sign else {})}
    return {"model": name}


def spelled_out(content: Mapping[str, Any]) -> dict[str, Any]:
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
    table = dict(given)
    if type(table.get("replications")) is int:
        table["replications"] = {"count": table["replications"]}
    if isinstance(table.get("model"), str) and not table.get("system"):
        table["system"] = {"name": "model", "model": table.pop("model")}
    if isinstance(table.get("system"), dict):
        table["system"] = system = dict(table["system"])
        system |= {key: table.pop(key) for key in ENDS if key in table and key not in system}
        if system.get("name") == "model" and isinstance(system.get("model"), str):
            system |= model_setup(system.pop("model"))
    if isinstance(quick := table.get("quick"), dict):
        table["quick"] = _spelled_out({"system": {}, **quick})
    return table
