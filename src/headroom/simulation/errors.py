"""The error that models and runs raise, and where in the user's code a step was written."""

import sys
from pathlib import Path

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
    frame = sys._getframe(1)  # noqa: SLF001 - the one way to the caller's line without a full stack
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        if Path(frame.f_code.co_filename).name.startswith("test_"):
            break
        frame = frame.f_back
    return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}"


def _short(filename: str) -> str:
    """Return `filename` relative to the working folder where it lies inside."""
    path = Path(filename)
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return filename
