"""Functions of several points that a package registers under ``headroom.derived``.

Invariant: a function is called with known, finite values only, and more than once: also with values
that are moved by their standard errors, to find the error of what it returns.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from headroom.experiment.protocol import plug_ins
from headroom.experiment.protocol.system import Value

GROUP = "headroom.derived"
KIND = "derived function"


class DerivedFunction(Protocol):
    """A derived quantity in code."""

    def __call__(
        self,
        values: Sequence[float],
        levels: Sequence[Mapping[str, Value]],
        options: Mapping[str, Any],
    ) -> Sequence[float | None]:
        """Return one value for each point, None if there is no value, infinity if no bound.

        Parameters
        ----------
        values
            Of the points with results, in the order of the study, in base units.
        levels
            Levels of the same points.
        options
            The table `options` of the study.
        """
        ...


def derived_function(name: str) -> DerivedFunction:
    """Return a registered function.

    Raises
    ------
    StudyError
        Nothing has this name.
    EnvironmentUnfitError
        It is registered, but its package cannot be imported.
    """
    found: DerivedFunction = plug_ins.find(name, plug_ins.plug_ins(GROUP), kind=KIND)
    return found
