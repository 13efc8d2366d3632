"""Arrival processes other than sequences of independent gaps: bursty, changing, or recorded.

An arrival process is frozen data; the kernel runs it. Times are in the model's time unit, rates in
arrivals per time unit. For independent gaps, give `Model.open_class` a distribution.

The kernel is exact, without a time step. In a bursty process, arrivals and jumps compete, both
exponential. A changing rate is inverted piece by piece with one exponential per arrival. Thinning
(Lewis & Shedler 1979) would reject candidates, more of them the further the rate is below its peak,
and two systems under comparison would no longer draw the same numbers.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headroom import _core
from headroom.simulation.errors import SimulationError, users_location
from headroom.simulation.laws.distribution import Values, is_positive

Numbers: TypeAlias = tuple[float, ...]
Matrix: TypeAlias = Sequence[Sequence[float]] | npt.NDArray[np.float64]
# Numbers, rows of numbers, or names with their numbers.
Part: TypeAlias = float | tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ArrivalProcess:
    """An arrival process; build one with the functions of this module.

    Parameters
    ----------
    kind
        Name of the process, e.g. ``"mmpp"``.
    parameters
        Name and value of each parameter, in the model's time unit.
    mean_rate
        Arrivals per time unit in the long run.
    peak_rate
        Largest rate at any time; infinity for a recording.
    c2
        Squared coefficient of variation of the gaps, None if gaps have no common law.
    dispersion
        Index of dispersion for counts over long times, variance / mean: 1 for Poisson arrivals,
        more for bursts; None if unknown.

    Examples
    --------
    >>> changing_rate(times=[0, 8, 18], rates=[1, 5, 2], period=24).mean_rate
    2.9166666666666665
    """

    kind: str
    parameters: tuple[tuple[str, Part], ...]
    mean_rate: float
    peak_rate: float
    c2: float | None
    dispersion: float | None

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Names of what each recorded arrival carries, sorted."""
        columns = dict(self.parameters).get("attributes", ())
        return tuple(name for name, _ in columns) if isinstance(columns, tuple) else ()

    def to_data(self) -> dict[str, object]:
        """Return the process as the kernel reads it."""
        data: dict[str, object] = {"kind": self.kind}
        for name, value in self.parameters:
            data[name] = _data_of(name, value)
        return data

    def draw(self, count: int, *, seed: int = 1) -> npt.NDArray[np.float64]:
        """Return the times of the first `count` arrivals; fewer if the process ends before.

        Examples
        --------
        >>> trace([0, 1.5, 4]).draw(10)
        array([0. , 1.5, 4. ])
        """
        data = json.dumps(self.to_data()).encode()
        return _core.draw_arrivals(process=data, seed=seed, key=0, count=count)

    def __str__(self) -> str:
        return f"{self.kind}(mean rate {self.mean_rate:g})"


def mmpp(*, rates: Values, switch_rates: Matrix) -> ArrivalProcess:
    """Return a Markov-modulated Poisson process: Poisson arrivals whose rate jumps.

    Parameters
    ----------
    rates
        Rate of arrivals in each state (>= 0, one above 0).
    switch_rates
        Rate of the jumps from state (row) to state (column). The diagonal is 0, or minus the sum of
        its row, as in a generator matrix. Each state must lead to each other.

    Notes
    -----
    Starts in a state drawn from the stationary distribution. `c2` and `dispersion` as in Fischer
    & Meier-Hellstern (1993), The Markov-modulated Poisson process (MMPP) cookbook.

    Examples
    --------
    >>> process = mmpp(rates=[20, 1], switch_rates=[[0, 0.5], [0.125, 0]])
    >>> round(process.mean_rate, 9), round(process.dispersion, 9)
    (4.8, 39.506666667)
    """
    rates = _numbers("mmpp", "rates", rates)
    rows = tuple(
        _numbers("mmpp", "a row of switch_rates", row, low=-math.inf) for row in switch_rates
    )
    matrix = _without_diagonal(rates, rows)
    _refuse_all_zero("mmpp", rates)
    generator = matrix - np.diag(matrix.sum(axis=1))
    _refuse_unconnected(matrix)
    mean, c2, dispersion = _mmpp_moments(np.array(rates), generator)
    parameters: tuple[tuple[str, Part], ...] = (
        ("rates", rates),
        ("switch_rates", tuple(tuple(row) for row in matrix.tolist())),
    )
    return ArrivalProcess("mmpp", parameters, mean, max(rates), c2, dispersion)


