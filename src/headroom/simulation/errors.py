"""The error that models and runs raise, and where in the user's code a step was written."""

import contextlib
import sys
from pathlib import Path
from types import FrameType

from headroom.errors import HeadroomError

_OWN_FOLDER = str(Path(__file__).parent)


class SimulationError(HeadroomError):
    """A model is wrong, or a run cannot be finished (deadlock, time beyond its range).

    Examples
    --------
    >>> from headroom.simulation import Model
    >>> Model("shop", time_unit="fortnight")
    Traceback (most recent call last):
    ...
    headroom.simulation.errors.SimulationError: time_unit is 'fortnight', which is not known
      cure: choose one of ps, ns, us, ms, s, min, h
    """


def caller_location() -> str:
    """Return ``file:line`` of the nearest caller outside this part."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame):
        frame = frame.f_back
    return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}"


def _is_inside(frame: FrameType) -> bool:
    """Return whether `frame` belongs to the builder, or to the with-statement that runs it."""
    path = Path(frame.f_code.co_filename)
    is_own = str(path.parent) == _OWN_FOLDER and not path.name.startswith("test_")
    return is_own or str(path) == contextlib.__file__


def _short(filename: str) -> str:
    """Return `filename` relative to the working folder where it lies inside."""
    path = Path(filename)
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return filename
