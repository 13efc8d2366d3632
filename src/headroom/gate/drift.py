"""Steps or drift: whether changes of a series are abrupt, or a slow movement explains them as well.

The alternative to steps is a local level: a trend and a random walk, of any size relative to the
independent noise of each result. Differences of successive results then have a known covariance,
which the sine transform makes diagonal, and a step is a pulse in them. A step is *abrupt* if adding
it multiplies the largest likelihood (over the size of the walk) by the number of its possible
places over the level: by Markov's inequality, a likelihood ratio reaches that by chance with at
most `level` for all places. The bound is exact for given sizes of walk and step; `python -m
benches.gate` measures the rate with estimated ones.

Sources: Harvey, *Forecasting, Structural Time Series Models and the Kalman Filter* (1989), section
4.3 (exact likelihood of the local level); Wasserman, Ramdas and Balakrishnan, *Universal Inference*
(2020), for likelihood ratios with Markov's inequality.

Invariant: adding a constant to a series, or multiplying it, changes no answer.
"""

import math
from collections.abc import Sequence

import numpy as np

from headroom.experiment.protocol.run import FloatArray

_WALKS = np.array([0.0, *np.geomspace(0.01, 100.0, 15)])
"""Variance of a step of the walk, in variances of the independent noise."""
_FARTHEST = 4.0
"""Deviations beyond which an outlier counts as this far out."""
_DEVIATION = 1.4826
"""Standard deviation of normal values in median absolute deviations."""


def abrupt_places(series: FloatArray, places: Sequence[int], level: float) -> set[int]:
    """Return those places of changes at which a step explains more than a drift does.

    Parameters
    ----------
    series
        Results in the order of time, shape (n,).
    places
        Number (from 0) of the first result after each change, ascending.
    level
        Probability of any abrupt place in a series that drifts.

    Examples
    --------
    >>> noise = 0.1 * np.sin(np.arange(40.0) ** 2)
    >>> abrupt_places(noise + 2.0 * (np.arange(40) >= 20), [20], 0.01)
    {20}
    >>> abrupt_places(noise + np.arange(40.0) / 20.0, [12, 25], 0.01)
    set()
    """
    if not places:
        return set()
    from scipy.fft import dst  # noqa: PLC0415 - series without changes do not need it

    count = series.size - 1
    pulses = np.zeros((count, len(places)))
    pulses[np.array(places) - 1, np.arange(len(places))] = 1.0
    columns = [np.diff(_without_outliers(series, places)), np.ones(count), *pulses.T]
    spectrum = dst(np.array(columns), type=1, norm="ortho").T
    needed = math.log(series.size / level)
    chosen: list[int] = []
    likelihood = _log_likelihood(spectrum, chosen)
    while rest := [number for number in range(len(places)) if number not in chosen]:
        better, number = max((_log_likelihood(spectrum, [*chosen, one]), one) for one in rest)
        if better - likelihood < needed:
            break
        chosen, likelihood = [*chosen, number], better
    return {places[number] for number in chosen}


def _without_outliers(series: FloatArray, places: Sequence[int]) -> FloatArray:
    """Return the series with its outliers moved to the edge of what is usual around each level."""
    levels = levels_between(series, places)
    reach = usual_reach(series - levels)
    moved: FloatArray = levels + np.clip(series - levels, -reach, reach)
    return moved


def levels_between(series: FloatArray, places: Sequence[int]) -> FloatArray:
    """Return for each result the median of the results between the changes around it."""
    parts = np.split(series, list(places))
    return np.concatenate([np.full(part.size, np.median(part)) for part in parts])


def usual_reach(rest: FloatArray) -> float:
    """Return the distance from its level within which a result is usual."""
    return _FARTHEST * _DEVIATION * float(np.median(np.abs(rest)))


def _log_likelihood(spectrum: FloatArray, pulses: Sequence[int]) -> float:
    """Return the largest log-likelihood of differences with a trend and some pulses.

    Parameters
    ----------
    spectrum
        Sine transforms, shape (count, 2 + places): of differences, trend, and pulses.
    pulses
        Numbers of the pulses that the model has.
    """
    count = spectrum.shape[0]
    frequencies = np.arange(1, count + 1) * math.pi / (count + 1)
    columns = [0, 1, *(2 + number for number in pulses)]
    found: list[float] = []
    for walk in _WALKS:
        variances = walk + 2.0 - 2.0 * np.cos(frequencies)
        white = spectrum[:, columns] / np.sqrt(variances)[:, None]
        sizes = np.linalg.lstsq(white[:, 1:], white[:, 0], rcond=None)[0]
        rest = white[:, 0] - white[:, 1:] @ sizes
        mean_square = max(float(rest @ rest) / count, 1e-300)
        found.append(-0.5 * (float(np.log(variances).sum()) + count * math.log(mean_square)))
    return max(found)