def bursty(
    *, mean_rate: float, burst_rate: float, burst_mean: float, calm_mean: float
) -> ArrivalProcess:
    """Return arrivals that come in bursts: a Markov-modulated Poisson process of two states.

    Parameters
    ----------
    mean_rate
        Arrivals per time unit in the long run (> 0).
    burst_rate
        Arrivals per time unit during a burst (>= mean_rate).
    burst_mean, calm_mean
        Mean length of a burst, and of the calm between bursts (> 0). The rate in between follows
        and must not be negative.

    Examples
    --------
    >>> process = bursty(mean_rate=4.8, burst_rate=20, burst_mean=2, calm_mean=8)
    >>> dict(process.parameters)["rates"]
    (20.0, 1.0)
    """
    given = {
        "mean_rate": mean_rate,
        "burst_rate": burst_rate,
        "burst_mean": burst_mean,
        "calm_mean": calm_mean,
    }
    _refuse_unless_positive("bursty", given)
    arrived = mean_rate * (burst_mean + calm_mean)
    calm_rate = (arrived - burst_rate * burst_mean) / calm_mean
    if burst_rate < mean_rate or calm_rate < -1e-12 * mean_rate:
        share = burst_mean / (burst_mean + calm_mean)
        raise SimulationError(
            f"bursty(...) cannot meet mean_rate={mean_rate:g} with burst_rate={burst_rate:g} "
            f"during {share:.3g} of the time",
            cure=f"choose a burst_rate from {mean_rate:g} to {mean_rate / share:g}",
        )
    if calm_rate < 1e-12 * mean_rate:
        calm_rate = 0.0  # what rounding left of silence
    switch_rates = [[0, 1 / burst_mean], [1 / calm_mean, 0]]
    return mmpp(rates=[burst_rate, calm_rate], switch_rates=switch_rates)


def on_off(*, mean_rate: float, dispersion: float, burst_mean: float) -> ArrivalProcess:
    """Return arrivals in bursts with silence between, fitted to rate, dispersion, burst length.

    Parameters
    ----------
    mean_rate
        Arrivals per time unit in the long run (> 0).
    dispersion
        Index of dispersion for counts: variance / mean of the arrivals in a long window (> 1).
    burst_mean
        Mean length of a burst (> 0).

    Notes
    -----
    An interrupted Poisson process. Bursts end at rate r = 1/burst_mean, silences at the rate s that
    solves dispersion = 1 + 2 mean_rate r / (s (r + s)) (Fischer & Meier-Hellstern 1993, two
    states); in a burst arrivals come at the rate mean_rate (r + s) / s.

    Examples
    --------
    >>> process = on_off(mean_rate=3, dispersion=25, burst_mean=0.5)
    >>> round(process.mean_rate, 9), round(process.dispersion, 9)
    (3.0, 25.0)
    """
    given = {"mean_rate": mean_rate, "dispersion": dispersion, "burst_mean": burst_mean}
    _refuse_unless_positive("on_off", given)
    if dispersion <= 1:
        raise SimulationError(
            f"on_off(...) cannot have dispersion={dispersion:g}",
            cure="choose a dispersion above 1; 1 are plain Poisson arrivals, exponential gaps",
        )
    ending = 1 / burst_mean
    beginning = 4 * mean_rate * ending / (dispersion - 1)
    beginning /= ending + math.sqrt(ending**2 + 2 * beginning)
    rate = mean_rate * (ending + beginning) / beginning
    return mmpp(rates=[rate, 0], switch_rates=[[0, ending], [beginning, 0]])


