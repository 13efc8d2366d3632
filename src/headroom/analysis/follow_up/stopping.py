"""When a point has enough replications: the stopping rule of the runner.

Replications are added until the 95% interval of the metric is narrow enough: its half-width h
satisfies h / |value| <= g / (1 + g) for the requested relative half-width g. This keeps the true
relative error below g. The rule checks only at numbers of replications that grow by half from one
check to the next, because checking after every replication lowers the coverage of the interval.

Invariant: the answer depends on the replications alone, in their order, so a killed and resumed
study stops where an undisturbed one does.

Sources: Law, *Simulation Modeling and Analysis* (2015), section 9.4.1; Chow and Robbins, *On the
Asymptotic Theory of Fixed-Width Sequential Confidence Intervals* (1965).
"""

import math
from collections.abc import Iterator, Sequence

from headroom.analysis.point import summarise
from headroom.experiment.journal.journal import ReplicationRow
from headroom.experiment.protocol.run import Run
from headroom.experiment.study.plan import PlannedExperiment, Point

GROWTH = 1.5
"""Each look comes after half as many replications again."""


class IntervalRule:
    """The stopping rule of `headroom run`; see `headroom.experiment.runner.runner.StoppingRule`.

    One instance serves one session: it remembers what each look at a point found.
    """

    def __init__(self) -> None:
        self._looked: dict[tuple[str, str, int], bool] = {}

    def needs_more(self, experiment: PlannedExperiment, point: Point, runs: Sequence[Run]) -> bool:
        """Return whether a point needs another replication.

        Parameters
        ----------
        experiment, point
            The point.
        runs
            Its finished replications, in their order.
        """
        rule = experiment.spec.replications
        if rule.count is not None:
            return len(runs) < rule.count
        return len(runs) < rule.maximum and not any(
            self._was_narrow(experiment, point, runs[:look])
            for look in looks(minimum=rule.minimum, maximum=rule.maximum)
            if look <= len(runs)
        )

    def next_look(self, experiment: PlannedExperiment, count: int) -> int:
        """Return the number of replications, above `count`, at which the rule looks next.

        Parameters
        ----------
        experiment
            The experiment.
        count
            Finished replications of a point, >= 0; from the maximum on it is one more.
        """
        rule = experiment.spec.replications
        if rule.count is not None:
            return max(rule.count, count + 1)
        ahead = looks(minimum=rule.minimum, maximum=rule.maximum)
        return next((look for look in ahead if look > count), count + 1)

    def _was_narrow(self, experiment: PlannedExperiment, point: Point, runs: Sequence[Run]) -> bool:
        key = (point.experiment, point.key, len(runs))
        if key not in self._looked:
            self._looked[key] = _is_narrow(experiment, runs)
        return self._looked[key]


def looks(*, minimum: int, maximum: int) -> Iterator[int]:
    """Yield the numbers of replications after which the rule looks.

    Examples
    --------
    >>> list(looks(minimum=5, maximum=30))
    [5, 8, 12, 18, 27, 30]
    """
    look = minimum
    while look < maximum:
        yield look
        look = max(look + 1, math.ceil(look * GROWTH))
    yield maximum


def is_precise(experiment: PlannedExperiment, runs: Sequence[Run]) -> bool:
    """Return whether the interval was narrow enough at any look so far."""
    rule = experiment.spec.replications
    return any(
        _is_narrow(experiment, runs[:look])
        for look in looks(minimum=rule.minimum, maximum=rule.maximum)
        if look <= len(runs)
    )


def planned_replications(
    experiment: PlannedExperiment, point: Point, rows: Sequence[ReplicationRow]
) -> tuple[int, bool | None]:
    """Return how many replications a point needs in all, as far as that is known now.

    Parameters
    ----------
    experiment, point, rows
        The experiment, the point, and its replications that count.

    Returns
    -------
    tuple
        The number, and whether the stopping rule was satisfied; None if replications are fixed.
    """
    if experiment.spec.replications.count is not None:
        return experiment.replications_at(point), None
    found = len(rows)
    if is_precise(experiment, [row.run for row in rows if row.run is not None]):
        return found, True
    least = max(found + 1, experiment.first_replications)
    return min(least, experiment.most_replications), False


def _is_narrow(experiment: PlannedExperiment, runs: Sequence[Run]) -> bool:
    rule = experiment.spec.replications
    if rule.metric is None or rule.half_width is None:
        return True
    summary = summarise(experiment, runs)
    sample = summary.samples.get(rule.metric)
    if sample is None:
        return summary.saturation is not None  # More runs of what has no bound tell nothing.
    found = sample.interval().relative_half_width()
    return found is not None and found <= rule.half_width / (1.0 + rule.half_width)
