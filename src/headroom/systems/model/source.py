"""Find model functions in a user's file or under a registered name, and call them.

Invariant: every error in a user's code is reported with the file and line of that code.
"""

import hashlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Timer
from types import CodeType, TracebackType
from typing import Any

from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol import plug_ins
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.protocol.model_parameters import place_of
from headroom.experiment.protocol.streams import prints_to_stderr
from headroom.experiment.protocol.suggestions import suggestion
from headroom.experiment.protocol.system import Value
from headroom.simulation import Model, canonical_json
from headroom.simulation.language.model import SECONDS_PER_UNIT
from headroom.systems.model.user_code import UserCode
from headroom.units import QuantityError, parse_quantity

GROUP = "headroom.models"
SLOW_S = 10.0
"""Seconds after which a model function that has not returned is named."""

_PLACED = re.compile(r"[^\n]*?\.(py|jsim\w*|jmva|lqnx?):\d+: ")
"""A message that begins with its location: the builder knows the line of each step."""


def code_of_file(path: Path) -> UserCode:
    """Return the code of a model file; raise `StudyError` if the file is missing."""
    if not path.is_file():
        raise StudyError(f"model file {path} not found", cure=_cure_of_missing(path))
    return UserCode(path)


def function_of_file(code: UserCode, name: str) -> Callable[..., Any]:
    """Return the function `name` that a model file defines.

    Raises
    ------
    StudyError
        The file is wrong, or has no such function; with its line if it is known.
    """
    path = code.path
    with code.importable():
        module = _executed(code)
    function = module.get(name)
    if not callable(function) or not (
        hasattr(function, "__code__") or hasattr(function, "parameters")
    ):
        known = [word for word, value in module.items() if _is_own_function(value, path)]
        cure = suggestion(name, known) if known else f"write one: def {name}(...) -> Model"
        raise StudyError(f"{path} has no function {name!r}", cure=cure)
    typed: Callable[..., Any] = function
    return typed


def registered_function(name: str) -> Callable[..., Any]:
    """Return the function that a package registered under `name`."""
    function: Callable[..., Any] = plug_ins.find(name, plug_ins.plug_ins(GROUP), kind="model")
    return function


def model_names() -> tuple[str, ...]:
    """Return the names of all registered models, sorted.

    Examples
    --------
    >>> "mm1" in model_names()
    True
    """
    return tuple(sorted(plug_ins.plug_ins(GROUP)))


def built_model(
    function: Callable[..., Any], config: Mapping[str, Value], code: UserCode | None = None
) -> Model:
    """Call a model function and return its model.

    Parameters
    ----------
    function
        The function.
    config
        Its arguments.
    code
        The file that it comes from, None if a package registered it.

    Raises
    ------
    StudyError
        The function failed, with the line of the user's code at which it did, or returned
        something else.
    """
    try:
        with (
            prints_to_stderr(),
            nullcontext() if code is None else code.importable(),
            _named_if_slow(function, config),
        ):
            model = function(**config)
    except (Exception, SystemExit) as error:
        own = [place_of(function).rpartition(":")[0], *(code.texts if code else ())]
        raise of_user_code(error, own) from error
    if not isinstance(model, Model):
        raise StudyError(
            f"{place_of(function)}: {function.__name__}() returned {type(model).__name__}, "
            "not a Model",
            cure="end the function with: return model",
        )
    return model


@contextmanager
def _named_if_slow(function: Callable[..., Any], config: Mapping[str, Value]) -> Iterator[None]:
    """Say which function does not return, and for which numbers: it may never do."""
    values = ", ".join(f"{name} = {value}" for name, value in config.items())
    name = getattr(function, "__name__", "it")
    told = (
        f"headroom: {place_of(function)}: {name}({values}) has not returned for {SLOW_S:g} s; if "
        "it never does, end the run (Ctrl-C) and correct it\n"
    )
    timer = Timer(SLOW_S, sys.stderr.write, [told])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def model_as_data(function: Callable[..., Any], model: Model) -> bytes:
    """Return a model as canonical JSON; errors of the whole name its function's line."""
    try:
        return canonical_json(model)
    except HeadroomError as error:
        if _PLACED.match(error.message):
            raise
        raise StudyError(f"{place_of(function)}: {error.message}", cure=error.cure) from error


def with_late(model: Model, late_after: Mapping[str, float | str] | float | str | None) -> Model:
    """Return a model whose completed jobs are late beyond a time, of all classes or of each.

    Raises
    ------
    StudyError
        No class has a name, or a text is no time.
    """
    if late_after is None:
        return model
    by_class = (
        late_after if isinstance(late_after, Mapping) else dict.fromkeys(model.classes, late_after)
    )
    late = model.copy()
    for name, limit in by_class.items():
        if name not in model.classes:
            raise StudyError(
                f"late_after: the model has no class {name!r}",
                cure=suggestion(name, model.classes),
            )
        try:
            time_s = parse_quantity(limit, "s") if isinstance(limit, str) else limit
        except QuantityError as error:
            raise StudyError(f"late_after: {error}", cure=error.hint) from error
        late.late_after(name, time_s / SECONDS_PER_UNIT[model.time_unit])
    return late


def _cure_of_missing(path: Path) -> str:
    near = sorted(file.name for file in path.parent.glob("*.py"))
    if not near:
        return f"write it, or correct the name; {path.parent} holds no .py file"
    return f"write it, or correct the name; {suggestion(path.name, near)}"


def _executed(code: UserCode) -> dict[str, Any]:
    """Run a model file as a module of its own name and return its definitions."""
    path = code.path
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"headroom_model_{digest}", path)
    if spec is None or spec.loader is None:
        raise StudyError(f"{path} is not a Python file", cure="name it *.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        with prints_to_stderr():
            exec(_compiled(code), module.__dict__)  # noqa: S102 - the file is the user's own model
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise of_user_code(error, [str(path), *code.texts]) from error
    return module.__dict__


def _compiled(code: UserCode) -> CodeType:
    path = code.path
    try:
        return compile(code.texts[str(path)], str(path), "exec")
    except (SyntaxError, ValueError) as error:
        raise _not_python(error, str(path)) from error


def _not_python(error: SyntaxError | ValueError, file_name: str) -> StudyError:
    line = getattr(error, "lineno", None) or 1
    return StudyError(
        f"{file_name}:{line}: {getattr(error, 'msg', error)}",
        cure="correct the line; `python -m py_compile` checks the file",
    )


def of_user_code(error: Exception | SystemExit, own: Sequence[str]) -> HeadroomError:
    """Return an error with its place: the innermost line of the user's files that led to it."""
    if isinstance(error, CodeNotRunError) or (
        isinstance(error, HeadroomError) and _PLACED.match(error.message)
    ):
        return error
    if isinstance(error, SyntaxError) and error.filename in own:
        return _not_python(error, str(error.filename))
    places = _places_in(error.__traceback__, own)
    place = places[-1] if places else own[0]
    if isinstance(error, HeadroomError):
        return StudyError(f"{place}: {error.message}", cure=error.cure)
    is_exit = isinstance(error, SystemExit)
    return StudyError(
        f"{place}: {type(error).__name__}: {error}",
        cure="a model must not leave Python; raise ValueError(...) to refuse a value"
        if is_exit
        else "correct the line of the model",
    )


def _places_in(trace: TracebackType | None, own: Sequence[str]) -> list[str]:
    frames = traceback.extract_tb(trace)
    return [
        f"{frame.filename}:{frame.lineno}"
        for frame in frames
        if frame.filename in own and frame.lineno
    ]


def _is_own_function(value: object, path: Path) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename == str(path)