def changing_rate(*, times: Values, rates: Values, period: float | None = None) -> ArrivalProcess:
    """Return Poisson arrivals whose rate changes at given times.

    Parameters
    ----------
    times
        Start of each piece, rising; the first is 0.
    rates
        Rate in each piece (>= 0, one above 0). The last one lasts indefinitely, or to the period.
    period
        Time at which the pieces start again (above the last time); None for once.

    Notes
    -----
    `mean_rate` is the mean over a period; without a period it is the last rate.

    Examples
    --------
    >>> day = changing_rate(times=[0, 8, 18], rates=[1, 5, 2], period=24)
    >>> day.peak_rate
    5.0
    """
    kind = "changing_rate"
    times = _numbers(kind, "times", times)
    rates = _numbers(kind, "rates", rates)
    if len(times) != len(rates):
        _refuse(kind, f"{len(times)} times and {len(rates)} rates", "give a rate for each time")
    if times[0] != 0 or any(a >= b for a, b in pairwise(times)):
        _refuse(kind, f"times={_shown(times)}", "give rising times, the first of them 0")
    _refuse_all_zero(kind, rates)
    parameters: tuple[tuple[str, Part], ...] = (("times", times), ("rates", rates))
    if period is None:
        return ArrivalProcess(kind, parameters, rates[-1], max(rates), None, None)
    if not (is_positive(period) and period > times[-1]):
        _refuse(kind, f"period={period!r}", f"give a period above the last time, {times[-1]:g}")
    lengths = np.diff([*times, period])
    mean = float(np.dot(lengths, rates)) / period
    parameters = (*parameters, ("period", float(period)))
    return ArrivalProcess(kind, parameters, mean, max(rates), None, 1.0)


def trace(times: Values, attributes: Mapping[str, Values] | None = None) -> ArrivalProcess:
    """Return recorded arrivals, each at its time and with its attributes.

    Parameters
    ----------
    times
        Times of the arrivals (>= 0), sorted; several may be equal.
    attributes
        Name of a job attribute to its value for each arrival.

    Notes
    -----
    `mean_rate`, `c2` and `dispersion` are those of the recording; `mean_rate` counts the gaps
    between the first and the last arrival.

    Examples
    --------
    >>> day = trace([0, 1, 3, 4], attributes={"size": [8, 2, 2, 9]})
    >>> day.mean_rate, day.attribute_names
    (0.75, ('size',))
    """
    times = _numbers("trace", "times", times)
    place = next((i for i in range(1, len(times)) if times[i] < times[i - 1]), None)
    if place is not None:
        shown = f"times[{place}]={times[place]:g} comes after {times[place - 1]:g}"
        _refuse("trace", shown, "sort the times, and the attributes with them")
    columns = []
    for name, values in sorted((attributes or {}).items()):
        column = _numbers("trace", f"attribute '{name}'", values, low=-math.inf)
        if len(column) != len(times):
            shown = f"{len(column)} values of '{name}' for {len(times)} arrivals"
            _refuse("trace", shown, "give each attribute one value for each arrival")
        columns.append((name, column))
    span = times[-1] - times[0]
    mean = (len(times) - 1) / span if span > 0 else 0.0 if len(times) == 1 else math.inf
    parameters: tuple[tuple[str, Part], ...] = (("times", times),)
    if columns:
        parameters = (*parameters, ("attributes", tuple(columns)))
    return ArrivalProcess("trace", parameters, mean, math.inf, _gap_c2(times), None)


def _data_of(name: str, value: Part) -> object:
    if not isinstance(value, tuple):
        return value
    if name == "attributes":
        return {key: list(column) for key, column in value}
    return [list(row) if isinstance(row, tuple) else row for row in value]


