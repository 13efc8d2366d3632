"""The error of the solvers, and the lower limit of their numbers."""

from headroom.errors import HeadroomError


class SolverError(HeadroomError):
    """A model has no steady state, or asks for what no solver here can answer."""


class NoSteadyStateError(SolverError):
    """More comes from outside than a station or a pool can let through."""


def assert_within(value: float, low: float, high: float, *, what: str) -> None:
    """Panic where an answer that calls itself exact breaks a bound that holds for every system.

    A published solver has been wrong under the label "exact" before; this one would rather stop.
    """
    slack = 1e-9 * max(abs(low), abs(high) if high != float("inf") else 0.0, 1e-300)
    if not low - slack <= value <= high + slack:
        raise AssertionError(f"{what} is {value!r}, outside its bounds {low!r} to {high!r}")
