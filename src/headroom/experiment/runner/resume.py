"""Rows of earlier sessions in the journal, and which of them still count.

Rows that do not count stay in the journal; a survey reports how many and why.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.selection import Criteria
from headroom.experiment.runner.what_if import is_what_if
from headroom.experiment.study.plan import Plan, PlannedExperiment

OF_NO_POINT = "of no point of the plan (an experiment or a level was renamed or left out)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The rows that the journal holds for a plan.

    Parameters
    ----------
    done
        Point key to the replications that are finished and count.
    kept
        Reason to number of finished replications that do not count and will be run again.
    failed_count
        Replications whose last attempt failed; they will be tried again.
    unreadable_count
        Replications whose stored run is damaged; they will be run again.
    damaged_count
        Rows of which even the replication is unknown.
    """

    done: Mapping[str, frozenset[int]]
    kept: Mapping[str, int] = field(default_factory=dict)
    failed_count: int = 0
    unreadable_count: int = 0
    damaged_count: int = 0

    @property
    def reused_count(self) -> int:
        """Replications that need not be run again."""
        return sum(len(numbers) for numbers in self.done.values())

    def notes(self) -> tuple[str, ...]:
        """Return notes for the user, one sentence each."""
        sentences = []
        if self.reused_count:
            sentences.append(f"{_count(self.reused_count)} of earlier runs reused")
        if self.failed_count:
            sentences.append(f"{_count(self.failed_count)} failed before and tried again")
        if self.unreadable_count:
            they = "it" if self.unreadable_count == 1 else "they"
            sentences.append(
                f"{_count(self.unreadable_count)} unreadable, {they} will be run again"
            )
        if self.damaged_count:
            rows = (
                "1 damaged row" if self.damaged_count == 1 else f"{self.damaged_count} damaged rows"
            )
            sentences.append(f"{rows} of the journal skipped: what is missing will be run again")
        sentences += [
            f"{_count(number)} kept, not reused: {reason}"
            for reason, number in sorted(self.kept.items())
        ]
        return tuple(sentences)


def survey(plan: Plan, journal: Journal, criteria: Mapping[str, Criteria]) -> Survey:
    """Read the journal once and return what counts for the plan."""
    parts = [
        _survey_one(experiment, journal, criteria[experiment.spec.name])
        for experiment in plan.experiments
    ]
    kept: Counter[str] = Counter()
    for part in parts:
        kept.update(part.kept)
    strangers = _of_unknown_experiments(plan, journal)
    if strangers:
        kept[OF_NO_POINT] += strangers
    return Survey(
        done={key: numbers for surveyed in parts for key, numbers in surveyed.done.items()},
        kept=dict(kept),
        failed_count=sum(surveyed.failed_count for surveyed in parts),
        unreadable_count=sum(surveyed.unreadable_count for surveyed in parts),
        damaged_count=journal.headless_count,
    )


def _of_unknown_experiments(plan: Plan, journal: Journal) -> int:
    """Return how many finished replications belong to experiments that the study does not name."""
    known = {experiment.name for experiment in plan.study.experiments}
    return sum(
        count
        for name, count in journal.finished_counts().items()
        if name not in known and not is_what_if(name)
    )


def _survey_one(experiment: PlannedExperiment, journal: Journal, criteria: Criteria) -> Survey:
    points = {point.key: point for point in experiment.points}
    done: dict[str, set[int]] = defaultdict(set)
    failed: set[tuple[str, int]] = set()
    refused: dict[tuple[str, int], str] = {}
    unreadable: set[tuple[str, int]] = set()
    for row in journal.heads(experiment.spec.name):
        point = points.get(row.point_key)
        if point is None and is_what_if(experiment.spec.name):
            continue  # Changes come and go with the questions asked.
        place = (row.point_key, row.replication)
        reason = criteria.reason_against(row, experiment, point) if point else OF_NO_POINT
        if reason is None and not row.is_readable:
            unreadable.add(place)
        elif reason is None and row.state == "done":
            done[row.point_key].add(row.replication)
        elif reason is None:
            failed.add(place)
        elif reason is not None and row.state == "done":
            refused[place] = reason
    return Survey(
        done={key: frozenset(numbers) for key, numbers in done.items()},
        kept=Counter(reason for _, reason in _open(refused.items(), done)),
        failed_count=_open_count(failed, done),
        unreadable_count=_open_count(unreadable, done),
    )


def _open(
    places: Iterable[tuple[tuple[str, int], str]], done: Mapping[str, set[int]]
) -> Iterable[tuple[tuple[str, int], str]]:
    """Yield the replications that no other row has finished."""
    for place, reason in places:
        key, number = place
        if number not in done.get(key, ()):
            yield place, reason


def _open_count(places: Iterable[tuple[str, int]], done: Mapping[str, set[int]]) -> int:
    return sum(1 for _ in _open(((place, "") for place in places), done))


def _count(number: int) -> str:
    return f"{number} replication{'' if number == 1 else 's'}"
