"""The model `observed_server`: open arrivals, one queue, the processors that are left to it."""

import math
from typing import Annotated

from headroom.experiment.protocol.model_parameters import parameter
from headroom.simulation import Model, exponential

_ROUND = "assumed: a round number; `headroom observe` writes what it saw"
_LOAD = parameter(unit="1", low=1e-3, high=1e6, source=_ROUND, description="Load, 1 as observed")
_RATE = parameter(unit="1/s", low=1e-6, high=1e9, source=_ROUND, description="Observed rate")
_SERVICE = parameter(
    unit="s", low=1e-9, high=3600, source=_ROUND,
    description="Processor time of an operation of a full server",
)  # fmt: skip
_PROCESSORS = parameter(
    unit="1", low=1e-3, high=1e4, source=_ROUND,
    description="Processors that a limit and neighbours leave to the server",
)  # fmt: skip


def observed_server(
    *,
    load: Annotated[float, _LOAD] = 1.0,
    rate: Annotated[float, _RATE] = 100.0,
    service_s: Annotated[float, _SERVICE] = 0.005,
    processors: Annotated[float, _PROCESSORS] = 1.0,
) -> Model:
    """Return an open server whose processors need not be a whole number.

    M/M/c with c = processors, rounded up; services take c / processors times as long, so that
    utilization = load rate service_s / processors.
    """
    servers = max(math.ceil(processors - 1e-9), 1)
    model = Model("observed server", time_unit="us")
    operation = model.program("operation")
    station = model.station("processors", servers=servers)
    operation.use(station, exponential(1e6 * service_s * servers / processors))
    model.open_class("operations", operation, interarrival=exponential(1e6 / (load * rate)))
    return model
