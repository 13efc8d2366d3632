"""The last part of a run, by which it is judged: its statistics without the start."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from headroom.simulation import SimulationResult, Table

KEPT_SHARE = 0.75
"""Share of a run that counts, from its end."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The part of a run from one snapshot to its end.

    Examples
    --------
    >>> from headroom.simulation import simulate
    >>> from headroom.systems.transactions import machine_model
    >>> tail = Tail.of(simulate(machine_model("spax")(transactions_per_terminal=2), seed=1))
    >>> tail.throughput > 0, 0 < tail.utilization("processor") < 1
    (True, True)
    """

    result: SimulationResult
    first: int

    @classmethod
    def of(cls, result: SimulationResult, *, kept_share: float = KEPT_SHARE) -> Self:
        """Return the last `kept_share` (0 to 1] of a run, from a snapshot on."""
        times_s = result.snapshot_times_s
        first = int(np.searchsorted(times_s, (1 - kept_share) * times_s[-1]))
        return cls(result, first)

    @property
    def time_s(self) -> float:
        """How long it is (s)."""
        times_s = self.result.snapshot_times_s
        return float(times_s[-1] - times_s[self.first])

    def gain(self, table: Table, name: str, column: str) -> float:
        """Return the growth of a counter; 0 for a row that the run does not have."""
        if name not in table.names:
            return 0.0
        values = table.columns[column][:, table.names.index(name)]
        return float(values[-1] - values[self.first])

    def total(self, column: str) -> float:
        """Return the growth of a counter of all classes together."""
        classes = self.result.classes
        return sum(self.gain(classes, name, column) for name in classes.names)

    @property
    def throughput(self) -> float:
        """Transactions a second."""
        return self.total("completion_count") / self.time_s

    @property
    def response_s(self) -> float:
        """Mean response time (s)."""
        return self.total("response_s_sum") / self.total("completion_count")

    def utilization(self, row: str) -> float:
        """Return the share of the servers of a row of stations that were at work."""
        stations = self.result.stations
        servers = float(stations.capacity[stations.names.index(row)])
        return self.gain(stations, row, "busy_s") / self.time_s / servers

    def queue_len(self, row: str) -> float:
        """Return how many waited at a row of stations or pools, on average."""
        result = self.result
        table = result.pools if row in result.pools.names else result.stations
        return self.gain(table, row, "queue_s") / self.time_s
