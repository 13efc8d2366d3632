"""Model functions: found in a user's file or under a registered name, and called.

Invariant: whatever goes wrong in a user's code is reported with the file and line of that code.
"""

import hashlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

from headroom.errors import HeadroomError, StudyError
from headroom.experiment import plug_ins
from headroom.experiment.suggestions import suggestion
from headroom.experiment.system import Value
from headroom.simulation import Model
from headroom.systems.model.parameters import place_of

GROUP = "headroom.models"

_PLACED = re.compile(r"[^\n]*?\.(py|jsim\w*):\d+: ")
"""A message that begins with its place: the builder knows the line of each step."""


def function_of_file(path: Path, name: str) -> Callable[..., Any]:
    """Return the function `name` that the Python file `path` defines.

    Raises
    ------
    StudyError
        The file is missing, is wrong, or has no such function; with its line where one is known.
    """
    if not path.is_file():
        raise StudyError(f"there is no model file {path}", cure=_cure_of_missing(path))
    module = _executed(path)
    function = module.get(name)
    if not callable(function) or not (
        hasattr(function, "__code__") or hasattr(function, "parameters")
    ):
        known = [word for word, value in module.items() if _is_own_function(value, path)]
        cure = suggestion(name, known) if known else f"write one: def {name}(...) -> Model"
        raise StudyError(f"{path} has no function {name!r}", cure=cure)
    found: Callable[..., Any] = function
    return found


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


def built_model(function: Callable[..., Any], config: Mapping[str, Value]) -> Model:
    """Call a model function and return its model.

    Raises
    ------
    StudyError
        The function failed, with the line of the user's code at which it did, or returned
        something else.
    """
    try:
        model = function(**config)
    except (Exception, SystemExit) as error:
        raise _of_user_code(error, place_of(function).rpartition(":")[0]) from error
    if not isinstance(model, Model):
        raise StudyError(
            f"{place_of(function)}: {function.__name__}() returned {type(model).__name__}, "
            "not a Model",
            cure="end the function with: return model",
        )
    return model


def model_as_data(function: Callable[..., Any], model: Model) -> bytes:
    """Return a model as canonical JSON; what is wrong with the whole names its function's line."""
    try:
        return model.to_json()
    except HeadroomError as error:
        if _PLACED.match(error.message):
            raise
        raise StudyError(f"{place_of(function)}: {error.message}", cure=error.cure) from error


def _cure_of_missing(path: Path) -> str:
    near = sorted(one.name for one in path.parent.glob("*.py"))
    if not near:
        return f"write it, or correct the name; {path.parent} holds no .py file"
    return f"write it, or correct the name; {suggestion(path.name, near)}"


def _executed(path: Path) -> dict[str, Any]:
    """Run a model file as a module of its own name and return what it defines."""
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(f"headroom_model_{digest}", path)
    if spec is None or spec.loader is None:
        raise StudyError(f"{path} is not a Python file", cure="name it *.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        exec(_compiled(path), module.__dict__)  # noqa: S102 - the file is the user's own model
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise _of_user_code(error, str(path)) from error
    return module.__dict__


def _compiled(path: Path) -> CodeType:
    try:
        return compile(path.read_bytes(), str(path), "exec")
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise StudyError(
            f"{path}:{line}: {getattr(error, 'msg', error)}",
            cure="correct the line; `python -m py_compile` checks the file",
        ) from error


def _of_user_code(error: Exception | SystemExit, file_name: str) -> HeadroomError:
    if isinstance(error, HeadroomError) and _PLACED.match(error.message):
        return error
    lines = _lines_in(error.__traceback__, file_name)
    place = f"{file_name}:{lines[-1]}" if lines else file_name
    if isinstance(error, HeadroomError):
        return StudyError(f"{place}: {error.message}", cure=error.cure)
    is_exit = isinstance(error, SystemExit)
    return StudyError(
        f"{place}: {type(error).__name__}: {error}",
        cure="a model must not leave Python; raise ValueError(...) to refuse a value"
        if is_exit
        else "correct the line of the model",
    )


def _lines_in(trace: TracebackType | None, file_name: str) -> list[int]:
    frames = traceback.extract_tb(trace)
    return [frame.lineno for frame in frames if frame.filename == file_name and frame.lineno]


def _is_own_function(value: object, path: Path) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and code.co_filename == str(path)
