"""Positions in a JMT file, for messages."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from headroom.simulation import Model, Program, SimulationError

_LINE_OF_PYTHON = re.compile(r"^[^\n]*?\.py:\d+: ")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def error(self, what: str, *, cure: str) -> SimulationError:
        """Return an error about what stands here."""
        return SimulationError(f"{self}: {what}", cure=cure)


@contextmanager
def standing_at(place: Place, program: Program | None = None) -> Iterator[None]:
    """Let the block's steps and errors speak of `place` instead of a line of Python."""
    first = 0 if program is None else len(program.steps)
    try:
        yield
    except SimulationError as error:
        if error.message.startswith(f"{place.file}:"):
            raise
        what = _LINE_OF_PYTHON.sub("", error.message)
        raise place.error(what, cure=error.cure) from error
    if program is not None:
        for index in range(first, len(program.steps)):
            step = program.steps[index]
            if not step.location.startswith(f"{place.file}:"):
                program.steps[index] = replace(step, location=str(place))


def put(model: Model, kind: str, name: str, place: Place) -> None:
    """Let a station, a pool or a class of `model` speak of `place`."""
    parts = getattr(model, kind)
    parts[name] = replace(parts[name], location=str(place))
