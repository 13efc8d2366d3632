"""Which rows of the journal count for a point of a plan, and why the others do not.

A row counts when experiment, point key, replication, seed and fingerprint agree; a measurement
also only on the machine in question, and of what lies at its place. Rows that do not count stay in
the journal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headroom.experiment.design import Plan, PlannedExperiment, Point
from headroom.experiment.environment import machine_of
from headroom.experiment.journal import Journal, ReplicationRow
from headroom.experiment.system import Column, Located

OTHER_VERSION = "of other settings, or an earlier version of the study"
OTHER_SEED = "of another study seed"
OTHER_MACHINE = "measured on another machine"
OTHER_THING = "measured on another device or file system, at the same place"
PLACES = "places"
"""Key of an environment under which each point's key has what lay at its place."""
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
    places
        Number of an environment to what lay at the places of its points, see `system.Located`.
    here
        What lies there whose measurements count, by point key; a point without it takes any.
    """

    seed: int
    machines: Mapping[int, str]
    machine: str | None
    places: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    here: Mapping[str, str] = field(default_factory=dict)

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
        there = self.places.get(row.environment, {}).get(point.key)
        if there and there != self.here.get(point.key, there):
            return OTHER_THING
        return None


def criteria_for_analysis(plan: Plan, journal: Journal, experiment: PlannedExperiment) -> Criteria:
    """Return the criteria of a reader, who may sit at another machine than the measured one.

    Measurements of one experiment come from one machine, and from what lay at its places then:
    those of its newest row.
    """
    environments = journal.environments()
    machines = machines_of(environments)
    if experiment.system.column is not Column.MEASURE:
        return Criteria(seed=plan.seed, machines=machines, machine=None)
    newest = journal.newest_environment(experiment.spec.name)
    places = places_of(environments)
    return Criteria(
        seed=plan.seed,
        machines=machines,
        machine=machines.get(newest, ""),
        places=places,
        here=places.get(newest, {}),
    )


def machines_of(environments: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Return the machine of each environment."""
    known = {int(facts["id"]): machine_of(facts) for facts in environments}
    return {0: "", **known}


def places_of(environments: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, str]]:
    """Return what lay at the place of each point, of the environments that know."""
    return {int(facts["id"]): facts[PLACES] for facts in environments if facts.get(PLACES)}


def places_now(plan: Plan) -> dict[str, str]:
    """Return what lies at the place of each point that has one, by its key."""
    found = {
        point.key: experiment.system.found_at(point.config)
        for experiment in plan.experiments
        if isinstance(experiment.system, Located)
        for point in experiment.points
    }
    return {key: thing for key, thing in found.items() if thing}


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
