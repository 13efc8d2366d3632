"""The search: sweeps on a table of middle size, then the finalists against each other.

First each layout is swept factor by factor, and the best two are searched around: a configuration
is timed once, on a table that is larger than the caches but no larger than needed for that. The
fastest dozen are timed twice more, since a neighbour may have disturbed one of them; the fastest
run counts. The fastest few are the *finalists*. They are timed in rounds; in each round every
finalist gets a new table, in random order, with a seed that all of them share. Ratios within rounds
are compared by signed ranks. The table of a finalist has all records if the time allows; otherwise
as many as it does allow, which the answer says. Who is surely slower drops out, and stays out.

Invariant: the choice was timed in every round, and so was everything that it is compared with in
some.
"""

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import msgspec
import numpy as np

from headroom.analysis.statistics.intervals import CONFIDENCE, Interval
from headroom.analysis.statistics.signed_ranks import fewest_pairs, signed_rank_interval
from headroom.errors import EnvironmentUnfitError
from headroom.systems.records.advisor.configurations import (
    Configuration,
    Space,
    fits,
    paper_configuration,
)
from headroom.systems.records.advisor.question import Question
from headroom.systems.records.advisor.timing import Effort, Timing, time_mix

ALIKE = 0.02
"""Relative difference that does not matter: configurations within it are alike."""
MOST_ROUNDS = 18
MOST_FINALISTS = 6
_FEWEST_FINALISTS = 2
NEAR = 0.25
"""Configurations that the search saw within this share of the fastest may be finalists."""
_AGAIN = 12
_AGAIN_TIMES = 2
"""Configurations that are timed again before the finalists are chosen, and how often."""
_AGAIN_SHARE = 0.55
_SWEEP_SHARE = 0.45
"""Share of the time that sweeps may take."""
_BUILD_SHARE = 0.7
"""Share of the time of the finalists that making their tables may take."""
_SWEEP = Effort(visits=20_000, rounds=3, batches=(16, 32), aheads=(0, 8))
_FINAL = Effort(visits=20_000, rounds=3)
_QUICK_SWEEP = Effort(visits=5_000, rounds=3, batches=(16, 32), aheads=(0, 8))
_QUICK_FINAL = Effort(visits=10_000, rounds=3)

Timings: TypeAlias = Mapping[Configuration, Timing]
"""A round: what was timed in it."""
Say: TypeAlias = Callable[[str, float], None]
"""Called with what is being done, and the share of the time that is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A finalist against the choice.

    Parameters
    ----------
    configuration, timings
        What was timed, by round.
    ratio
        Its time relative to that of the choice, with an interval.
    """

    configuration: Configuration
    timings: Sequence[Timing]
    ratio: Interval

    @property
    def operation_s(self) -> float:
        """Median time (s) of an operation of the mix."""
        return float(np.median([one.operation_s for one in self.timings]))

    @property
    def batch(self) -> int:
        """Look-ups at once: the fastest in most rounds."""
        return _most_frequent([one.batch for one in self.timings])

    @property
    def ahead(self) -> int:
        """Nodes or records that scans ask for ahead: the fastest in most rounds."""
        return _most_frequent([one.ahead for one in self.timings])

    @property
    def verdict(self) -> str:
        """``slower``, ``alike`` (within `ALIKE`), or ``undecided``."""
        low, high = self.ratio.low, self.ratio.high
        if low is None or high is None:
            return "undecided"
        if high <= 1.0 + ALIKE:
            return "alike"
        return "slower" if low > 1.0 else "undecided"


