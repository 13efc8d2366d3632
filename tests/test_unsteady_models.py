"""Models with patience or changing capacity, across parts: rejections say why and where."""

from collections.abc import Callable

import pytest

from headroom.errors import HeadroomError
from headroom.forecasts.forecast import forecast_of
from headroom.jmt import jsimg_text
from headroom.simulation import Model, exponential, schedule
from headroom.solvers import bounds, solve


def impatient() -> Model:
    """Return a queue with patience of one length, for which no theorem is known here."""
    model = Model("impatient", time_unit="s")
    agents, call = model.station("agents"), model.program("call")
    call.use(agents, exponential(1), patience=2)
    model.open_class("callers", call, interarrival=exponential(0.5))
    return model


def scheduled() -> Model:
    model = Model("scheduled", time_unit="s")
    agents = model.station("agents", servers=schedule([(0, 1), (9, 3)], period=12))
    call = model.program("call")
    call.use(agents, exponential(1))
    model.open_class("callers", call, interarrival=exponential(2))
    return model


@pytest.mark.parametrize(
    ("model", "why"),
    [(impatient, "lose patience at station 'agents'"), (scheduled, "'agents' follow a schedule")],
)
def test_solvers_forecasts_and_jmt_refuse_with_the_line(
    model: Callable[[], Model], why: str
) -> None:
    with pytest.raises(HeadroomError, match=f"test_unsteady_models.py:[0-9]+: .*{why}"):
        solve(model())
    forecast = forecast_of(model())
    assert not forecast.values
    assert why in forecast.reasons[0]
    with pytest.raises(
        HeadroomError, match=r"test_unsteady_models.py:\d+: .*which the JMT format cannot express"
    ):
        jsimg_text(model())


def test_bounds_hold_for_those_that_no_formula_solves() -> None:
    assert bounds(scheduled())[0].throughput_per_s_high == pytest.approx(1.5)
    assert bounds(impatient())[0].throughput_per_s_high >= 0.9


def test_an_overload_that_patience_relieves_is_none() -> None:
    assert not forecast_of(impatient()).overload
