"""PostgreSQL under clients who think, with the names of the measured points."""

from typing import Annotated

from headroom.simulation import Model
from headroom.systems.model import parameter
from headroom.systems.model.library import database

_FITTED = "assumed until it is fitted to bursts or to low load"


def build(
    *,
    script: Annotated[str, parameter(unit="", source="the transaction of the measured point")],
    scale: Annotated[int, parameter(unit="1", low=1, high=10_000, source="of the measured point")],
    clients: Annotated[int, parameter(unit="1", low=1, high=10_000, source="of the point")] = 64,
    think_s: Annotated[float, parameter(unit="s", low=0, high=60, source="of the point")] = 0.0,
    servers: Annotated[int, parameter(unit="1", low=1, high=1024, source="observed")] = 2,
    service_s: Annotated[float, parameter(unit="s", low=1e-6, high=1, source=_FITTED)] = 1e-4,
    lock_s: Annotated[float, parameter(unit="s", low=0, high=1, source=_FITTED)] = 0.0,
) -> Model:
    """Return the server; `script` and `scale` only say which demands were fitted."""
    del script, scale
    return database(
        clients=clients, think_s=think_s, servers=servers, service_s=service_s, lock_s=lock_s
    )
