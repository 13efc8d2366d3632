"""The station whose downtime makes jobs wait, though no part of the system is full.

The utilization is that of the time up, so a station that is down for two thirds of the time may be
half busy: it limits no throughput. But jobs wait for its repair. By Little's law the share of the
response time that they spend there is the number present over that in the whole system.

Invariant: a station is named only if it is down for a time that shows, and holds most of the
response.
"""

from collections.abc import Mapping
from dataclasses import dataclass

LEAST_DOWN = 0.01
"""Share of the time from which downtime is named."""
MOST_HELD = 0.5
"""Share of the response time from which a station that is down hinders more than all others."""
_DOWN = ".down_ratio"


@dataclass(frozen=True, slots=True)
class Downtime:
    """A station, the share of the time in which it is down, and that of the response it holds."""

    name: str
    down: float
    held: float


def downtime_of(values: Mapping[str, float]) -> Downtime | None:
    """Return the station whose downtime hinders most; None if none does.

    Parameters
    ----------
    values
        Metrics of a point.

    Examples
    --------
    >>> downtime_of({"station.disk.down_ratio": 0.66, "station.disk.jobs_mean": 97.0,
    ...     "station.web.jobs_mean": 3.0, "jobs_mean": 100.0})
    Downtime(name='disk', down=0.66, held=0.97)
    >>> downtime_of({"station.disk.down_ratio": 0.66, "station.disk.jobs_mean": 3.0,
    ...     "jobs_mean": 100.0})
    """
    jobs = values.get("jobs_mean", 0.0)
    found = [
        Downtime(name, down, values.get(f"station.{name}.jobs_mean", 0.0) / jobs)
        for metric, down in values.items()
        if metric.endswith(_DOWN) and down >= LEAST_DOWN and jobs > 0.0
        for name in [metric.removeprefix("station.").removesuffix(_DOWN)]
    ]
    hindering = [one for one in found if one.held >= MOST_HELD]
    return max(hindering, key=lambda one: one.held * one.down, default=None)
