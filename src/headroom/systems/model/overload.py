"""Runs of models whose open classes offer more load than a station or pool can serve.

Such a model has no steady state, but its throughput and the growth rate of its queue are useful
answers. So it runs like any other model, except that it need not reach all completions at any cost.

Invariant: a model whose arrivals change over time has no offered load here: it may be overloaded
for a while and empty afterwards.
"""

import math

from headroom.errors import HeadroomError
from headroom.simulation import Model
from headroom.simulation.checks.capacity import Overload, overloads

ARRIVALS_PER_COMPLETION = 4.0
"""Arrivals after which an overloaded run ends, for each completion that it was to have: at many
times the capacity nearly all events would be arrivals."""


def longest_time(model: Model, completions: int) -> float:
    """Return the time (in the model's unit) after which an overloaded run ends at the latest.

    Parameters
    ----------
    model
        The model; some open class arrives endlessly.
    completions
        Completions that the run was to have.
    """
    rate = math.fsum(class_.arrival_rate for class_ in model.classes.values() if class_.is_endless)
    return ARRIVALS_PER_COMPLETION * completions / rate


def overloads_by_row(model: Model) -> dict[str, float]:
    """Return the offered load of each overloaded row of the results, the largest of its members.

    Examples
    --------
    >>> from headroom.simulation import exponential
    >>> model = Model("queue", time_unit="s")
    >>> program = model.program("visit")
    >>> program.use(model.station("server"), exponential(2))
    >>> model.open_class("customers", program, interarrival=exponential(1.6))
    >>> overloads_by_row(model)
    {'station.server': 1.25}
    """
    loads: dict[str, float] = {}
    for overload in _overloads(model):
        parts = model.stations if overload.kind == "station" else model.pools
        row = f"{overload.kind}.{parts[overload.name].row}"
        loads[row] = max(loads.get(row, 0.0), overload.load)
    return loads


def _overloads(model: Model) -> list[Overload]:
    if any(
        getattr(class_.process, "kind", "") == "changing_rate" for class_ in model.classes.values()
    ):
        return []
    try:
        return overloads(model)
    except HeadroomError:
        return []  # Nothing can be counted, so nothing is claimed.
