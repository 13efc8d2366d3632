"""Subjects of the known answers: a model and its theoretical long-run behaviour.

A subject runs several times with fixed seeds. From each run a fixed warm-up is removed, and each
statistic is computed over the remainder. The Student-t interval of the means of the runs must
contain the answer.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy import stats

from headroom.simulation import Model, SimulationResult, Table, simulate

REPLICATIONS = 30
CONFIDENCE = 0.999
WARM_UP_S = 5_000.0
"""Discarded from every run that does not state another time.

The slowest queue of the table forgets its start by a factor e in 90 (M/M/1 at 0.8) to 225 (the
same with hyperexponential service) mean service times of 1 s (Cohen, *The Single Server Queue*,
1982), so that less than e**-20 of an empty start is left. Larger models bring their own time."""
MEASURED_S = 100_000.0


@dataclass(frozen=True, slots=True)
class Window:
    """Statistics of a run after its warm-up; times are seconds."""

    result: SimulationResult
    warm_up_s: float

    def _growth(self, table: Table, column: str, name: str | None) -> float:
        """Return how much a cumulative column grew; all rows together without a name."""
        times = self.result.snapshot_times_s
        first = int(np.searchsorted(times, self.warm_up_s))
        rows = slice(None) if name is None else [table.names.index(name)]
        values = table.columns[column][:, rows].sum(axis=1)
        return float(values[-1] - values[first])

    @property
    def length_s(self) -> float:
        """From the first snapshot after the warm-up to the end."""
        times = self.result.snapshot_times_s
        return float(times[-1] - times[np.searchsorted(times, self.warm_up_s)])

    def station(self, column: str, name: str) -> float:
        """Return the growth of a column of a station."""
        return self._growth(self.result.stations, column, name)

    def jobs(self, column: str, name: str | None = None) -> float:
        """Return the growth of a column of a class, or of all classes together."""
        return self._growth(self.result.classes, column, name)

    def visits(self, column: str, name: str) -> float:
        """Return the growth of a column of a class at a station, named ``station.class.class``."""
        return self._growth(self.result.visits, column, name)

    def segments(self, end_times_s: Sequence[float]) -> list[bool]:
        """Return which segments of a histogram began after the warm-up."""
        return [start >= self.warm_up_s for start in (0.0, *end_times_s[:-1])]


Statistic: TypeAlias = Callable[[Window], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One number that theory gives.

    Parameters
    ----------
    quantity
        Its name in the table.
    value
        The number, as computed here.
    source
        Formula or method, with the paper or book.
    statistic
        How a run measures it.
    printed
        The number as the reference of the project prints it; empty if it has none.
    is_exact
        False for an approximation, which the simulation corrects.
    """

    quantity: str
    value: float
    source: str
    statistic: Statistic
    printed: str = ""
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A model with known answers.

    Parameters
    ----------
    model, parameters
        Words of the table.
    build
        Returns the model; its time unit is the second.
    answers
        Its known answers.
    measured_s, warm_up_s
        Simulated time that counts, and the time discarded before it.
    """

    model: str
    parameters: str
    build: Callable[[], Model]
    answers: tuple[Answer, ...]
    measured_s: float = MEASURED_S
    warm_up_s: float = field(default=WARM_UP_S)

    @property
    def name(self) -> str:
        """Model and parameters."""
        return f"{self.model}, {self.parameters}"

    @property
    def seeds(self) -> range:
        """Seeds of its runs: its own, so that no two subjects are unlucky together."""
        first = zlib.crc32(self.name.encode()) * REPLICATIONS
        return range(first, first + REPLICATIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Mean and half-width of the interval of one answer."""

    answer: Answer
    mean: float
    half_width: float

    @property
    def is_inside(self) -> bool:
        """Whether the interval contains the answer."""
        return abs(self.mean - self.answer.value) <= self.half_width


