"""Arguments of the functions here and of models: names that both have are refused.

Invariant: no argument of one silently goes to the other.
"""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from numbers import Integral
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

import msgspec

from headroom.api.results import View
from headroom.api.study import Study, model_table
from headroom.errors import StudyError
from headroom.experiment.protocol import registry
from headroom.experiment.protocol.system import System, Value
from headroom.experiment.study.design import make_plan
from headroom.sessions.subjects import is_study
from headroom.sessions.trust import trusted_study

Levels: TypeAlias = Value | Iterable[Value]
"""A value of a parameter, or several that are tried one by one."""
_P = ParamSpec("_P")
_R = TypeVar("_R")
_OLD, _NEW = "jobs", "processes"
_MODELS = {"model", "models", "subject"}
"""Names of the functions for the models that arguments may be for."""
_SINGLE = {bool, int, float, str, int | None, float | None}
"""Types of options that take one value."""


def told_apart(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function refuse names that it and its model have, unless `parameters` is given.

    Options that take one value refuse several. The processes may still be called `jobs` if the
    model has no such parameter.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        placed = signature.bind_partial(*args).arguments
        given: dict[str, Any] = dict(kwargs)
        _check(function.__name__, signature, placed, given)
        if _OLD in given and _NEW in signature.parameters:
            given[_NEW] = _renamed(given.pop(_OLD))
        for name in set(given) & set(signature.parameters):
            if signature.parameters[name].annotation in _SINGLE and not is_one(given[name]):
                raise StudyError(
                    f"{name}={given[name]!r}: hr.{function.__name__} takes one value of {name!r}",
                    cure="give several values to parameters of the model alone",
                )
        return function(*args, **given)

    return called


def _check(
    name: str, signature: inspect.Signature, placed: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Refuse arguments that may be the function's or the model's, or are given twice."""
    if "arguments" not in signature.parameters:
        return
    own = {*signature.parameters, *({_OLD} if _NEW in signature.parameters else ())}
    models = [{**given, **placed}.get(one) for one in own & _MODELS]
    own -= (_MODELS - set(placed)) | {"parameters"}
    inner = given.get("parameters")
    if inner is None:
        unclear = own & set(given)
        both = sorted(unclear & _declared(models)) if unclear else []
        if both:
            raise _unclear(name, {one: given[one] for one in both})
        return
    if not isinstance(inner, Mapping):
        raise StudyError(
            f"parameters={inner!r} is not a mapping", cure='write parameters={"NAME": VALUE}'
        )
    twice = sorted((set(given) - own) & set(inner))
    if twice:
        raise StudyError(f"{twice[0]!r} is given twice", cure="remove it from `parameters`")


def _unclear(name: str, both: Mapping[str, Any]) -> StudyError:
    first = next(iter(both))
    other = f"add parameters={{}} if the one of hr.{name} is meant"
    if first == _OLD:
        other = f"write {_NEW}=NUMBER for simulations in parallel"
    return StudyError(
        f"hr.{name} and the model both have {first!r}, so {first}={both[first]!r} is unclear",
        cure=f"write parameters={dict(both)!r} for the model, or {other}".replace("'", '"'),
    )


def _declared(models: Iterable[Any]) -> set[str]:
    """Return the names of the parameters of models, or of tuples of them."""
    each = (one for given in models for one in (given if isinstance(given, tuple) else (given,)))
    return {name for model in each for name in _names_of(model)}


def _names_of(subject: Any) -> Iterator[str]:  # noqa: ANN401 - whatever is called a model
    if subject is None or isinstance(subject, View):
        return
    if isinstance(subject, Study | Path) or (isinstance(subject, str) and is_study(subject)):
        loaded = subject.loaded() if isinstance(subject, Study) else trusted_study(Path(subject))
        plan = make_plan(loaded, quick=False, seed=None)
        yield from (use.name for one in plan.experiments for use in one.parameters)
        return
    system, _ = loaded_system(model_table(subject, here=Path.cwd()), {})
    yield from (one.name for one in system.parameters())


def loaded_system(
    table: Mapping[str, Any], end: Mapping[str, Any]
) -> tuple[System, msgspec.Struct]:
    """Return the system of a table `[experiment.system]`, and its set-up with the end of a run."""
    keys = {**table, **end}
    kind = registry.find_system(keys.pop("name"))
    setup: msgspec.Struct = msgspec.convert(keys, kind.setup_type)
    return kind.load(setup, base=Path.cwd()), setup


def _renamed(value: object) -> object:
    """Return the number of processes that was given by its old name; say the new one."""
    if value is not None and not isinstance(value, Integral):
        raise StudyError(
            f"{_OLD}={value!r} is not a number of processes",
            cure=f"write {_NEW}=NUMBER for simulations in parallel; the model has no {_OLD!r}",
        )
    warnings.warn(f"`{_OLD}` is now `{_NEW}`", FutureWarning, stacklevel=3)
    return value


def is_one(value: object) -> bool:
    """Return whether a value is one, not several."""
    return isinstance(value, str) or not isinstance(value, Iterable)
