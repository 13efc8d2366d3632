"""When an experiment was measured, and how many measurements come from earlier sessions.

Results of different days may differ for reasons that no study names, so a report states their age.
Simulations have no age: the same model and seed give the same bits.
"""

from headroom.analysis.results import Measured
from headroom.experiment.protocol.system import Column, Replays
from headroom.experiment.runner.selection import Selection
from headroom.experiment.study.plan import PlannedExperiment


def measured_when(experiment: PlannedExperiment, selection: Selection) -> Measured | None:
    """Return when the replications that count were measured, None if none was."""
    if experiment.system.column is not Column.MEASURE or isinstance(experiment.system, Replays):
        return None
    counted = {
        (row.point_key, row.replication): row
        for row in reversed(selection.heads(experiment))
        if row.state == "done" and row.is_readable
    }
    rows = list(counted.values())
    if not rows:
        return None
    starts = [row.started_at for row in rows]
    last = max(row.environment for row in rows)
    return Measured(
        oldest=min(starts),
        newest=max(starts),
        count=len(rows),
        reused=sum(row.environment < last for row in rows),
    )
