"""Select the rows of the journal that count for a point of a plan, with reasons for the rest.

The same rule decides which points run and which rows are shown: a row counts if experiment, point
key, replication, seed and fingerprint agree. A measurement must also come from the machine in
question, must have found the present contents there, and must not be older than the last
`run --fresh`. The machine in question is normally this one, or the experiment's host. Only if no
session ever measured the experiment here, for example after copying results to a reader's machine,
or if the host was not asked, it is the machine of the newest measurement, with the contents of that
time.

Rows that do not count stay in the journal.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.journal.journal_rows import StoredRow, head_of
from headroom.experiment.machine import machine_identity
from headroom.experiment.machine.machine_identity import Machine
from headroom.experiment.protocol.system import Column, Located
from headroom.experiment.runner.fresh import fresh_experiments
from headroom.experiment.runner.seen_inputs import OTHER_THING, verdicts
from headroom.experiment.study.design import Plan, PlannedExperiment, Point

OTHER_VERSION = "of other settings, or an earlier version of the study"
OTHER_SEED = "of another study seed"
OTHER_MACHINE = "measured on another machine"
OLDER = "measured before the last --fresh"
PLACES = "places"
"""Key of an environment that holds, by point key, what was at the point's place."""
PREPARED = "facts"
"""Key of an environment that holds, for each experiment that had work, its preparation."""
WORKED_ON = "experiments"
"""Key of an environment under which it has the names of the experiments that had work."""
BEYOND_PLAN = "beyond the planned number of replications"


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria that a row must match.

    Parameters
    ----------
    seed
        Study seed of the plan.
    refused
        Number of an environment to the reason why none of its rows count.
    is_measured
        True if a row needs a known environment.
    elsewhere
        How the machine in question differs from this one; empty if it is this one.
    known
        Numbers of the environments that are known.
    places
        Number of an environment to what was at the places of its points, see `system.Located`.
    here
        What is there now, by point key: only its measurements count; a point without it takes any.
    unseen
        Why no row of an environment and a point counts, because of what was seen of its runs.
    holding
        What was seen of a run and still holds, by point key.
    """

    seed: int
    refused: Mapping[int, str] = field(default_factory=dict)
    is_measured: bool = False
    elsewhere: str = ""
    known: frozenset[int] = frozenset()
    places: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    here: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[tuple[int, str], str] = field(default_factory=dict)
    holding: Mapping[str, str] = field(default_factory=dict)

    def described(self) -> list[Any]:
        """Return all that rows are compared with, as plain content in one order."""
        places = sorted((number, sorted(by_key.items())) for number, by_key in self.places.items())
        refused, known = sorted(self.refused.items()), sorted(self.known)
        here = sorted(self.here.items())
        unseen = sorted(self.unseen.items())
        return [self.seed, self.is_measured, refused, known, places, here, unseen]

    def reason_against(
        self, row: ReplicationRow, experiment: PlannedExperiment, point: Point
    ) -> str | None:
        """Return why a row does not count for a point, None if it does."""
        if row.fingerprint != point.fingerprint:
            return OTHER_VERSION
        if row.seed != point.seed(self.seed, row.replication):
            return OTHER_SEED
        if row.replication >= experiment.most_replications:
            return BEYOND_PLAN
        if not self.is_measured:
            return None
        if row.environment not in self.known:
            return OTHER_MACHINE
        reason = self.refused.get(row.environment) or self._other_thing(row, point)
        return reason or self.unseen.get((row.environment, point.key))

    def _other_thing(self, row: ReplicationRow, point: Point) -> str | None:
        there = self.places.get(row.environment, {}).get(point.key)
        here = self.here.get(point.key, there)
        if not there or here is None or there == here:
            return None
        names = differing_names(there, here)
        return f"{OTHER_THING} ({names})" if names else OTHER_THING


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A machine that is about to measure, and what is at the places of its points."""

    machine: Machine
    places: Mapping[str, str]


def criteria_of_run(plan: Plan, journal: Journal, sites: Mapping[str, Site]) -> dict[str, Criteria]:
    """Return the criteria for reusing a stored row of each experiment at its host's site."""
    environments = journal.environments()
    return {
        one.spec.name: criteria_of(plan, journal, one, environments, site=sites.get(one.spec.site))
        for one in plan.experiments
    }


