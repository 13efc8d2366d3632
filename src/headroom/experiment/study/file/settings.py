"""Study-file keys set from outside, so that a study runs on a machine without editing.

A setting is ``KEY=VALUE``, as in the file. ``experiment.KEY`` replaces a key in every experiment
that has it or the table that contains it; ``NAME.KEY`` sets it in one experiment. A name without a
dot is a fixed parameter of every experiment that has it. The replacements of `--quick` are set
there too. A value is TOML, or text if it does not parse as TOML.

Invariant: a setting that changes nothing is an error, and the content remains valid for a file:
everything is checked afterwards as usual.
"""

import copy
import difflib
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion

_Table: TypeAlias = dict[str, Any]
ALL = "experiment"


def with_settings(content: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Return the content of a study file with settings in place.

    Parameters
    ----------
    content
        The parsed file.
    settings
        Texts ``KEY=VALUE``.

    Raises
    ------
    StudyError
        A text is not a setting, or it has no place.

    Examples
    --------
    >>> study = {"experiment": [{"name": "read", "system": {"targets": {"disk": {"path": "/a"}}}}]}
    >>> changed = with_settings(study, ["experiment.system.targets.disk.path=/mnt/data"])
    >>> changed["experiment"][0]["system"]["targets"]["disk"]
    {'path': '/mnt/data'}
    """
    changed = copy.deepcopy(dict(content))
    for text in settings:
        _set(changed, text)
    return changed


def _set(content: _Table, text: str) -> None:
    path, sign, value = text.partition("=")
    name, *keys = path.strip().split(".")
    tables = [table for table in content.get("experiment", []) if isinstance(table, dict)]
    if sign and name and not keys:
        _check_fixed(text, name, tables)
        name, keys = ALL, ["fixed", name]
    if not sign or not keys or not all(keys):
        raise StudyError(
            f"--set {text!r} does not have the form KEY=VALUE",
            cure="name a key and a value, for example experiment.fixed.seconds=5",
        )
    places = _places_of_one(tables, name, keys) if name != ALL else _places_of_all(tables, keys)
    if not places:
        raise _homeless(text, name, keys, tables)
    for place in places:
        place[keys[-1]] = _value(value.strip())


def _check_fixed(text: str, name: str, tables: Sequence[_Table]) -> None:
    """Refuse a bare name unless it is a fixed parameter: it would go to every experiment."""
    fixed = {key for table in tables for key in _below(table, ["fixed"]) or ()}
    if name in fixed:
        return
    factors = {key for table in tables for key in _below(table, ["factors"]) or ()}
    value = text.partition("=")[2].strip()
    cure = f"of a parameter that the file does not name, write experiment.fixed.{name}={value}"
    if name in factors:
        cure = f"it is a factor, whose levels are set: --set experiment.factors.{name}=[{value}]"
    elif close := difflib.get_close_matches(name, fixed | factors, n=1):
        cure = suggestion(name, fixed | factors, meant=close[0])
    raise StudyError(f"--set {text!r}: no experiment has the fixed parameter {name!r}", cure=cure)


def _places_of_one(tables: Sequence[_Table], name: str, keys: Sequence[str]) -> list[_Table]:
    """Return the tables of one experiment that take the key; missing ones are created."""
    places = []
    for table in tables:
        if table.get("name") == name:
            place = table
            for key in keys[:-1]:
                place = place.setdefault(key, {}) if isinstance(place, dict) else place
            places += [place] if isinstance(place, dict) else []
            places += _with_key(table.get("quick", {}), keys)
    return places


def _places_of_all(tables: Sequence[_Table], keys: Sequence[str]) -> list[_Table]:
    variants = [*tables, *(table["quick"] for table in tables if "quick" in table)]
    having = [place for table in variants for place in _with_key(table, keys)]
    if having:
        return having
    above = [_below(table, keys[:-1]) for table in tables]
    return [place for place in above if isinstance(place, dict)]


def _with_key(table: _Table, keys: Sequence[str]) -> list[_Table]:
    place = _below(table, keys[:-1])
    return [place] if isinstance(place, dict) and keys[-1] in place else []


def _below(table: _Table, keys: Sequence[str]) -> Any:  # noqa: ANN401 - any value of a file
    place: Any = table
    for key in keys:
        place = place.get(key) if isinstance(place, dict) else None
    return place


def _value(text: str) -> Any:  # noqa: ANN401 - any value of a file
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text


def _homeless(text: str, name: str, keys: Sequence[str], tables: Sequence[_Table]) -> StudyError:
    names = [str(table.get("name")) for table in tables]
    if name not in {ALL, *names}:
        return StudyError(
            f"--set {text!r} names neither {ALL!r} nor an experiment",
            cure=suggestion(name, [ALL, *names]),
        )
    table = ".".join(keys[:-1])
    return StudyError(
        f"--set {text!r}: no experiment has the table {table!r}",
        cure=f"correct the key, or name the experiment that is to have it, as {names[0]}.KEY=VALUE"
        if names
        else "add an experiment first",
    )