def _most_frequent(values: Sequence[int]) -> int:
    return max(sorted(set(values)), key=values.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The result of a search.

    Parameters
    ----------
    question, space
        What was asked, and the levels that were searched.
    best
        The choice; its ratio is 1.
    others
        The other finalists, the fastest first.
    paper
        The paper's configuration, one look-up at a time, against the choice.
    seen
        Configurations that were timed, with their fastest timing in the sweeps.
    refused
        Why configurations were not timed, one sentence each.
    sweep_records, final_records
        Records of the tables of the sweeps and of the finalists.
    rounds
        Rounds of the finalists.
    taken_s
        Time (s) of the search.
    """

    question: Question
    space: Space
    best: Compared
    others: Sequence[Compared]
    paper: Compared | None
    seen: Mapping[Configuration, Timing]
    refused: Sequence[str]
    sweep_records: int
    final_records: int
    rounds: int
    taken_s: float

    @property
    def is_clear(self) -> bool:
        """Whether every other finalist is slower, however little."""
        return all(other.verdict == "slower" for other in self.others)


@dataclass(slots=True, kw_only=True)
class Searcher:
    """One search.

    Parameters
    ----------
    question, space
        What is asked, and the levels to search.
    time_s
        Time (s) that the search may take; a round in progress is finished.
    sweep_bytes
        Memory (B) of the records from which a sweep's table is large enough.
    seed
        Orders and places.
    is_quick
        Whether fewer visits and finalists have to do.
    """

    question: Question
    space: Space
    time_s: float
    sweep_bytes: float
    seed: int
    say: Say = lambda _what, _share: None
    is_quick: bool = False
    clock: Callable[[], float] = time.perf_counter
    seen: dict[Configuration, list[Timing]] = field(default_factory=dict)
    refused: dict[Configuration, EnvironmentUnfitError] = field(default_factory=dict)
    """Configurations that there was no memory for when their turn came."""
    _start: float = 0.0

    def search(self) -> Choice:
        """Sweep all structures at a small size, then measure the best at the full size."""
        self._start = self.clock()
        each = self.question.record_bytes + 16
        sweep_records = min(self.question.records, max(int(self.sweep_bytes / each), 1000))
        middle = msgspec.structs.replace(self.question, records=sweep_records)
        self._sweep(middle)
        if not self.seen:
            raise next(iter(self.refused.values()))
        self._sweep_again(middle)
        finalists = self._finalists()
        paper = paper_configuration(self.space, self.question)
        records = self._final_records(middle, len(finalists) + 1)
        rounds = self._rounds(
            msgspec.structs.replace(self.question, records=records), finalists, paper
        )
        best, *others = self._compared(finalists, rounds)
        return Choice(
            question=self.question, space=self.space, best=best, others=others,
            paper=_against_paper(paper, rounds, best.configuration), sweep_records=sweep_records,
            seen={one: min(known, key=_operation_s) for one, known in self.seen.items()},
            refused=[error.message for error in self.refused.values()],
            final_records=records, rounds=len(rounds), taken_s=self.clock() - self._start,
        )  # fmt: skip

    def _is_over(self, share: float) -> bool:
        return self.clock() - self._start > share * self.time_s

    def _time(self, question: Question, configuration: Configuration) -> float:
        """Return the time (s) of an operation in the sweeps; infinite if it cannot be."""
        if configuration in self.refused:
            return math.inf
        if configuration not in self.seen:
            if not fits(question, configuration):
                return math.inf
            try:
                self._time_again(question, configuration)
            except EnvironmentUnfitError as error:
                self.refused[configuration] = error
                return math.inf
        return self._fastest_s(configuration)

    def _time_again(self, question: Question, configuration: Configuration) -> None:
        self.say(str(configuration), self._share_over())
        effort = _QUICK_SWEEP if self.is_quick else _SWEEP
        seed = self.seed + len(self.seen.get(configuration, ()))
        timing = time_mix(question, configuration, effort, seed=seed, clock=self.clock)
        self.seen.setdefault(configuration, []).append(timing)

    def _fastest_s(self, configuration: Configuration) -> float:
        return min(one.operation_s for one in self.seen[configuration])

    def _sweep(self, question: Question) -> None:
        bests = []
        for layout in self.space.layouts:
            best = self.space.start(layout)
            for factor in ("node_bytes", "index_bytes", "pages"):
                options = list(self.space.along(best, factor))
                if self._is_over(_SWEEP_SHARE) and best in self.seen:
                    break
                best = min(options, key=lambda one: self._time(question, one))
            bests.append(best)
        bests.sort(key=lambda one: self._time(question, one))
        for best in bests[:2]:
            for neighbour in self.space.around(best):
                if self._is_over(_SWEEP_SHARE):
                    return
                self._time(question, neighbour)

    def _sweep_again(self, question: Question) -> None:
        for _ in range(_AGAIN_TIMES):
            for one in sorted(self.seen, key=self._fastest_s)[:_AGAIN]:
                if self._is_over(_AGAIN_SHARE):
                    return
                self._time_again(question, one)

    def _finalists(self) -> list[Configuration]:
        """Return the fastest configurations, the fastest first."""
        order = sorted(self.seen, key=self._fastest_s)
        most = self._fastest_s(order[0]) * (1.0 + NEAR)
        near = [one for one in order if self._fastest_s(one) <= most]
        return near[: self._most_finalists()]

    def _most_finalists(self) -> int:
        """Return how many finalists have their rounds in the time that is left, at least two."""
        over_s = self.clock() - self._start
        each_s = over_s / sum(len(known) for known in self.seen.values())
        most = 3 if self.is_quick else MOST_FINALISTS
        while most > _FEWEST_FINALISTS:
            tables = fewest_pairs(_confidence(most)) * (most + 1)
            if tables * each_s <= self.time_s - over_s:
                break
            most -= 1
        return most

    def _final_records(self, swept: Question, tables: int) -> int:
        """Return the records of the finalists' tables: all of them, or as many as time allows."""
        left_s = max(self.time_s - (self.clock() - self._start), 0.0)
        each_s = (
            float(np.median([one.build_s for known in self.seen.values() for one in known]))
            / swept.records
        )
        rounds = fewest_pairs(_confidence(tables - 1))
        possible = int(_BUILD_SHARE * left_s / (rounds * tables * each_s))
        return max(min(self.question.records, possible), swept.records)

    def _rounds(
        self, question: Question, finalists: list[Configuration], paper: Configuration
    ) -> list[Timings]:
        """Time the finalists in turn until the margin is known; the slower ones drop out."""
        order = random.Random(self.seed)  # noqa: S311 - the order of a measurement
        effort = _QUICK_FINAL if self.is_quick else _FINAL
        fewest = fewest_pairs(_confidence(len(finalists)))
        rounds: list[Timings] = []
        racing = list(dict.fromkeys([*finalists, paper]))
        while len(rounds) < MOST_ROUNDS:
            order.shuffle(racing)
            self.say(f"round {len(rounds) + 1} of the finalists", self._share_over())
            seed = self.seed + 1 + len(rounds)
            rounds.append(
                {
                    one: time_mix(question, one, effort, seed=seed, clock=self.clock)
                    for one in racing
                }
            )
            if len(rounds) < fewest:
                continue
            best, *others = self._compared(finalists, rounds)
            left = [one for one in others if one.configuration in rounds[-1]]
            undecided = [one.configuration for one in left if one.verdict == "undecided"]
            if not undecided or self._is_over(1.0):
                break
            racing = [best.configuration, *undecided]
        return rounds

    def _share_over(self) -> float:
        return min((self.clock() - self._start) / self.time_s, 1.0)

    def _compared(
        self, finalists: Sequence[Configuration], rounds: Sequence[Timings]
    ) -> list[Compared]:
        """Return the finalists against the fastest of the last round, which comes first."""
        racing = [one for one in finalists if one in rounds[-1]]
        best = min(racing, key=lambda one: float(np.median(_seconds(one, rounds))))
        confidence = _confidence(len(finalists))
        found = []
        for one in finalists:
            shared = [timings for timings in rounds if one in timings and best in timings]
            ratio = paired_ratio(_seconds(one, shared), _seconds(best, shared), confidence)
            timed = [timings[one] for timings in rounds if one in timings]
            found.append(Compared(configuration=one, timings=timed, ratio=ratio))
        return sorted(found, key=lambda one: (one.configuration != best, one.ratio.value))


def _operation_s(timing: Timing) -> float:
    return timing.operation_s


def _seconds(one: Configuration, rounds: Sequence[Timings]) -> list[float]:
    return [timings[one].operation_s for timings in rounds if one in timings]


def _confidence(finalists: int) -> float:
    """Return the confidence of each interval: all but one are compared, and share the error."""
    return 1.0 - (1.0 - CONFIDENCE) / max(finalists - 1, 1)


def paired_ratio(
    above: Sequence[float], below: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """Return how many times `above` is `below`, from pairs, with an interval by signed ranks.

    Examples
    --------
    >>> paired_ratio([2.0, 4.0, 6.0, 8.0, 10.0, 12.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).value
    2.0
    """
    found = signed_rank_interval(np.log(np.divide(above, below)), confidence=confidence)
    low, high = (None if end is None else math.exp(end) for end in (found.low, found.high))
    return replace(found, value=math.exp(found.value), low=low, high=high)


def _against_paper(
    paper: Configuration, rounds: Sequence[Timings], best: Configuration
) -> Compared:
    """Return the paper's configuration, which asks for one record at a time."""
    shared = [timings for timings in rounds if paper in timings and best in timings]
    alone = [timings[paper].alone_s or timings[paper].operation_s for timings in shared]
    single = [
        replace(timings[paper], operation_s=taken, batch=1)
        for timings, taken in zip(shared, alone, strict=True)
    ]
    ratio = paired_ratio(alone, _seconds(best, shared))
    return Compared(configuration=paper, timings=single, ratio=ratio)
