"""An invalid law names the user's line, and no code of Headroom itself."""

import inspect
import math

import pytest

from headroom.simulation import Model, SimulationError, exponential, mmpp, simulate


def here(offset: int) -> str:
    """Return the file and line `offset` lines from the caller's."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"test_lines_of_laws.py:{frame.f_back.f_lineno + offset}: "


def test_a_wrong_distribution_names_its_line() -> None:
    """Cause: the message had the law and no place; a model has dozens of laws."""
    line = here(+2)
    with pytest.raises(SimulationError) as caught:
        exponential(0)
    assert line in caught.value.message


def test_wrong_arrivals_name_their_line() -> None:
    line = here(+2)
    with pytest.raises(SimulationError, match="no way from state 1 to state 0") as caught:
        mmpp(rates=[1, 2], switch_rates=[[0, 1], [0, 0]])
    assert line in caught.value.message


def test_rounding_and_powers_of_expressions_are_refused_with_a_cure() -> None:
    """Cause: they were TypeErrors of Python's own, without a way out."""
    size = Model("files").attribute("size")
    with pytest.raises(SimulationError, match=r"test_lines_of_laws\.py:\d+: size is rounded"):
        round(size)
    with pytest.raises(SimulationError, match=r"test_lines_of_laws\.py:\d+: size is raised"):
        size**2


def test_what_is_no_model_is_not_simulated() -> None:
    """Cause: an AttributeError about a method of its own."""
    with pytest.raises(SimulationError, match="is not a model"):
        simulate("model.py", seed=1)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("time", [2e10, math.inf])
def test_a_run_beyond_the_clock_is_refused_before_it_starts(time: float) -> None:
    """Cause: it was found out after billions of events, hours later."""
    model = Model("queue", time_unit="ms")
    program = model.program("visit")
    program.use(model.station("server"), exponential(1))
    model.open_class("jobs", program, interarrival=exponential(2))
    with pytest.raises(SimulationError, match="stops at time"):
        simulate(model, seed=1, time=time)
