"""Correlation times of a system, and whether a run is long enough relative to them.

Successive response times are correlated, and so are the numbers of jobs at successive moments. The
*correlation time* measures for how long: a mean over a run of n correlation times is about as
precise as a mean over n independent observations. Everything that depends on run length is measured
by it: the end of the warm-up, the number of batches in a run, and whether a run is too short for a
reliable interval.

Invariant: nothing here looks at how large the observations are, only at how they hang together,
so what is decided with it does not favour small or large results.

Sources: the integrated autocorrelation time with its self-consistent window as in Sokal, *Monte
Carlo Methods in Statistical Mechanics* (1989, 1997), section 3; the number of independent
observations as a criterion for the start of the steady state by Chodera, *A Simple Method for
Automated Equilibration Detection in Molecular Simulations* (2016).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.run import FloatArray, Run

WINDOW = 4.0
"""Autocorrelations are summed up to this many correlation times; beyond they are noise."""
MOST_VALUES = 512
"""Values of a series that are looked at; neighbours are averaged beyond that."""
MOST_STATIONS = 32
"""Stations that are looked at: those whose number of jobs varies most."""
STARTS = 24
"""Possible starts of the steady state that are compared."""
ALMOST = 0.6
"""A start is good where it leaves this share of the most independent observations."""
WARM_UP_TIMES = 3.0
"""Correlation times that are cut at least: the start is then forgotten."""


_MOST_AT_ONCE = 1 << 13
"""Size of a series up to which its starts are looked at together: beyond, no time is saved."""
IntArray = npt.NDArray[np.int64]
_HERE = np.array([0])


@dataclass(frozen=True, slots=True)
class Settling:
    """When a set of series settles, in values from their start.

    Parameters
    ----------
    start
        First value of the steady state, before `WARM_UP_TIMES` are added.
    correlation_time
        Correlation time (values) from there on, >= 1.
    """

    start: int
    correlation_time: float


def correlation_time(values: FloatArray) -> float:
    """Return the integrated autocorrelation time, 1 + 2 x the sum of the autocorrelations.

    Parameters
    ----------
    values
        Shape (..., replications, n): equally spaced values. Series of one quantity share their
        mean; several quantities count by their variance.

    Returns
    -------
    float
        In values, >= 1; 1 for independent values and if nothing varies.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> round(correlation_time(random.normal(size=(5, 4000))), 1)
    1.0
    >>> moving = np.convolve(random.normal(size=400_009), np.ones(10), "valid")
    >>> round(correlation_time(moving.reshape(5, -1)))
    10
    """
    return float(correlation_times(values, _HERE)[0])


def correlation_times(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the correlation time from each of several starts on, see `correlation_time`.

    Parameters
    ----------
    values
        Shape (..., replications, n).
    starts
        First values, 0 <= start < n.

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(size=(5, 400))
    >>> times = correlation_times(noise, np.array([0, 100]))
    >>> [float(times[1]) == correlation_time(noise[:, 100:]), times.shape]
    [True, (2,)]
    """
    count = values.shape[-1]
    if values.size > _MOST_AT_ONCE and starts.size > 1:
        return np.concatenate([correlation_times(values[..., start:], _HERE) for start in starts])
    covariances, least = _covariances(values, starts, _fast_length(2 * count))
    return _summed_up(covariances, count - starts, least)


