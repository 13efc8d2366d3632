"""The load of a point: clients, think time, utilization, servers.

Invariant: read off the model of the point, never off the names of its parameters.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from headroom.analysis.formulas import forecast_at
from headroom.errors import HeadroomError
from headroom.experiment.journal.journal import ReplicationRow
from headroom.experiment.protocol.fit_method import Load
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.protocol.system import Modelled, System, Value
from headroom.simulation import model_data

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def load_of(system: System, config: Mapping[str, Value], *, visits: int = 1) -> Load:
    """Return the load of a point by the model of its system; empty for systems without one.

    Parameters
    ----------
    system, config
        A system, and the value of each of its parameters.
    visits
        See `SourcePoint.visits`.
    """
    if not isinstance(system, Modelled):
        return Load(visits=visits)
    try:
        data = model_data(system.model(config))
    except CodeNotRunError:
        raise
    except HeadroomError:
        return Load(visits=visits)
    closed = [one for one in data.get("classes", ()) if one.get("kind") == "closed"]
    closed += data.get("mixes", ())
    unit_s = _SECONDS.get(data.get("time_unit", "s"), 1.0)
    return Load(
        clients=sum(int(one["population"]) for one in closed) if closed else None,
        think_s=max(_mean(one.get("think")) for one in closed) * unit_s if closed else None,
        utilization=_utilization(system, config),
        servers=tuple(
            int(one["servers"])
            for one in data.get("stations", ())
            if isinstance(one.get("servers"), int)
        ),
        visits=visits,
    )


def _mean(law: Any) -> float:  # noqa: ANN401 - a law as data
    """Return the mean of a law as data; 0 if there is none.

    Examples
    --------
    >>> _mean({"kind": "exponential", "mean": 2.0}), _mean(None), _mean({"kind": "uniform"})
    (2.0, 0.0, 1.0)
    """
    if not law:
        return 0.0
    value = law.get("mean", law.get("value", 1.0))
    return float(value) if isinstance(value, (int, float)) else 1.0


def _utilization(system: System, config: Mapping[str, Value]) -> float | None:
    forecast = forecast_at(system, config)
    if forecast is None:
        return None
    if forecast.overload:
        return 1.0
    shares = [
        value
        for name, value in forecast.values.items()
        if name.startswith("station.") and name.endswith(".utilization")
    ]
    return max(shares) if shares else None


def visits_in(rows: Iterable[ReplicationRow], places: Mapping[str, int]) -> int:
    """Return how often a study came back to a point: groups that other points separate.

    Parameters
    ----------
    rows
        Replications of the point.
    places
        Place of each measured replication in the order of time, from 0, by its start.
    """
    own = {places[row.started_at] for row in rows if row.started_at in places}
    return sum(place - 1 not in own for place in own)


def repairman(clients: int, think_s: float, service_s: float, servers: int) -> float:
    """Return the throughput of clients who think and share servers with one queue.

    Examples
    --------
    >>> round(repairman(20, 1.0, 0.05, 1), 4), repairman(5, 0.0, 0.5, 2)
    (16.8222, 4.0)
    """
    if think_s <= 0.0:
        return min(clients, servers) / service_s
    jobs = np.arange(1, clients + 1)
    busy = np.minimum(jobs, servers)
    steps = np.log((clients - jobs + 1) / think_s) + np.log(service_s / busy)
    weights = np.concatenate([[0.0], np.cumsum(steps)])
    shares = np.exp(weights - weights.max())
    return float(shares[1:] @ busy / shares.sum() / service_s)
