"""Changes by likelihood: places where a step or a pulse explains a series better than its rivals.

The first rival is noise around a constant level, each result of which remembers a share of the one
before. The second is a drift: a trend, and a level that walks at random or returns to its mean, of
any size relative to the independent noise of each result. Differences of successive results then
have a known spectrum (exactly for a walk, closely for a level that returns), which the sine
transform makes diagonal; a step is one pulse in them, a pulse two of opposite sign or not.

A change against noise, beside a trend or not, is a candidate for a step against drifts. Each has to
multiply the largest likelihood over all rivals by a constant over the level. Markov's inequality
bounds the rate for given rivals and sizes, with the number of places as that constant; those here
are smaller, since ratios at near places agree. Simulated series of 16 to 100 results set them: at a
level of 1%, a change shows in about 1% of series whose noise keeps up to half of the last result.
The place of a change is the one with the largest likelihood.

Sources: Harvey, *Forecasting, Structural Time Series Models and the Kalman Filter* (1989), section
4.3 (exact likelihood of the local level); Wasserman, Ramdas and Balakrishnan, *Universal Inference*
(2020), for likelihood ratios with Markov's inequality.

Invariant: adding a constant to a series, or multiplying it, changes no answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.run import FloatArray

BoolArray: TypeAlias = npt.NDArray[np.bool_]

SHORTEST = 3
"""Fewest results on each side of a change: one outlier is none."""
WIDEST = 30
"""Most results of a pulse that is looked for as one; the ends of a longer one are two steps."""
_WALKS = np.geomspace(0.01, 100.0, 13)
"""Variance of a step of the level, in variances of the independent noise."""
_MEMORIES = (1.0, 0.8, 0.5)
"""Share of its distance from the mean that a level keeps; 1: it walks."""
_REMEMBERED = (0.0, 0.15, 0.3, 0.45, 0.6, 0.7)
"""The same of noise around a constant level."""
_AGAINST_NOISE, _AGAINST_DRIFT, _TREND = (20.0, 2_000.0), (30.0, 4_000.0), 5.0
"""Likelihood ratio, times the level, that a step, a pulse, and a trend need."""
_AROUND = 1
"""Places on each side of a change at which it may be a step: a drift shifts it."""
_FARTHEST = 4.0
"""Deviations beyond which an outlier counts as this far out."""
_OUTLIER = 1.5
"""Distance from which on likelihood disregards an outlier, in reaches of what is usual."""
_DEVIATION = 1.4826
"""Standard deviation of normal values in median absolute deviations."""
_MOST_ITEMS = 24

Item: TypeAlias = tuple[int, ...]
"""The place of a step, or the two ends of a pulse."""


def likely_items(series: FloatArray, level: float) -> tuple[list[Item], list[Item]]:
    """Return the changes of level that noise does not explain, and those that no drift explains.

    Parameters
    ----------
    series
        Results in the order of time, shape (n,).
    level
        Probability of any of them in a series whose noise has a memory, or which drifts.

    Examples
    --------
    >>> noise = 0.1 * np.sin(np.arange(40.0) ** 2)
    >>> likely_items(noise, 0.01)
    ([], [])
    >>> likely_items(noise + 2.0 * (np.arange(40) >= 20), 0.01)
    ([(20,)], [(20,)])
    >>> likely_items(noise + np.arange(40.0) / 20.0, 0.01)[1]
    []
    """
    usual = without_outliers(series)
    if series.size < 2 * SHORTEST or not np.ptp(usual):
        return [], []
    plain = _Search.of(usual, is_drift=False)
    needed = [math.log(times / level) for times in _AGAINST_NOISE]
    changed = plain.items(needed) or plain.trend(math.log(_TREND / level))
    beside_trend = replace(plain, has_trend=True).items(needed)
    places = {place for item in [*changed, *beside_trend] for place in item}
    if not places:
        return [], []
    gaps = np.abs(np.subtract.outer(np.arange(1, series.size), [*places]))
    search = _Search.of(usual, is_drift=True, allowed=gaps.min(axis=1) <= _AROUND)
    return changed, search.items([math.log(times / level) for times in _AGAINST_DRIFT])


def without_outliers(series: FloatArray) -> FloatArray:
    """Return the series with outliers replaced by the median around them."""
    windows = [series[max(n - 2, 0) : n + 3] for n in range(series.size)]
    around = np.array([np.median(window) for window in windows])
    reach = _OUTLIER * usual_reach(series - around)
    usual: FloatArray = np.where(np.abs(series - around) > reach, around, series)
    return usual


def levels_between(series: FloatArray, places: Sequence[int]) -> FloatArray:
    """Return for each result the median of the results between the changes around it."""
    parts = np.split(series, list(places))
    return np.concatenate([np.full(part.size, np.median(part)) for part in parts])


def usual_reach(rest: FloatArray) -> float:
    """Return the distance from its level within which a result is usual."""
    return _FARTHEST * _DEVIATION * float(np.median(np.abs(rest)))


@dataclass(frozen=True, slots=True)
class _Drift:
    """One drift: the spectrum of differences, and what follows from it."""

    weights: FloatArray
    """One over the variance of each frequency."""
    inverse: FloatArray
    """Of the covariance by its diagonals: entry (j, k) is inverse[k - j] - inverse[k + j]."""
    log_variance: float


@dataclass(frozen=True, slots=True)
class _Search:
    """Differences of a series, and the drifts that may explain them."""

    gaps: FloatArray
    drifts: Sequence[_Drift]
    has_trend: bool
    allowed: BoolArray
    """Places that may be one."""

    @classmethod
    def of(
        cls, series: FloatArray, *, is_drift: bool, allowed: BoolArray | None = None
    ) -> "_Search":
        """Return the search in a series, against drifts or against noise alone."""
        count = series.size
        turns = 2.0 - 2.0 * np.cos(np.arange(1, count) * math.pi / count)
        kept = {m: turns / ((1.0 - m) ** 2 + m * turns) for m in (*_MEMORIES, *_REMEMBERED)}
        spectra = [kept[memory] for memory in _REMEMBERED]
        if is_drift:
            walks = [walk * kept[memory] for memory in _MEMORIES for walk in _WALKS]
            spectra = [turns, *(walk + turns for walk in walks)]
        drifts = []
        for variances in spectra:
            padded = np.zeros(2 * count)
            padded[1:count] = 1.0 / variances
            inverse = np.fft.fft(padded).real / count
            drifts.append(_Drift(1.0 / variances, inverse, float(np.log(variances).sum())))
        allowed = np.ones(count - 1, dtype=bool) if allowed is None else allowed
        return cls(np.diff(series), drifts, is_drift, allowed)

    def items(self, needed: Sequence[float]) -> list[Item]:
        """Return the steps and pulses that gain more than they need, the strongest first."""
        chosen: list[Item] = []
        while len(chosen) < _MOST_ITEMS:
            step, *pulses = self.best(chosen, needed)
            pulse = max(pulses, key=lambda pair: pair[1], default=step)
            # Where one end is sure by itself, the other has to be worth a step of its own.
            extra = pulse[1] + needed[1] - step[1] - needed[0]
            item, gain = step if step[1] > 0.0 and extra <= needed[0] else pulse
            if gain <= 0.0:
                break
            chosen = self.settled([*chosen, item], item)
        return chosen

    def trend(self, needed: float) -> list[Item]:
        """Return the best step, if a trend gains more than it needs; else none."""
        before, steps, _ = self._likelihoods([], widths=())
        with_trend, *_ = replace(self, has_trend=True)._likelihoods([], widths=())
        place = SHORTEST + int(np.argmax(steps[SHORTEST - 1 : 1 - SHORTEST]))
        return [(place,)] if with_trend - before > needed else []

    def best(self, chosen: Sequence[Item], needed: Sequence[float]) -> list[tuple[Item, float]]:
        """Return the best further step and pulses, with what each gains beyond what it needs."""
        places = sorted(place for item in chosen for place in item)
        pairs = {w: self.allowed[w:] & self.allowed[:-w] for w in range(SHORTEST, WIDEST + 1)}
        widths = [width for width, is_pair in pairs.items() if is_pair.any()]
        before, steps, pulses = self._likelihoods(places, widths=widths)
        ends = [0, *places, self.gaps.size + 1]
        near = np.min([np.abs(np.arange(1, self.gaps.size + 1) - end) for end in ends], axis=0)
        steps[(near < SHORTEST) | ~self.allowed] = -math.inf
        step = int(np.argmax(steps))
        found: list[tuple[Item, float]] = [((step + 1,), float(steps[step]) - before - needed[0])]
        for width, line in pulses.items():
            free = (near >= SHORTEST) & self.allowed
            free = free[:-width] & free[width:]
            for end in places:  # No pulse spans a change.
                free[max(end - width - 1, 0) : end] = False
            if free.any():
                first = int(np.argmax(np.where(free, line, -math.inf)))
                gain = float(line[first]) - before - needed[1]
                found.append(((first + 1, first + 1 + width), gain))
        return found

    def settled(self, items: Sequence[Item], new: Item) -> list[Item]:
        """Return the items, the new places and those next to them at the most likely place."""
        places = sorted(place for item in items for place in item)
        around = {places.index(place) + step for place in new for step in (-1, 0, 1)}
        for _ in range(3):
            before = list(places)
            for number in sorted(around & {*range(len(places))}):
                place = places[number]
                others = [*places[:number], *places[number + 1 :]]
                _, steps, _ = self._likelihoods(others, widths=())
                ends = [0, *others, self.gaps.size + 1]
                low = max(end for end in ends if end < place) + SHORTEST
                high = min(end for end in ends if end > place) - SHORTEST
                if low <= high:
                    places[number] = low + int(np.argmax(steps[low - 1 : high]))
            if places == before:
                break
        ordered = dict(zip(sorted(p for item in items for p in item), places, strict=True))
        return [tuple(ordered[place] for place in item) for item in items]

    def _likelihoods(
        self, places: Sequence[int], *, widths: Sequence[int]
    ) -> tuple[float, FloatArray, dict[int, FloatArray]]:
        """Return the largest log-likelihoods over all drifts.

        As it is, with a step at each place, and with a pulse of each width at each place.
        """
        from scipy.fft import dst  # noqa: PLC0415 - short histories do not need it

        count = self.gaps.size
        basis = np.zeros((count, len(places) + self.has_trend))
        basis[[place - 1 for place in places], np.arange(len(places))] = 1.0
        basis[:, len(places) :] = 1.0
        both = dst(np.column_stack([self.gaps, basis]), type=1, norm="ortho", axis=0)
        at = np.arange(1, count + 1)
        before, steps = -math.inf, np.full(count, -math.inf)
        pulses = {width: np.full(count - width, -math.inf) for width in widths if width < count}
        for drift in self.drifts:
            weighted = dst(both * drift.weights[:, None], type=1, norm="ortho", axis=0)
            inner = basis.T @ weighted[:, 1:]
            sizes = np.linalg.solve(inner, basis.T @ weighted[:, 0])
            score = weighted[:, 0] - weighted[:, 1:] @ sizes
            square = float(self.gaps @ score)
            taken = np.linalg.solve(inner, weighted[:, 1:].T)
            left = weighted[:, 1:]

            def gains(squares: FloatArray, log_variance: float = drift.log_variance) -> FloatArray:
                shares = np.maximum(squares, 1e-300) / count
                found: FloatArray = -0.5 * (log_variance + count * np.log(shares))
                return found

            def entries(
                width: int,
                drift: _Drift = drift,
                left: FloatArray = left,
                taken: FloatArray = taken,
            ) -> FloatArray:
                low = at[: count - width]
                own = drift.inverse[width] - drift.inverse[(2 * low + width) % (2 * count + 2)]
                held = np.einsum("ij,ji->i", left[: count - width], taken[:, width:])
                found: FloatArray = own - held
                return found

            itself = np.maximum(entries(0), 1e-12)
            before = max(before, float(gains(np.array([square]))[0]))
            steps = np.maximum(steps, gains(square - score**2 / itself))
            for width, line in pulses.items():
                cross, one, two = entries(width), itself[:-width], itself[width:]
                first, last = score[:-width], score[width:]
                spread = np.maximum(one * two - cross**2, 1e-12 * one * two)
                won = (two * first**2 - 2.0 * cross * first * last + one * last**2) / spread
                pulses[width] = np.maximum(line, gains(square - won))
        return before, steps, pulses
