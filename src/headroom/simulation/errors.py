"""The error that models and runs raise, and the line of the user's code that wrote a step."""

import contextlib
import os
import sys
from functools import cache
from pathlib import Path

from headroom.errors import HeadroomError

_OWN_FOLDER = Path(__file__).parent
_PACKAGE = _OWN_FOLDER.parent


class SimulationError(HeadroomError):
    """A model is wrong, or a run cannot be finished (deadlock, time beyond its range).

    Examples
    --------
    >>> from headroom.simulation import Model
    >>> Model("shop", time_unit="fortnight")
    Traceback (most recent call last):
    ...
    headroom.simulation.errors.SimulationError: ...time_unit is 'fortnight', which is not known
      hint: choose one of ps, ns, us, ms, s, min, h
    """


class OverloadError(SimulationError):
    """Open classes need more than a station or pool can serve, and nothing ends the run."""


def refused(what: str, *, cure: str) -> SimulationError:
    """Return an error about what the nearest caller outside this part wrote, with its line."""
    return SimulationError(f"{caller_location()}: {what}", cure=cure)


def caller_location() -> str:
    """Return ``file:line`` of the nearest caller outside this part."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{_short(frame.f_code.co_filename, _folder())}:{frame.f_lineno}"


def users_location() -> str:
    """Return ``file:line: `` of the nearest caller, nothing if that is Headroom itself.

    For what Headroom's own parts build as well as its users: distributions.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    is_ours = path.is_relative_to(_PACKAGE) and not path.name.startswith("test_")
    return "" if is_ours else f"{_short(str(path), _folder())}:{frame.f_lineno}: "


def _folder() -> str:
    """Return the working folder; every step of every model asks, and `Path.cwd` takes 20 us."""
    return os.getcwd()  # noqa: PTH109


@cache
def _is_inside(filename: str) -> bool:
    """Return whether a file belongs to the builder, or to the with-statement that runs it.

    Every step of every model asks, so the answer is kept.
    """
    path = Path(filename)
    is_own = path.is_relative_to(_OWN_FOLDER) and not path.name.startswith("test_")
    return is_own or filename == contextlib.__file__


@cache
def _short(filename: str, folder: str) -> str:
    """Return `filename` relative to `folder` if it is inside."""
    try:
        return str(Path(filename).relative_to(folder))
    except ValueError:
        return filename
