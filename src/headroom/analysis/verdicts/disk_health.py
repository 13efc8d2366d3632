"""Health of the measured disk before and after an experiment, as recorded by its runs.

Invariant: the runs are in the order in which they were carried out.
"""

from collections.abc import Sequence

from headroom.analysis.results import DiskFigure
from headroom.experiment.journal.journal_rows import ReplicationRow
from headroom.experiment.machine.machine_watch import HEALTH_AFTER, HEALTH_BEFORE


def disk_health_of(rows: Sequence[ReplicationRow]) -> dict[str, DiskFigure]:
    """Return each figure before the first run, after the last one, and at most.

    Parameters
    ----------
    rows
        Finished replications of a point.
    """
    counters = [row.run.counters for row in rows if row.run is not None]
    names = {
        name.removeprefix(HEALTH_BEFORE): None
        for counter in counters
        for name in counter
        if name.startswith(HEALTH_BEFORE)
    }
    found = {}
    for name in names:
        keys = (HEALTH_BEFORE + name, HEALTH_AFTER + name)
        values = [counter[key] for counter in counters for key in keys if key in counter]
        found[name] = DiskFigure(first=values[0], last=values[-1], highest=max(values))
    return found
