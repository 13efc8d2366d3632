"""Which rows of the journal count for a point of a plan, and why the others do not.

A row counts when experiment, point key, replication, seed and fingerprint agree; a measurement
also only on the machine in question. Rows that do not count stay in the journal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headroom.experiment.design import Plan, PlannedExperiment, Point
from headroom.experiment.environment import machine_of
from headroom.experiment.journal import Journal, ReplicationRow
from headroom.experiment.system import Column

OTHER_VERSION = "of other settings, or an earlier version of the study"
OTHER_SEED = "of another study seed"
OTHER_MACHINE = "measured on another machine"
BEYOND_PLAN = "beyond the planned number of replications"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """What a row must agree with.

    Parameters
    ----------
    seed
        Study seed of the plan.
    machines
        Number of an environment to the machine it describes, see `environment.machine_of`.
    machine
        The machine whose measurements count; None where the column is simulated.
    """

    seed: int
    machines: Mapping[int, str]
    machine: str | None

    def reason_against(
        self, row: ReplicationRow, experiment: PlannedExperiment, point: Point
    ) -> str | None:
        """Return why a row does not count for a point, None where it does."""
        if row.fingerprint != point.fingerprint:
            return OTHER_VERSION
        if row.seed != point.seed(self.seed, row.replication):
            return OTHER_SEED
        if row.replication >= experiment.most_replications:
            return BEYOND_PLAN
        if self.machine is not None and self.machines.get(row.environment) != self.machine:
            return OTHER_MACHINE
        return None


def criteria_for_analysis(plan: Plan, journal: Journal, experiment: PlannedExperiment) -> Criteria:
    """Return the criteria of a reader, who may sit at another machine than the measured one.

    Measurements of one experiment come from one machine: that of its newest row.
    """
    machines = machines_of(journal.environments())
    machine = None
    if experiment.system.column is Column.MEASURE:
        machine = machines.get(journal.newest_environment(experiment.spec.name), "")
    return Criteria(seed=plan.seed, machines=machines, machine=machine)


def machines_of(environments: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Return the machine of each environment."""
    known = {int(facts["id"]): machine_of(facts) for facts in environments}
    return {0: "", **known}


def select_rows(
    rows: Iterable[ReplicationRow],
    *,
    criteria: Criteria,
    experiment: PlannedExperiment,
    point: Point,
) -> list[ReplicationRow]:
    """Return one row per replication that counts, in the order of replications.

    A finished row wins over a failed one; of failed rows the newest counts.

    Parameters
    ----------
    rows
        Rows of the point, oldest first.
    criteria
        What they must agree with, see `criteria_for_analysis`.
    experiment, point
        The point they are for.
    """
    chosen: dict[int, ReplicationRow] = {}
    for row in rows:
        if criteria.reason_against(row, experiment, point) is not None:
            continue
        older = chosen.get(row.replication)
        if older is None or older.state == "failed":
            chosen[row.replication] = row
    return [chosen[number] for number in sorted(chosen)]


class Selection:
    """The rows of a journal that count for a plan; what an analysis reads.

    Parameters
    ----------
    plan, journal
        The plan, and the journal opened for reading or writing.
    """

    def __init__(self, plan: Plan, journal: Journal) -> None:
        self._plan = plan
        self._journal = journal
        self._criteria: dict[str, Criteria] = {}

    def rows(self, experiment: PlannedExperiment, point: Point) -> list[ReplicationRow]:
        """Return the rows that count for one point, runs included, in order of replications."""
        criteria = self._criteria.get(point.experiment)
        if criteria is None:
            criteria = criteria_for_analysis(self._plan, self._journal, experiment)
            self._criteria[point.experiment] = criteria
        rows = self._journal.rows(point.experiment, point.key)
        return select_rows(rows, criteria=criteria, experiment=experiment, point=point)

    def heads(self, experiment: PlannedExperiment) -> list[ReplicationRow]:
        """Return all rows of an experiment without their runs, whether they count or not."""
        return list(self._journal.heads(experiment.spec.name))
