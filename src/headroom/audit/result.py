"""The stated results of a benchmark, and findings on them.

Every number carries the error of its representation: half of its last printed digit, the width of
a histogram's bin. Checks compare intervals, so rounding never contradicts a law.

Invariants: times are seconds, rates are 1/s; a number that the file lacks is None, never guessed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np

from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Value

Loop: TypeAlias = Literal["closed", "open", ""]


@dataclass(frozen=True, slots=True)
class Stated:
    """A number as a tool states it: the true one is within `error` of `value`.

    Examples
    --------
    >>> Stated.printed("4.41", scale=1e-3).high
    0.004415
    """

    value: float
    error: float = 0.0

    @classmethod
    def printed(cls, text: str, *, scale: float = 1.0) -> "Stated":
        """Return a printed decimal number, in a unit of `scale`."""
        digits = len(text.partition(".")[2])
        return cls(float(text) * scale, 0.5 * 10.0**-digits * scale)

    @property
    def low(self) -> float:
        """Smallest value that is printed so, >= 0."""
        return max(self.value - self.error, 0.0)

    @property
    def high(self) -> float:
        """Largest value that is printed so."""
        return self.value + self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Single responses: ends (s, any origin, sorted) and response times (s), shape (n,)."""

    ends_s: FloatArray
    response_s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One result: a command of hyperfine, a job of fio, a run of a load generator.

    Parameters
    ----------
    tool, version, source, name
        Format of the file, the tool's version, the file's name, and the result's name in it.
    loop
        Closed: a client sends its next request after the reply. Open: at times set in advance.
    from_schedule
        True if responses count from the time at which a request was due.
    fills_in
        True if the tool adds responses that it did not observe, as wrk does.
    mean_is_derived
        True if the tool computed the mean response from Little's law itself.
    clients
        Requests in flight at most; None if unknown.
    clients_vary
        True if `clients` is a maximum only: users that ramp up, directions that share a depth.
    residence
        Mean time in the system (s), if it is not `mean`: fio submits before a request counts.
    think_s
        Mean pause (s) of a client between reply and next request; None if unknown.
    duration_s, count, throughput, offered
        Measured time, completed requests, completions (1/s), scheduled arrivals (1/s).
    failed
        Requests among `count` that failed; None if the file does not say.
    failed_share
        Share of `count` that failed, as the file states it.
    lost
        Further requests that failed and are not in `count`: no connection, no answer.
    refused
        Connections of `clients` that could not be made.
    error
        What the tool says of a run that failed as a whole, as a phrase.
    samples
        Responses that the distribution is made of; None for `count`.
    mean, stdev, low, high, percentiles
        Distribution of the response time (s); percentiles by share, 0 < share < 1.
    spectrum_s
        Bounds of the mean (s) by the histogram in the same file.
    rank_error
        Share of the samples by which the tool's percentiles may miss theirs.
    busy, cpus
        Processors that were busy on average, and processors that there are.
    log
        Single responses, if the file has them.
    rates
        Throughput (1/s) of equal intervals, in order.
    responses_s
        Mean response times (s) of equal intervals, in order.
    windows_s
        Ends (s) of the intervals in which requests completed, in order.
    runs_s
        Times (s) of repeated runs, in order.
    taken
        When it was measured, as ISO 8601 says it; empty if the file does not say.
    view
        What is counted, if the file counts one run in several ways: they are not alternatives.
    settings
        What else the file says, as text.
    levels
        What distinguishes it from other results of the file: factors of an import.
    """

    tool: str
    source: str
    name: str
    version: str = ""
    loop: Loop = ""
    from_schedule: bool = False
    fills_in: bool = False
    mean_is_derived: bool = False
    clients: float | None = None
    clients_vary: bool = False
    residence: Stated | None = None
    think_s: float | None = None
    duration_s: Stated | None = None
    count: int | None = None
    throughput: Stated | None = None
    offered: float | None = None
    failed: float | None = None
    failed_share: Stated | None = None
    lost: float = 0.0
    refused: float = 0.0
    error: str = ""
    samples: int | None = None
    mean: Stated | None = None
    stdev: Stated | None = None
    low: Stated | None = None
    high: Stated | None = None
    percentiles: Mapping[float, Stated] = field(default_factory=dict)
    spectrum_s: tuple[float, float] | None = None
    rank_error: float = 0.0
    busy: Stated | None = None
    cpus: float | None = None
    log: Log | None = None
    rates: FloatArray = field(default_factory=lambda: np.empty(0))
    responses_s: FloatArray = field(default_factory=lambda: np.empty(0))
    windows_s: FloatArray = field(default_factory=lambda: np.empty(0))
    runs_s: FloatArray = field(default_factory=lambda: np.empty(0))
    taken: str = ""
    view: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Value] = field(default_factory=dict)

    @property
    def is_failure(self) -> bool:
        """Whether nothing of it is a figure of work that was done."""
        return bool(self.error) or bool(self.count and self.failed == self.count)

    @property
    def sample_count(self) -> int | None:
        """Responses that the distribution is made of."""
        return self.count if self.samples is None else self.samples


class Level(StrEnum):
    """How bad a finding is."""

    CONTRADICTION = "contradiction"
    MISLEADING = "misleading"
    DOUBTFUL = "doubtful"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A stated number that breaks a law or misleads.

    Parameters
    ----------
    figure, law, cure
        What is stated, the law that it breaks, and what to do: phrases without a full stop.
    check, result
        Name of the check and of the result, which the audit fills in.
    """

    level: Level
    figure: str
    law: str
    cure: str
    check: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchecked:
    """A law that a result lacks numbers for; `missing` names them."""

    missing: str
    check: str = ""
    result: str = ""


Checked: TypeAlias = list[Finding] | Unchecked | None
"""Answer of a check: findings, none for a sound result; a missing number; None if inapplicable."""


def contradiction(figure: str, law: str, cure: str) -> Finding:
    """Return a finding that breaks a law."""
    return Finding(level=Level.CONTRADICTION, figure=figure, law=law, cure=cure)


def misleading(figure: str, law: str, cure: str) -> Finding:
    """Return a finding that breaks no law, but that the file itself proves."""
    return Finding(level=Level.MISLEADING, figure=figure, law=law, cure=cure)


def doubt(figure: str, law: str, cure: str) -> Finding:
    """Return a finding that the numbers suggest."""
    return Finding(level=Level.DOUBTFUL, figure=figure, law=law, cure=cure)


def lacking(numbers: Mapping[str, object]) -> Unchecked:
    """Return the names of the numbers that are None."""
    return Unchecked(missing=", ".join(name for name, one in numbers.items() if one is None))


def in_words(one: Stated | float) -> str:
    """Return a time as text.

    Examples
    --------
    >>> in_words(0.0023), in_words(Stated(2.07))
    ('2.3 ms', '2.07 s')
    """
    value = one.value if isinstance(one, Stated) else one
    return f"{value:.4g} s" if value >= 1.0 else f"{value * 1e3:.4g} ms"


def rate_in_words(per_s: float) -> str:
    """Return a rate as text.

    Examples
    --------
    >>> rate_in_words(12450.4), rate_in_words(12.3456)
    ('12,450/s', '12.35/s')
    """
    return f"{per_s:,.0f}/s" if per_s >= 1000.0 else f"{per_s:.4g}/s"  # noqa: PLR2004 - digits
