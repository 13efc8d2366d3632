"""Forecasts from formulas: the system's own if it has them, else the solvers of its model."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from headroom.experiment.protocol.changes import Change
from headroom.experiment.protocol.system import Modelled, System, Value
from headroom.forecasts import Forecast, forecast_of


@runtime_checkable
class HasFormulas(Protocol):
    """A system with formulas of its own, such as one in closed form; optional for a `System`."""

    def forecast(self, config: Mapping[str, Value], changes: Sequence[Change]) -> Forecast:
        """Return the forecast of the (changed) system of `config`."""
        ...


def forecast_at(
    system: System, config: Mapping[str, Value], changes: Sequence[Change] = ()
) -> Forecast | None:
    """Return the forecast of a (changed) system in its steady state; None without a model.

    Runs with a natural end have no steady state, so formulas say nothing about them.
    """
    if isinstance(system, HasFormulas):
        return system.forecast(config, changes)
    if not isinstance(system, Modelled):
        return None
    model = system.model(config, changes)
    why = system.natural_end(model)
    if why:
        return Forecast(reasons=(f"no steady state: {why}",))
    return forecast_of(model)
