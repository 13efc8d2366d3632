"""What the code of a study answered when it ran, so that looking at the study runs none of it.

While a study is run, each system with code of the folder keeps what that code declared, and what it
returned for each configuration. The journal stores this. Whoever looks at the study gets the same
answers from there.

Invariant: while `answering` is on, no code of a study is run: what it was not asked before is a
`CodeNotRunError`.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from headroom.errors import StudyError
from headroom.experiment.protocol.plain_form import damaged, from_bytes, to_bytes
from headroom.experiment.protocol.system import Parameter, Value

Records: TypeAlias = dict[str, dict[str, Any]]
"""By the name of a function: what was declared, and its answers by kind and configuration."""

_answers: ContextVar["_Look | None"] = ContextVar("answers", default=None)
_kept: ContextVar[Records | None] = ContextVar("kept", default=None)


@dataclass(frozen=True, slots=True)
class _Look:
    """What runs have left, and the files that have changed since."""

    records: Records
    changed: dict[str, None] = field(default_factory=dict)


class CodeNotRunError(StudyError):
    """Something depends on code of a study that must not be run now."""

    def __init__(self, file: Path, what: str = "") -> None:
        super().__init__(
            f"{file} is not run to look at its study, {what or 'and no run has left its models'}",
            cure=f"run the study: headroom run {file.parent}",
        )


@contextmanager
def answering(records: Records) -> Iterator[Mapping[str, None]]:
    """Let systems answer from what runs have left, and run no code of a study meanwhile.

    Yields the files of code that are found to have changed since.
    """
    look = _Look(records)
    token = _answers.set(look)
    try:
        yield look.changed
    finally:
        _answers.reset(token)


@contextmanager
def keeping(records: Records) -> Iterator[None]:
    """Let the systems that are loaded meanwhile keep in `records` what their code answers."""
    token = _kept.set(records)
    try:
        yield
    finally:
        _kept.reset(token)


def recorder(name: str, declared: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """Return where a function that is loaded now keeps its answers; None if they are not kept."""
    records = _kept.get()
    if records is None:
        return None
    now = declared()
    old = records.get(name)
    if old is None or {**old, "answers": None} != {**now, "answers": None}:
        records[name] = {**now, "answers": {}}
    return records[name]


def note(
    record: dict[str, Any] | None, kind: str, config: Mapping[str, Value], answer: object
) -> None:
    """Keep an answer; one that is no plain data is left out."""
    if record is None or (key := _key(kind, config)) in record["answers"]:
        return
    with suppress(TypeError, OverflowError):
        record["answers"][key] = to_bytes(answer)


def _key(kind: str, config: Mapping[str, Value]) -> str:
    return repr((kind, sorted(config.items())))


@dataclass(slots=True)
class KeptFunction:
    """A model function of a study's file that answers what it answered when it was run.

    Parameters
    ----------
    path
        Its file.
    record
        What `recorder` kept.
    """

    path: Path
    record: Mapping[str, Any]
    parameters: tuple[Parameter, ...] = ()
    own_metrics: tuple[Any, ...] = ()
    known_error: str = ""
    own_code: str = ""
    files: list[Path] = field(default_factory=list)

    @property
    def place(self) -> str:
        """The location of the function, for messages."""
        return f"{self.path}:1"

    @property
    def __name__(self) -> str:
        return str(self.record["function"])

    def __call__(self, **config: Value) -> Any:  # noqa: ANN401 - a model, which is checked
        """Return the model that the function returned for `config`."""
        return self._answer("model", config)

    def law(self, **config: Value) -> Any:  # noqa: ANN401 - metrics by name
        """Return what the law of the function gave."""
        return self._answer("law", config) if self.record["has_law"] else {}

    def stand_in(self, **config: Value) -> Any:  # noqa: ANN401 - a model and its errors, or None
        """Return the simpler model that the function offered."""
        return self._answer("stand_in", config) if self.record["has_stand_in"] else None

    def own_values(self, result: object) -> Any:  # noqa: ANN401 - never returns
        """Refuse to compute values of a new run."""
        del result
        raise CodeNotRunError(self.path, "so nothing can be simulated")

    def _answer(self, kind: str, config: Mapping[str, Value]) -> object:
        found = self.record["answers"].get(_key(kind, config))
        if found is None:
            levels = ", ".join(f"{name} = {value}" for name, value in config.items())
            raise CodeNotRunError(self.path, f"and no run has asked it for {levels}")
        return from_bytes(found)


def kept_function(
    name: str, path: Path, function: str, digest: Callable[[Path], str]
) -> KeptFunction | None:
    """Return the function that answers in place of the one in a file; None where code may run.

    Parameters
    ----------
    name
        As for `recorder`.
    path, function
        The file and the name in it.
    digest
        Returns the hash of the code of a file, as the record has it.
    """
    look = _answers.get()
    if look is None:
        return None
    record = look.records.get(name)
    if record is None:
        unknown = {"function": function, "answers": {}, "has_law": False, "has_stand_in": False}
        return KeptFunction(path, unknown, parameters=_signature(path, function))
    try:
        is_same = digest(path) == record.get("digest")
    except (OSError, AttributeError, SyntaxError, ValueError, RecursionError, MemoryError):
        is_same = False
    if not is_same:
        look.changed[path.name] = None
    try:
        return KeptFunction(
            path,
            record,
            parameters=tuple(record["parameters"]),
            own_metrics=tuple(record["own_metrics"]),
            known_error=str(record["known_error"]),
            own_code=str(record["own_code"]),
            files=[path.parent / file for file in record["files"]],
        )
    except (KeyError, TypeError) as error:
        raise damaged() from error


_TYPES = {"int", "float", "str", "bool"}


def _signature(path: Path, function: str) -> tuple[Parameter, ...]:
    """Return the parameters of a function as its text declares them, without ranges and units."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CodeNotRunError(path, f"and its text cannot be read ({error})") from error
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == function]
    if not found:
        raise CodeNotRunError(path, f"and its text does not define {function}()")
    arguments = found[-1].args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [*zip(arguments.args, defaults, strict=True)]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return tuple(_parameter(argument, default) for argument, default in pairs)


def _parameter(argument: ast.arg, default: ast.expr | None) -> Parameter:
    try:
        value = None if default is None else ast.literal_eval(default)
    except ValueError:
        value = None
    hint = argument.annotation
    if isinstance(hint, ast.Subscript) and isinstance(hint.slice, ast.Tuple):
        hint = hint.slice.elts[0]  # Annotated[int, ...]
    kind = hint.id if isinstance(hint, ast.Name) else type(value).__name__
    return Parameter(
        name=argument.arg,
        type=kind if kind in _TYPES else "any",  # type: ignore[arg-type] # it is in the list
        unit="",
        source="",
        default=value if type(value).__name__ in _TYPES else None,
    )
