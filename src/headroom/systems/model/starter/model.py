"""A small web service: each request computes, then reads from one disk."""

from typing import Annotated

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter


def build(
    *,
    users: Annotated[int, parameter(unit="1", low=1, high=10_000, source="assumed")] = 10,
    cpus: Annotated[int, parameter(unit="1", low=1, high=64, source="assumed")] = 2,
    cpu_ms: Annotated[float, parameter(unit="ms", low=0.1, high=1e4, source="assumed")] = 10.0,
    disk_ms: Annotated[float, parameter(unit="ms", low=0.1, high=1e4, source="assumed")] = 6.0,
    think_ms: Annotated[float, parameter(unit="ms", low=0.0, high=1e6, source="assumed")] = 200.0,
) -> Model:
    """Return the model; the annotations declare unit, range and source of every parameter."""
    model = Model("small web service", time_unit="ms")
    cpu = model.station("cpu", servers=cpus)
    disk = model.station("disk", servers=1)

    request = model.program("request")
    request.use(cpu, exponential(cpu_ms))
    request.use(disk, exponential(disk_ms))

    model.closed_class("users", request, population=users, think=exponential(think_ms))
    return model