def _covariances(
    values: FloatArray, starts: IntArray, length: int
) -> tuple[FloatArray, FloatArray]:
    """Return the summed products at each lag from each start on, and the least that is no noise."""
    centred, size = _from_each(values, starts) if starts.size > 1 else _from_one(values)
    transformed = np.fft.rfft(centred, length, axis=-1)
    parts = transformed.view(np.float64).reshape(starts.size, -1, transformed.shape[-1], 2)
    total = np.einsum("skfc,skfc->sf", parts, parts)
    return np.fft.irfft(total, length), (1e-12 * size) ** 2 * (values.size // values.shape[-1])


def _from_one(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return series less their means, and their largest value."""
    size = np.max(np.abs(values), initial=0.0)
    return values - values.mean(axis=(-2, -1), keepdims=True), np.array([size])


def _from_each(values: FloatArray, starts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the same from each start on, zero before it."""
    count = values.shape[-1]
    is_kept = np.arange(count) >= starts[:, None]
    is_kept = is_kept.reshape(starts.size, *([1] * (values.ndim - 1)), count)
    kept = np.where(is_kept, values, 0.0)
    numbers = (count - starts) * values.shape[-2]
    means = kept.sum(axis=(-2, -1)) / numbers.reshape(-1, *([1] * (values.ndim - 2)))
    size = np.abs(kept).reshape(starts.size, -1).max(axis=1, initial=0.0)
    return np.where(is_kept, kept - means[..., None, None], 0.0), size


def _summed_up(covariances: FloatArray, counts: IntArray, least: FloatArray) -> FloatArray:
    """Return the correlation times of series of `counts` values; 1 if nothing varies."""
    most = int(counts.max()) // 2
    if most < 2:  # noqa: PLR2004 - one lag at least
        return np.ones(counts.size)
    lag, lags = np.arange(most), (counts // 2)[:, None]
    terms = covariances[:, :most] / np.maximum(counts[:, None] - lag, 1)
    varies = (terms[:, :1] > least[:, None]) & (lags >= 2)  # noqa: PLR2004 - as above
    shares = np.where(varies & (lag < lags), terms, 0.0) / np.where(varies, terms[:, :1], 1.0)
    sums = 1.0 + 2.0 * np.cumsum(shares[:, 1:], axis=1)
    is_enough = (lag[1:] >= WINDOW * sums) & (lag[1:] < lags)
    last = np.where(is_enough.any(axis=1), is_enough.argmax(axis=1), np.maximum(lags[:, 0] - 2, 0))
    found = np.maximum(sums[np.arange(counts.size), last], 1.0)
    return np.where(varies[:, 0], found, 1.0)


def _fast_length(count: int) -> int:
    return 1 << (count - 1).bit_length()


def settle(values: FloatArray) -> Settling:
    """Return when series settle: the first start that leaves nearly all that can be learnt.

    A start t leaves (n - t) / g(t) independent observations, g(t) the correlation time from t
    on. While the series still settles, g is large, because all later values lie on one side;
    so a transient shows, and a burst of the steady state, which lasts about as long as others,
    does not.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> noise = random.normal(size=(1, 400))
    >>> settle(noise).start
    0
    >>> noise[0, :80] += 5.0
    >>> 60 <= settle(noise).start <= 90
    True
    """
    count = values.shape[-1]
    starts = np.unique(np.round(np.geomspace(1.0, max(count / 2.0, 1.0), STARTS)).astype(int))
    starts = np.concatenate([[0], starts[starts <= count // 2]])
    times = correlation_times(values, starts)
    left = (count - starts) / times
    first = int(np.flatnonzero(left >= ALMOST * left.max())[0])
    return Settling(int(starts[first]), float(times[first]))


def joined(values: FloatArray, most: int = MOST_VALUES) -> tuple[FloatArray, int]:
    """Return at most `most` means of neighbours along the last axis, and how many make one.

    Examples
    --------
    >>> joined(np.array([[1.0, 3.0, 5.0, 7.0]]), most=2)
    (array([[2., 6.]]), 2)
    """
    group = max(-(-values.shape[-1] // most), 1)
    whole = values.shape[-1] // group * group
    means: FloatArray = values[..., :whole].reshape(*values.shape[:-1], -1, group).mean(axis=-1)
    return means, group


def jobs_over_time(runs: Sequence[Run]) -> tuple[FloatArray, float] | None:
    """Return the jobs at each station on one time grid for all runs, and the grid's step (s).

    Shape (stations, runs, steps); means over each step. Only the stations that vary most. None
    where a run has no stations or too few snapshots.
    """
    found = [
        (run.snapshot_times_s, table.columns["jobs_s"])
        for run in runs
        for table in run.resources
        if table.kind == "station" and "jobs_s" in table.columns
    ]
    if not found or len(found) < len(runs):
        return None
    steps = min(times_s.size for times_s, _ in found)
    shortest_s = min(float(times_s[-1]) for times_s, _ in found) if steps else 0.0
    if steps < STARTS or shortest_s <= 0.0:
        return None
    grid_s = np.linspace(0.0, shortest_s, steps + 1)
    spread = np.sum([_variation(times_s, jobs_s) for times_s, jobs_s in found], axis=0)
    kept = np.sort(np.argsort(-spread, kind="stable")[:MOST_STATIONS])
    step_s = shortest_s / steps
    return np.array(
        [
            [_on_grid(times_s, jobs_s[:, place], grid_s) / step_s for times_s, jobs_s in found]
            for place in kept
        ]
    ), step_s


def _variation(times_s: FloatArray, jobs_s: FloatArray) -> FloatArray:
    lengths_s = np.diff(times_s)
    lengths_s = np.where(lengths_s > 0.0, lengths_s, 1.0)
    variances: FloatArray = np.var(np.diff(jobs_s, axis=0) / lengths_s[:, None], axis=0)
    return variances


def _on_grid(
    times_s: FloatArray, cumulative: FloatArray, grid_s: FloatArray
) -> npt.NDArray[np.float64]:
    known_s = np.concatenate([[0.0], times_s])
    return np.diff(np.interp(grid_s, known_s, np.concatenate([[0.0], cumulative])))


def times_beyond_one(values: FloatArray) -> float:
    """Return the correlation time of long averages beyond the one value that each lasts.

    Zero where it is not clearly above one: few averages show a correlation by chance. Its
    standard error is about sqrt(2 (2 W + 1) / N) for a window of W values and N values in all
    (Sokal, section 3); quantities of little variance count little.

    Parameters
    ----------
    values
        Shape (quantities, replications, n).

    Examples
    --------
    >>> random = np.random.default_rng(2)
    >>> times_beyond_one(random.normal(size=(1, 1, 50)))
    0.0

    Zero also if nothing is left: a cut may lie behind the end of the shortest run.

    >>> times_beyond_one(np.empty((3, 7, 0)))
    0.0
    """
    if not values.size:
        return 0.0
    variances = values.var(axis=(-2, -1))
    total = float(np.sum(variances**2))
    alike = float(np.sum(variances)) ** 2 / total if total > 0.0 else 1.0
    count = alike * values.shape[-2] * values.shape[-1]
    beyond = correlation_time(values) - 1.0
    return beyond if beyond > 2.0 * math.sqrt(2.0 * (2.0 * WINDOW + 1.0) / count) else 0.0
