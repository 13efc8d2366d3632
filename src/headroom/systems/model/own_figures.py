"""Whole-run metrics that a model function defines itself, in addition to the common ones.

A model whose run is one job with an end (a benchmark, a batch) has metrics that no window of a
steady state has, such as the time from start to end. Its function declares them with two
attributes: ``own_metrics``, the metrics, and ``own_values``, a function from the result of a
simulation to their values. Runs are independent, so the intervals are those of independent values.

A third attribute, ``law``, takes the parameters of the model and returns metrics that follow from
arithmetic alone, such as ``{"throughput": min(1 / cpu_s, 1 / disk_s)}``. Claims that the law also
satisfies do not need the simulation.

Invariant: own metrics cover the whole run; no warm-up is removed. They are stored with it, so the
code that computes them is part of the fingerprint.
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from headroom.experiment.protocol.kept_code import KeptFunction
from headroom.experiment.protocol.model_parameters import place_of
from headroom.experiment.protocol.system import Metric, Parameter, Value
from headroom.experiment.study.seeds import digest
from headroom.simulation import SimulationResult
from headroom.systems.model.source import of_user_code
from headroom.systems.model.user_code import UserCode, meaning_of


def own_metrics(function: Callable[..., Any]) -> tuple[Metric, ...]:
    """Return the metrics of its own that a model function declares; most have none.

    Examples
    --------
    >>> def build():
    ...     raise NotImplementedError
    >>> own_metrics(build)
    ()
    """
    return tuple(getattr(function, "own_metrics", ()))


def own_values(
    function: Callable[..., Any], result: SimulationResult, code: UserCode | None = None
) -> Mapping[str, float]:
    """Return the values of `own_metrics` in one run; `code` is the file of the function."""
    values: Callable[[SimulationResult], Mapping[str, float]] | None
    values = getattr(function, "own_values", None)
    if values is None:
        return {}
    with nullcontext() if code is None else code.importable():
        figures: Mapping[str, float] = values(result)
        return figures


def law_of(
    function: Callable[..., Any], config: Mapping[str, Value], code: UserCode | None = None
) -> Mapping[str, float]:
    """Return the metrics that the law of a model function gives, none if it has no law.

    Raises
    ------
    StudyError
        The law failed, with the line of the user's code at which it did.

    Examples
    --------
    >>> def build():
    ...     raise NotImplementedError
    >>> build.law = lambda cpu_s: {"throughput": 1.0 / cpu_s}
    >>> law_of(build, {"cpu_s": 0.01})
    {'throughput': 100.0}
    """
    law: Callable[..., Mapping[str, float]] | None = getattr(function, "law", None)
    if law is None:
        return {}
    try:
        with nullcontext() if code is None else code.importable():
            return law(**config)
    except Exception as error:
        own = [place_of(function).rpartition(":")[0], *(code.texts if code else ())]
        raise of_user_code(error, own) from error


def own_code(function: Callable[..., Any], code: UserCode | None) -> str:
    """Return a hash of the code that gives own values, empty if there is none.

    Of a model file all counts, with the modules that it imports from its folder; of a package the
    module of the function.
    """
    if isinstance(function, KeptFunction):
        return function.own_code
    values = getattr(function, "own_values", None)
    if values is None:
        return ""
    if code is not None:
        return code.digest
    file_name = inspect.unwrap(values).__code__.co_filename
    return _code_of_module(file_name) if Path(file_name).is_file() else _compiled(values)


def declared_by(
    function: Callable[..., Any], name: str, parameters: tuple[Parameter, ...], code: UserCode
) -> dict[str, Any]:
    """Return what a function of a study's file declares, for who looks without running it."""
    folder = code.path.parent
    return {
        "function": name,
        "files": [Path(file).relative_to(folder).as_posix() for file in code.texts],
        "digest": code.digest,
        "parameters": parameters,
        "own_metrics": own_metrics(function),
        "own_code": own_code(function, code),
        "known_error": str(getattr(function, "known_error", "")),
        "has_law": getattr(function, "law", None) is not None,
        "has_stand_in": getattr(function, "stand_in", None) is not None,
    }


@cache
def _code_of_module(file_name: str) -> str:
    return digest(meaning_of(Path(file_name).read_bytes()) if file_name else "")


def _compiled(function: Callable[..., Any]) -> str:
    """Return a hash of a function whose text is in no file, such as that of a notebook."""
    code = function.__code__
    constants = [repr(one) for one in code.co_consts if not isinstance(one, CodeType)]
    return digest([code.co_code.hex(), constants, list(code.co_names)])
