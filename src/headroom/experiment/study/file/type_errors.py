"""Type errors of parsed TOML: the key, the cause, a likely correction.

`msgspec` checks types and names one location. This module walks the same declarations to name the
exact key, even inside tables with free keys, and to suggest the intended key or value. Anything
unknown here is left to `msgspec`, which has the last word.
"""

import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from headroom.experiment.protocol.suggestions import suggestion

Path: TypeAlias = tuple[str | int, ...]

LARGEST = 2**63 - 1
"""Largest size of a number; larger ones fit neither the journal nor a float without loss."""
_WORDS = {
    dict: "a table",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a whole number",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeProblem:
    """One thing that is wrong: where, what, and what to do.

    `is_of_other_kind` is True if text is in place of a number, a list in place of a table and the
    like.
    """

    key_path: Path
    message: str
    cure: str
    is_of_other_kind: bool = False


def find_type_error(
    content: Any,  # noqa: ANN401 - any TOML
    target: type[Any],
    *,
    at: Path = (),
) -> TypeProblem | None:
    """Return the first problem of `content` as a `target`, None if it fits.

    `at` is the location of the content in its file; the path of the problem begins with it.

    Examples
    --------
    >>> from headroom.experiment.study.study import WarmUp
    >>> problem = find_type_error({"methods": "none"}, WarmUp)
    >>> problem.key_path, problem.message
    (('methods',), "unknown key 'methods'")
    >>> problem.cure
    "did you mean 'method'? known: method, seconds"
    """
    known = next(_problems(content, inspect.type_info(target), at), None)
    return known or _last_word(content, target, at)


_MEANT = {
    "args": ("argv",),
    "cmd": ("argv",),
    "command": ("argv",),
    "metrics": ("responses",),
    "parameters": ("fixed", "factors"),
    "params": ("fixed", "factors"),
    "repetitions": ("replications", "count"),
    "reps": ("replications", "count"),
    "runs": ("replications", "count"),
    "timeout": ("time_limit_s",),
}
"""Keys of other tools, and how they are called here."""


def _problems(value: Any, kind: inspect.Type, path: Path) -> Iterator[TypeProblem]:  # noqa: ANN401
    match kind:
        case inspect.Metadata():
            yield from _problems(value, kind.type, path)
        case inspect.StructType():
            yield from _struct_problems(value, kind, path)
        case inspect.UnionType():
            yield from _union_problems(value, kind, path)
        case inspect.DictType():
            yield from _dict_problems(value, kind, path)
        case inspect.ListType() | inspect.VarTupleType():
            yield from _list_problems(value, kind, path)
        case _:
            yield from _scalar_problems(value, kind, path)


def _struct_problems(
    value: Any,  # noqa: ANN401
    kind: inspect.StructType,
    path: Path,
) -> Iterator[TypeProblem]:
    if not isinstance(value, dict):
        yield _wrong(value, "a table", path)
        return
    fields = {field.encode_name: field for field in kind.fields}
    names = [*fields, *([kind.tag_field] if kind.tag_field else [])]
    for key in value:
        if key not in names:
            rest = [name for name in names if name not in value]
            meant = next((own for own in _MEANT.get(key, ()) if own in rest), "")
            cure = suggestion(key, names, likely=rest, meant=meant)
            yield _problem((*path, key), f"unknown key {key!r}", cure)
    for name, field in fields.items():
        if name in value:
            yield from _problems(value[name], field.type, (*path, name))
        elif field.required:
            cure = f"add {name} = {_only_value(field.type)} here"
            yield _problem(path, f"the key {name!r} is missing", cure)


def _only_value(kind: inspect.Type) -> str:
    inner = kind.type if isinstance(kind, inspect.Metadata) else kind
    if isinstance(inner, inspect.LiteralType) and len(inner.values) == 1:
        return str(inner.values[0])
    return "..."


def _union_problems(
    value: Any,  # noqa: ANN401
    kind: inspect.UnionType,
    path: Path,
) -> Iterator[TypeProblem]:
    kinds = [
        type_ for type_ in kind.types if not isinstance(type_, inspect.NoneType)
    ]  # TOML has no null
    tagged = [
        member for member in kinds if isinstance(member, inspect.StructType) and member.tag_field
    ]
    if tagged and isinstance(value, dict):
        yield from _tagged_problems(value, tagged, path)
        return
    per_kind = [list(_problems(value, member, path)) for member in kinds]
    if not per_kind or not all(per_kind):
        return
    deeper = [problems for problems in per_kind if not _is_about_shape(problems, path)]
    if deeper:
        yield from deeper[0]
        return
    wanted = " or ".join(dict.fromkeys(_describe(member) for member in kinds))
    yield _wrong(value, wanted, path)


def _is_about_shape(problems: list[TypeProblem], path: Path) -> bool:
    return problems[0].key_path == path and problems[0].is_of_other_kind


def _tagged_problems(
    value: dict[str, Any], kinds: list[inspect.StructType], path: Path
) -> Iterator[TypeProblem]:
    field = kinds[0].tag_field or ""
    by_tag = {str(kind.tag): kind for kind in kinds}
    if field not in value:
        yield _problem(path, f"the key {field!r} is missing", suggestion("", by_tag))
        return
    chosen = by_tag.get(str(value[field]))
    if chosen is None:
        cure = suggestion(str(value[field]), by_tag)
        yield _problem((*path, field), f"unknown {field} {value[field]!r}", cure)
        return
    yield from _struct_problems(value, chosen, path)


def _dict_problems(value: Any, kind: inspect.DictType, path: Path) -> Iterator[TypeProblem]:  # noqa: ANN401
    if not isinstance(value, dict):
        yield _wrong(value, "a table", path)
        return
    for key, inner in value.items():
        yield from _problems(inner, kind.value_type, (*path, key))


def _list_problems(
    value: Any,  # noqa: ANN401
    kind: inspect.ListType | inspect.VarTupleType,
    path: Path,
) -> Iterator[TypeProblem]:
    if not isinstance(value, list):
        yield _not_a_list(value, kind, path)
        return
    if not value and isinstance(kind, inspect.ListType) and kind.min_length:
        yield _problem(path, "is an empty list", "give at least one item")
    for number, item in enumerate(value):
        yield from _problems(item, kind.item_type, (*path, number))


def _not_a_list(
    value: Any,  # noqa: ANN401
    kind: inspect.ListType | inspect.VarTupleType,
    path: Path,
) -> TypeProblem:
    """Return the problem of what should be a list; a single table most often lacks brackets."""
    wrong = _wrong(value, "a list", path)
    items = kind.item_type.types if isinstance(kind.item_type, inspect.UnionType) else ()
    first = items[0] if items else kind.item_type
    if not (isinstance(value, dict) and isinstance(first, inspect.StructType | inspect.DictType)):
        return wrong
    name = ".".join(str(key) for key in path if isinstance(key, str))
    return replace(
        wrong,
        message="is a table, but a list of tables is needed",
        cure=f"write [[{name}]] with two brackets for each table of the list",
    )


def _scalar_problems(value: Any, kind: inspect.Type, path: Path) -> Iterator[TypeProblem]:  # noqa: ANN401
    if isinstance(kind, inspect.LiteralType):
        if value not in kind.values or isinstance(value, bool):
            names = [str(choice) for choice in kind.values]
            yield _problem(path, f"is {value!r}", suggestion(str(value), names))
    elif isinstance(kind, inspect.StrType):
        yield from _text_problems(value, kind, path)
    elif isinstance(kind, inspect.IntType | inspect.FloatType):
        yield from _number_problems(value, kind, path)
    elif isinstance(kind, inspect.BoolType) and not isinstance(value, bool):
        yield _wrong(value, "true or false", path)


def _text_problems(value: Any, kind: inspect.StrType, path: Path) -> Iterator[TypeProblem]:  # noqa: ANN401
    if not isinstance(value, str):
        yield _wrong(value, "text", path)
        return
    if kind.pattern is not None and re.search(kind.pattern, value) is None:
        yield _problem(
            path,
            f"{value!r} is not a valid name",
            "start with a letter; letters, digits, - and _ may follow",
        )
    if kind.max_length is not None and len(value) > kind.max_length:
        yield _problem(path, f"has {len(value)} characters", f"use at most {kind.max_length}")
    if kind.min_length is not None and len(value) < kind.min_length:
        yield _problem(path, "is too short", f"use at least {kind.min_length} characters")


def _number_problems(
    value: Any,  # noqa: ANN401
    kind: inspect.IntType | inspect.FloatType,
    path: Path,
) -> Iterator[TypeProblem]:
    allowed = int if isinstance(kind, inspect.IntType) else (int, float)
    if not isinstance(value, allowed) or isinstance(value, bool):
        yield _wrong(value, _describe(kind), path)
        return
    if not abs(value) <= LARGEST:
        cure = f"give a finite number of at most {LARGEST:g}"
        yield _problem(path, f"is {value!r}, outside its range", cure)
        return
    bounds = (
        (kind.ge, operator.ge, "{:g} or more"),
        (kind.gt, operator.gt, "more than {:g}"),
        (kind.le, operator.le, "{:g} or less"),
        (kind.lt, operator.lt, "less than {:g}"),
    )
    for bound, fits, words in bounds:
        if bound is not None and not fits(value, bound):
            cure = f"give {words.format(bound)}"
            yield _problem(path, f"is {value!r}, outside its range", cure)


def _describe(kind: inspect.Type) -> str:
    names: Mapping[type[inspect.Type], str] = {
        inspect.IntType: "a whole number",
        inspect.FloatType: "a number",
        inspect.StrType: "text",
        inspect.BoolType: "true or false",
        inspect.ListType: "a list",
        inspect.VarTupleType: "a list",
        inspect.DictType: "a table",
        inspect.StructType: "a table",
    }
    inner = kind.type if isinstance(kind, inspect.Metadata) else kind
    return names.get(type(inner), "something else")


def _wrong(value: Any, wanted: str, path: Path) -> TypeProblem:  # noqa: ANN401
    shown = value if isinstance(value, str | int | float) else None
    word = _WORDS.get(type(value), "a number" if isinstance(value, float) else "a date or time")
    what = f"is {shown!r}" if shown is not None else f"is {word}"
    return TypeProblem(
        key_path=path,
        message=f"{what}, but {wanted} is needed",
        cure=f"give {wanted}",
        is_of_other_kind=True,
    )


def _problem(path: Path, message: str, cure: str) -> TypeProblem:
    return TypeProblem(key_path=path, message=message, cure=cure)


def _last_word(content: Any, target: type[Any], at: Path) -> TypeProblem | None:  # noqa: ANN401
    try:
        msgspec.convert(content, target)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at ")
        words = re.findall(r"\.([A-Za-z0-9_-]+)|\[(\d+)\]", place)
        path = (*at, *(name or int(number) for name, number in words))
        return _problem(path, message, "`headroom describe study-file` says what is allowed here")
    return None