def measured(subject: Subject, *, share: float = 1.0, slower: float = 0.0) -> list[Measured]:
    """Return mean and interval of each answer over the runs of a subject.

    Parameters
    ----------
    subject
        What runs.
    share
        Share of the measured time that each run lasts, after the whole warm-up.
    slower
        By how much all services last longer than the answers say: the intervals should notice.
    """
    model = subject.build()
    if slower:
        for station in subject.build().stations:
            model = model.with_speed(station, 1 / (1 + slower))
    end_s = subject.warm_up_s + share * subject.measured_s
    runs = (simulate(model, seed=seed, time=end_s) for seed in subject.seeds)
    return summary(subject, [Window(run, subject.warm_up_s) for run in runs])


def summary(subject: Subject, windows: Sequence[Window]) -> list[Measured]:
    """Return mean and interval of each answer over what the runs did."""
    quantile = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(windows) - 1))
    answers = []
    for answer in subject.answers:
        values = np.array([answer.statistic(window) for window in windows])
        half = quantile * float(stats.sem(values))
        answers.append(Measured(answer=answer, mean=float(values.mean()), half_width=half))
    return answers


def response(name: str | None = None) -> Statistic:
    """Return the mean response time (s) of a class, or of all."""
    return lambda w: w.jobs("response_s_sum", name) / w.jobs("completion_count", name)


def throughput(name: str | None = None) -> Statistic:
    """Return completions per second of a class, or of all."""
    return lambda w: w.jobs("completion_count", name) / w.length_s


def wait(station: str) -> Statistic:
    """Return the mean time (s) from arrival at a station to its service."""
    return lambda w: w.station("wait_s_sum", station) / w.station("completion_count", station)


def class_wait(station: str, name: str) -> Statistic:
    """Return the mean wait (s) of one class at a station."""
    row = f"{station}.class.{name}"
    return lambda w: w.visits("wait_s_sum", row) / w.visits("completion_count", row)


def mean_of(column: str, station: str, *, each_of: int = 1) -> Statistic:
    """Return the time average of a column of a station, divided by `each_of`."""
    return lambda w: w.station(column, station) / w.length_s / each_of


def share_of(column: str) -> Statistic:
    """Return a count of the classes for each job that arrived."""
    return lambda w: w.jobs(column) / w.jobs("arrival_count")


def visits_for_each(station: str, other: str) -> Statistic:
    """Return the visits to one station for each visit to another."""
    return lambda w: w.station("completion_count", station) / w.station("arrival_count", other)


def share_of_time(station: str, low: int, high: float = float("inf")) -> Statistic:
    """Return the share of time with `low` to `high` jobs at a station."""

    def statistic(w: Window) -> float:
        (at_station,) = (
            occupancy for occupancy in w.result.occupancies if occupancy.name == station
        )
        counts = at_station.counts[w.segments(list(at_station.segment_end_times_s))].sum(axis=0)
        chosen = (at_station.bin_low >= low) & (at_station.bin_low <= high)
        return float(counts[chosen].sum() / counts.sum())

    return statistic


def percentile(share: float) -> Statistic:
    """Return a percentile of the response time (s) of the first class."""

    def statistic(w: Window) -> float:
        histogram = w.result.histograms[0]
        counts = histogram.counts[w.segments(list(histogram.segment_end_times_s))].sum(axis=0)
        edges = np.append(histogram.bin_low, histogram.bin_high[-1])
        below = np.append(0, counts.cumsum())
        return float(np.interp(share * below[-1], below, edges))

    return statistic


def responds(value: float, source: str, *, printed: str = "") -> Answer:
    """Return the mean response time (s) of all jobs as an answer."""
    return Answer(
        quantity="response", value=value, source=source, statistic=response(), printed=printed
    )


def completes(value: float, source: str, *, printed: str = "") -> Answer:
    """Return the completions per second of all jobs as an answer."""
    return Answer(
        quantity="throughput", value=value, source=source, statistic=throughput(), printed=printed
    )
