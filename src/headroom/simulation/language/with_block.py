"""Program blocks that are written with `with`, and the error if the `with` is missing.

A plain call such as ``program.loop(3)`` without `with` would have no effect, and the model would
run without the block. So each block records that it was created, and the check of the model rejects
blocks that were never entered.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar

from headroom.simulation.errors import SimulationError, caller_location

if TYPE_CHECKING:
    from headroom.simulation.language.program import Program

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class Block(AbstractContextManager[T], Generic[T]):
    """A block that is waiting for its `with`.

    Invariant: it is among the `unentered` of its program until it is entered.
    """

    def __init__(
        self, inner: AbstractContextManager[T], word: str, unentered: "dict[int, Block[Any]]"
    ) -> None:
        self._inner = inner
        self._word = word
        self._unentered = unentered
        self._location = caller_location()
        unentered[id(self)] = self

    def __enter__(self) -> T:
        """Open the block."""
        self._unentered.pop(id(self), None)
        return self._inner.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Close the block."""
        return self._inner.__exit__(kind, error, trace)

    if not TYPE_CHECKING:  # a type checker says itself that a block has no such attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse access to a part of the block outside of a `with`."""
            if name.startswith("_"):
                raise AttributeError(name)
            raise self.forgotten()

    def forgotten(self) -> SimulationError:
        """Return the error for a missing `with`."""
        return SimulationError(
            f"{self._location}: {self._word}() is written without `with`, so that it does nothing",
            cure=f"write `with ....{self._word}(...):` and its steps below, indented",
        )


def block(
    method: Callable[Concatenate[S, P], Iterator[T]],
) -> Callable[Concatenate[S, P], Block[T]]:
    """Make a block of a generator method of a program or of a part of it, as `contextmanager` does.

    Examples
    --------
    >>> from headroom.simulation import Model, canonical_json, exponential
    >>> model = Model("shop")
    >>> cpu, program = model.station("cpu"), model.program("visit")
    >>> _ = program.loop(3)
    >>> program.use(cpu, exponential(1))
    >>> model.closed_class("users", program, population=1)
    >>> canonical_json(model)
    Traceback (most recent call last):
    ...
    headroom.simulation.errors.SimulationError: ...: loop() is written without `with`, so ...
    """
    make = contextmanager(method)

    @functools.wraps(method)
    def made(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Block[T]:
        program: Program = vars(self).get("_program", self)
        return Block(make(self, *args, **kwargs), method.__name__, program.unentered)

    return made


def refuse_forgotten(program: "Program") -> None:
    """Raise `SimulationError` if a block of `program` was made and never entered."""
    for unentered in program.unentered.values():
        raise unentered.forgotten()
