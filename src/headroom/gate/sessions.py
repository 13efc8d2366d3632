"""Sessions of a study in its journal: what was measured together, and how far sessions differ.

A session ends where `run --fresh` marked the journal, or where the code or its commit changed.
Sessions of one fingerprint measured the same thing at different times: they show what the machine
does in between, which the runs of one session cannot.

Invariant: the sessions of one series are of one machine; that which measured last is number 0.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.machine.machine_identity import Machine
from headroom.experiment.runner.fresh import fresh_experiments
from headroom.gate.result import Noise, Row
from headroom.gate.sight import detectable

_TABLES = ("host", "cpu", "memory", "storage", "software")
_FLEETING = ("name", "machine_id", "available_bytes", "free_bytes", "_mhz", "_ghz", "boot_id")
"""Ends of the names of facts that change by themselves, or are the machine's identity."""


class Machines:
    """The machines of a history, numbered; the first is the one that measured last."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._known = [Machine.of(facts)]

    def number(self, facts: Mapping[str, Any]) -> int:
        """Return the number of the machine that an environment describes."""
        machine = Machine.of(facts)
        for number, known in enumerate(self._known):
            if not known.difference(machine):
                return number
        self._known.append(machine)
        return len(self._known) - 1

    def differences(self) -> dict[str, str]:
        """Return for each other machine its name and how it differs from the first."""
        here, *others = self._known
        return {machine_name(n): here.difference(one) for n, one in enumerate(others, start=1)}


def machine_name(number: int) -> str:
    """Return the name of a machine: empty for the first."""
    return f"machine {number + 1}" if number else ""


def changed_facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return which lasting facts of two environments differ.

    Examples
    --------
    >>> old, new = ({"host": {"kernel": name}, "software": {"python": "3"}} for name in "ab")
    >>> changed_facts(old, new)
    ['kernel a → b']
    """
    old, new = (dict(_lasting(facts)) for facts in (before, after))
    return [
        f"{name} {old[name]} → {value}"
        for name, value in new.items()
        if name in old and old[name] != value
    ]


def _lasting(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and value of the facts that stay until somebody changes something."""
    for table in _TABLES:
        for key, value in facts.get(table, {}).items():
            if isinstance(value, Mapping):
                yield from ((f"{key} {name}".replace("_", " "), str(one)) for name, one in
                            value.items() if not name.endswith(_FLEETING))  # fmt: skip
            elif not isinstance(value, list) and not key.endswith(_FLEETING):
                yield key.replace("_", " "), str(value)


@dataclass(frozen=True, slots=True)
class Session:
    """Successful replications of one point that were measured together."""

    fingerprint: str
    commit: str
    rows: Sequence[ReplicationRow]
    facts: Mapping[str, Any]

    @property
    def started_at(self) -> str:
        """When it began."""
        return min(row.started_at for row in self.rows)


def sessions_of(journal: Journal, experiment: str, key: str) -> Iterator[Session]:
    """Yield the sessions of a point, the oldest first, those of other machines too.

    Parameters
    ----------
    experiment, key
        Name of the experiment, and key of the point.
    """
    environments = {int(facts["id"]): facts for facts in journal.environments()}
    rows = [row for row in journal.rows(experiment, key) if row.state == "done"]
    known = [row for row in rows if row.environment in environments]
    if not known:
        return
    marks = [
        number for number, facts in environments.items() if experiment in fresh_experiments(facts)
    ]
    machines = Machines(environments[known[-1].environment])
    groups: dict[tuple[int, str, str, int], list[ReplicationRow]] = {}
    for row in known:
        facts = environments[row.environment]
        generation = sum(mark < row.environment for mark in marks)
        name = (generation, row.fingerprint, commit_in(facts), machines.number(facts))
        groups.setdefault(name, []).append(row)
    for (_, fingerprint, commit, _), group in groups.items():
        yield Session(fingerprint, commit, group, environments[group[0].environment])


def commit_in(facts: Mapping[str, Any]) -> str:
    """Return the commit of an environment, empty if it is unknown."""
    return str(facts.get("repository", {}).get("commit", ""))


def noise_of_point(
    row: Row, point: PointResult, experiment: ExperimentResult, journal: Journal | None
) -> Noise:
    """Return the noise of the machine in one metric, as far as a saved result shows it.

    Parameters
    ----------
    row
        The row that compares the metric.
    point, experiment
        The point of the base.
    journal
        The journal that the base comes from; None if it is not there.
    """
    estimate = point.estimates.get(row.metric)
    scatter = None if estimate is None else _scatter(estimate)
    medians = [] if journal is None else _medians(journal, experiment.name, point.key, row.metric)
    return Noise(
        experiment=row.experiment,
        levels=row.levels,
        metric=row.metric,
        ratio=None,
        low=None,
        high=None,
        scatter=scatter,
        detectable=None if scatter is None else detectable(scatter, row.count),
        sessions=max(len(medians), 1),
        between=max(medians) / min(medians) - 1.0 if len(medians) > 1 else None,
    )


def _scatter(estimate: Estimate) -> float | None:
    """Return the standard deviation of the logarithm of one run, from its coefficient."""
    if estimate.count < 2 or estimate.minimum <= 0.0:  # noqa: PLR2004 - one run has no scatter
        return None
    return math.sqrt(math.log1p((estimate.stdev / estimate.mean) ** 2))


def _medians(journal: Journal, experiment: str, key: str, metric: str) -> list[float]:
    """Return the median of each session of the code that was measured most often."""
    by_code: dict[str, list[float]] = {}
    sessions = list(sessions_of(journal, experiment, key))
    newest = max(sessions, key=lambda one: one.rows[-1].environment, default=None)
    machines = Machines(newest.facts if newest else {})
    for one in (one for one in sessions if not machines.number(one.facts)):
        values = [
            row.run.values[metric] for row in one.rows if row.run and metric in row.run.values
        ]
        if values:
            by_code.setdefault(one.fingerprint, []).append(float(np.median(values)))
    medians = max(by_code.values(), key=len, default=[])
    return medians if min(medians, default=0.0) > 0.0 else []