def criteria_of(
    plan: Plan,
    journal: Journal,
    experiment: PlannedExperiment,
    environments: Iterable[Mapping[str, Any]],
    *,
    site: Site | None = None,
) -> Criteria:
    """Return the criteria for reusing a stored row of one experiment.

    Parameters
    ----------
    plan, journal, experiment
        The experiment, its plan and its journal.
    environments
        The sessions of the journal.
    site
        Where the experiment is about to be run: that is the machine in question then, whatever was
        measured before.
    """
    if experiment.system.column is not Column.MEASURE:
        return Criteria(seed=plan.seed)
    known = {int(facts["id"]): facts for facts in environments}
    machines = {number: Machine.of(facts) for number, facts in known.items()}
    places = places_of(known.values())
    name, here = experiment.spec.name, machine_identity.machine_here()
    is_run = site is not None
    sessions = [machines[number] for number, facts in known.items() if _has_worked(facts, name)]
    newest = journal.newest_environment(name)
    is_here = newest not in machines or (
        not experiment.spec.site and any(not here.difference(session) for session in sessions)
    )
    if site is None and is_here:
        site = Site(machine=here, places=places_now([experiment]))
    elif site is None:
        site = Site(machine=machines[newest], places=places.get(newest, {}))
    machine = site.machine
    seen = verdicts(
        experiment,
        known.values(),
        is_here=not experiment.spec.site and not here.difference(machine),
        is_run=is_run,
    )
    fresh = (number for number, facts in known.items() if name in fresh_experiments(facts))
    is_marked_here = bool(experiment.spec.site)  # the mark is the driver's, not the host's
    since = max(
        (one for one in fresh if is_marked_here or not machine.difference(machines[one])), default=0
    )
    return Criteria(
        seed=plan.seed,
        is_measured=True,
        known=frozenset(known),
        refused=_refused(machines, machine, since=since),
        elsewhere="" if experiment.spec.site else here.difference(machine),
        places=places,
        here=site.places,
        unseen=seen.refused,
        holding=seen.holding,
    )


def _has_worked(facts: Mapping[str, Any], experiment: str) -> bool:
    """Return whether a session had replications of an experiment to run.

    Older sessions did not store that; they prepared every experiment that could run.
    """
    return experiment in facts.get(WORKED_ON, facts.get(PREPARED, ()))


def _refused(machines: Mapping[int, Machine], machine: Machine, *, since: int) -> dict[int, str]:
    """Return the environments of which no row counts, with the reason."""
    reasons = {}
    for number, other in machines.items():
        if difference := machine.difference(other):
            reasons[number] = f"{OTHER_MACHINE} ({difference})"
        elif number < since:
            reasons[number] = OLDER
    return reasons


def differing_names(there: str, here: str) -> str:
    """Return the names of what differs between two texts of ``NAME=HASH`` words, as one text.

    Examples
    --------
    >>> differing_names("sort=1a awk=2b", "sort=1a awk=3c")
    'awk'
    """
    before, now = (
        dict(word.rpartition("=")[::2] for word in text.split()) for text in (there, here)
    )
    names = [name for name in {**before, **now} if before.get(name) != now.get(name) and name]
    return ", ".join(sorted(names))


def places_of(environments: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, str]]:
    """Return what was at the place of each point, from the environments that know."""
    return {int(facts["id"]): facts[PLACES] for facts in environments if facts.get(PLACES)}


def places_now(experiments: Iterable[PlannedExperiment]) -> dict[str, str]:
    """Return what is at the place of each point that has one, by its key."""
    by_key = {
        point.key: experiment.system.found_at(point.config)
        for experiment in experiments
        if isinstance(experiment.system, Located)
        for point in experiment.points
    }
    return {key: thing for key, thing in by_key.items() if thing}


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
        The criteria that they must match, see `criteria_of`.
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
        self._environments = journal.environments()
        self._order: dict[str, str] | None = None

    def rows(self, experiment: PlannedExperiment, point: Point) -> list[ReplicationRow]:
        """Return the rows that count for one point, runs included, in order of replications."""
        return self.chosen(self._journal.stored(point.experiment, point.key), experiment, point)

    def chosen(
        self, stored: Iterable[StoredRow], experiment: PlannedExperiment, point: Point
    ) -> list[ReplicationRow]:
        """Return the rows that count of all stored ones of a point, with their runs."""
        return select_rows(
            self._journal.decoded(stored),
            criteria=self.criteria(experiment),
            experiment=experiment,
            point=point,
        )

    def identity(
        self, stored: Iterable[StoredRow], experiment: PlannedExperiment, point: Point
    ) -> bytes:
        """Return a hash of everything that `chosen` makes its rows from."""
        criteria = self.criteria(experiment)
        digest = hashlib.blake2b(digest_size=16)
        for row in stored:
            head = head_of(row.values)
            reason = head and criteria.reason_against(head, experiment, point)
            size = None if row.encoded is None else len(row.encoded)
            digest.update(msgspec.msgpack.encode((row.values, head is None, reason, size)))
            digest.update(row.encoded or b"")
        return digest.digest()

    def order(self) -> dict[str, str]:
        """Return the point of each replication of a measured experiment, by its start, in order."""
        if self._order is None:
            starts = [
                (row.started_at, row.point_key)
                for experiment in self._plan.experiments
                if experiment.system.column is Column.MEASURE
                for row in self.heads(experiment)
            ]
            self._order = dict(sorted(starts))
        return self._order

    def heads(self, experiment: PlannedExperiment) -> list[ReplicationRow]:
        """Return the rows of an experiment that count, without their runs, oldest first."""
        points = {point.key: point for point in experiment.points}
        criteria = self.criteria(experiment)
        return [
            row
            for row in self._journal.heads(experiment.spec.name)
            if row.point_key in points
            and criteria.reason_against(row, experiment, points[row.point_key]) is None
        ]

    def criteria(self, experiment: PlannedExperiment) -> Criteria:
        """Return the criteria that the rows of an experiment must match."""
        name = experiment.spec.name
        if name not in self._criteria:
            self._criteria[name] = criteria_of(
                self._plan, self._journal, experiment, self._environments
            )
        return self._criteria[name]