def _gap_c2(times: Numbers) -> float | None:
    gaps = np.diff(times)
    if len(gaps) < 2 or gaps.mean() == 0:  # noqa: PLR2004 - one gap does not vary
        return None
    return float(gaps.var() / gaps.mean() ** 2)


def _mmpp_moments(
    rates: npt.NDArray[np.float64], generator: npt.NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return the mean rate, the c2 of the stationary gaps, and the index of dispersion."""
    count = len(rates)
    balance = np.vstack([generator.T, np.ones(count)])
    shares = np.linalg.lstsq(balance, np.append(np.zeros(count), 1.0), rcond=None)[0]
    mean = float(shares @ rates)
    ones = np.ones(count)
    deviation = np.linalg.inv(np.outer(ones, shares) - generator) - np.outer(ones, shares)
    dispersion = 1 + 2 * float(shares * rates @ deviation @ rates) / mean
    at_arrival = shares * rates / mean
    until_next = np.diag(rates) - generator
    second = 2 * float(at_arrival @ np.linalg.solve(until_next, np.linalg.solve(until_next, ones)))
    return mean, second * mean**2 - 1, dispersion


def _without_diagonal(rates: Numbers, rows: tuple[Numbers, ...]) -> npt.NDArray[np.float64]:
    count = len(rates)
    if len(rows) != count or any(len(row) != count for row in rows):
        shape = f"{len(rows)} rows for {count} rates"
        _refuse("mmpp", shape, "give switch_rates a row and a column for each rate")
    matrix = np.array(rows)
    diagonal = np.diag(matrix).copy()
    np.fill_diagonal(matrix, 0.0)
    is_generator = np.allclose(diagonal, -matrix.sum(axis=1), rtol=1e-9, atol=0)
    if (matrix < 0).any() or not (is_generator or (diagonal == 0).all()):
        cure = "give rates of 0 or more, and 0 or minus the sum of its row on the diagonal"
        _refuse("mmpp", f"switch_rates={rows!r}", cure)
    return matrix


def _refuse_unconnected(matrix: npt.NDArray[np.float64]) -> None:
    """Refuse a state that cannot be reached, or not be left."""
    reach = (matrix > 0) | np.eye(len(matrix), dtype=bool)
    for _ in range(len(matrix).bit_length()):
        reach = reach @ reach
    if not reach.all():
        start, end = (int(index) for index in np.argwhere(~reach)[0])
        shown = f"no way from state {start} to state {end}"
        _refuse("mmpp", shown, "give switch_rates that lead from each state to each other one")


def _numbers(kind: str, name: str, values: Values, *, low: float = 0.0) -> Numbers:
    try:
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError) as error:
        raise SimulationError(f"{kind}: {name} must be numbers", cure="give a list") from error
    if not numbers:
        _refuse(kind, f"no {name}", f"give {name} at least one number")
    bad = next(
        (number for number in numbers if not (math.isfinite(number) and number >= low)), None
    )
    if bad is not None:
        wanted = "finite numbers" if low < 0 else "numbers of 0 or more"
        _refuse(kind, f"{bad!r} in {name}", f"give {name} {wanted}")
    return numbers


def _refuse_all_zero(kind: str, rates: Numbers) -> None:
    if not any(rates):
        _refuse(kind, f"rates={_shown(rates)}: nothing ever arrives", "give a rate above 0")


def _refuse_unless_positive(kind: str, given: Mapping[str, float]) -> None:
    for name, value in given.items():
        if not is_positive(value):
            _refuse(kind, f"{name}={value!r}", f"give {name} a number above 0")


def _shown(values: Numbers) -> str:
    return repr(values) if len(values) <= 8 else f"({len(values)} of them)"  # noqa: PLR2004


def _refuse(kind: str, what: str, cure: str) -> None:
    raise SimulationError(f"{users_location()}{kind}: {what}", cure=cure)
