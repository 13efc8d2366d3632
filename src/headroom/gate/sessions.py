"""Sessions of a study in its journal: what was measured together, and how far sessions differ.

A session ends where `run --fresh` marked the journal, or where the code or its commit changed.
Sessions of one fingerprint measured the same thing at different times: they show what the machine
does in between, which the runs of one session cannot.

Invariant: only rows of the machine that measured last count.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headroom.analysis.results import Estimate, ExperimentResult, PointResult
from headroom.experiment.journal.journal import Journal, ReplicationRow
from headroom.experiment.machine.machine_identity import Machine
from headroom.experiment.runner.fresh import fresh_experiments
from headroom.gate.result import Noise, Row
from headroom.gate.threshold import detectable

OTHER_MACHINE = "of another machine"


@dataclass(frozen=True, slots=True)
class Session:
    """Successful replications of one point that were measured together."""

    fingerprint: str
    commit: str
    rows: Sequence[ReplicationRow]

    @property
    def started_at(self) -> str:
        """When it began."""
        return min(row.started_at for row in self.rows)


def sessions_of(
    journal: Journal, experiment: str, key: str, *, left_out: Counter[str]
) -> Iterator[Session]:
    """Yield the sessions of a point, the oldest first; `left_out` counts those of other machines.

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
    here = Machine.of(environments[known[-1].environment])
    marks = [
        number for number, facts in environments.items() if experiment in fresh_experiments(facts)
    ]
    groups: dict[tuple[int, str, str, str], list[ReplicationRow]] = {}
    for row in known:
        facts = environments[row.environment]
        generation = sum(mark < row.environment for mark in marks)
        gap = here.difference(Machine.of(facts))
        groups.setdefault((generation, row.fingerprint, commit_in(facts), gap), []).append(row)
    for (_, fingerprint, commit, gap), group in groups.items():
        if gap:
            left_out[OTHER_MACHINE] += 1
        else:
            yield Session(fingerprint, commit, group)


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
    for one in sessions_of(journal, experiment, key, left_out=Counter()):
        values = [
            row.run.values[metric] for row in one.rows if row.run and metric in row.run.values
        ]
        if values:
            by_code.setdefault(one.fingerprint, []).append(float(np.median(values)))
    medians = max(by_code.values(), key=len, default=[])
    return medians if min(medians, default=0.0) > 0.0 else []
