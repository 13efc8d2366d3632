"""The model of an observed server: open arrivals, one queue, the processors that are left to it."""

import math
from typing import Annotated

from headroom.experiment.protocol.model_parameters import parameter
from headroom.simulation import Model, exponential

_OBSERVED = "assumed: a round number; `headroom observe` writes what it saw"


def observed_server(
    *,
    load: Annotated[
        float,
        parameter(
            unit="1",
            low=0.001,
            high=1e6,
            source=_OBSERVED,
            description="Load, as a multiple of the observed one",
        ),
    ] = 1.0,
    rate: Annotated[
        float,
        parameter(
            unit="1/s",
            low=1e-6,
            high=1e9,
            source=_OBSERVED,
            description="Observed operations per second",
        ),
    ] = 100.0,
    service_s: Annotated[
        float,
        parameter(
            unit="s",
            low=1e-9,
            high=3600,
            source=_OBSERVED,
            description="Processor time of an operation when the processors are full",
        ),
    ] = 0.005,
    processors: Annotated[
        float,
        parameter(
            unit="1",
            low=0.001,
            high=10_000,
            source=_OBSERVED,
            description="Processors left to the server by its limit and its neighbours",
        ),
    ] = 1.0,
) -> Model:
    """Return an open server whose processors need not be a whole number.

    M/M/c with c = processors, rounded up; services take c / processors times as long, so that the
    capacity is processors / service_s. Utilization = load rate service_s / processors.
    """  # fmt: skip
    servers = max(math.ceil(processors - 1e-9), 1)
    model = Model("observed server", time_unit="us")
    station = model.station("processors", servers=servers)
    operation = model.program("operation")
    operation.use(station, exponential(1e6 * service_s * servers / processors))
    model.open_class("operations", operation, interarrival=exponential(1e6 / (load * rate)))
    return model
