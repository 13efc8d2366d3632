"""The sum of squared relative errors of a model, as a function of its free parameters.

Positive numbers are searched on a logarithmic scale. Whole numbers are fixed before the search.

Source: Branch, Coleman and Li, *A Subspace, Interior, and Conjugate Gradient Method*, SIAM
Journal on Scientific Computing 21 (1999): the trust region of SciPy's `least_squares`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from headroom.analysis.fits.model_answers import ModelAnswers
from headroom.errors import HeadroomError
from headroom.experiment.protocol.fit_method import FitError, SourcePoint
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Parameter, Value

_STEP = {"formulas": 1e-6, "simulation": 0.02}
"""Relative step of the derivatives: larger than the noise of what answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One number to be met."""

    point: SourcePoint
    config: Mapping[str, Value]
    metric: str
    value: float

    @property
    def variance(self) -> tuple[float, float] | None:
        """Squared relative standard error and its degrees of freedom, None if not known."""
        seen = self.point.observed[self.metric]
        if seen.standard_error is None:
            return None
        return (seen.standard_error / self.value) ** 2, seen.degrees


class Scale:
    """A free parameter on the scale that it is searched on."""

    def __init__(self, name: str, ends: tuple[float, float], parameter: Parameter) -> None:
        low, high = ends
        low = low if parameter.low is None else max(low, parameter.low)
        high = high if parameter.high is None else min(high, parameter.high)
        if not low < high:
            raise FitError(
                f"no value of {name!r} is both in its range and in {ends[0]:g} to {ends[1]:g}",
                cure=f"give a range within {parameter.low} to {parameter.high}",
            )
        self.name = name
        self._is_log = low > 0.0
        self.low = self._there(low)
        self.high = self._there(high)

    def place(self, value: float) -> float:
        """Return where a value lies, within the ends."""
        lowest = math.exp(self.low) if self._is_log else self.low
        inner = 1e-3 * (self.high - self.low)
        place = self._there(max(value, lowest))
        return min(max(place, self.low + inner), self.high - inner)

    def value(self, place: float) -> float:
        """Undo the logarithm of a place, if the search is on a logarithmic scale."""
        return math.exp(place) if self._is_log else float(place)

    def _there(self, value: float) -> float:
        return math.log(value) if self._is_log else value


_FAR = 10.0
"""Relative error where the model has no answer, such as at an overload: worse than any."""


def _relative_error(one: Observation, model: ModelAnswers, values: Mapping[str, Value]) -> float:
    try:
        found = model.values({**one.config, **values}).get(one.metric)
    except CodeNotRunError:
        raise
    except HeadroomError:
        found = None
    if found is None or not math.isfinite(found):
        return _FAR
    return min((found - one.value) / one.value, _FAR)


class Problem:
    """The sum of squares as a function of the free parameters, whole numbers being settled."""

    def __init__(
        self,
        observations: Sequence[Observation],
        model: ModelAnswers,
        settled: Mapping[str, Value],
        scales: Sequence[Scale],
    ) -> None:
        self.observations = observations
        self.settled = settled
        self.scales = scales
        self._model = model

    def values(self, place: FloatArray) -> dict[str, Value]:
        """Return the parameters at a place of the search."""
        found = {scale.name: scale.value(x) for scale, x in zip(self.scales, place, strict=True)}
        return {**self.settled, **found}

    def errors(self, place: FloatArray) -> FloatArray:
        """Return the relative error of each observation."""
        values = self.values(place)
        return np.array(
            [_relative_error(observation, self._model, values) for observation in self.observations]
        )

    def squares(self, place: FloatArray) -> float:
        """Return the sum of squared errors; infinite where the model answers nothing."""
        errors = self.errors(place)
        return math.inf if bool(np.all(errors >= _FAR)) else float(np.sum(errors**2))

    def solved(self, start: FloatArray) -> tuple[float, FloatArray]:
        """Return the least sum of squares near `start`, and where it is."""
        return self._searched(start, range(len(self.scales)))

    def refit(self, held: int, value: float, start: FloatArray) -> tuple[float, FloatArray]:
        """Return the least sum of squares with one parameter held at `value`, and where it is."""
        place = np.array(start)
        place[held] = value
        return self._searched(place, [one for one in range(len(self.scales)) if one != held])

    def _searched(self, start: FloatArray, free: Sequence[int]) -> tuple[float, FloatArray]:
        place = np.array(start)
        if not free:
            return self.squares(place), place

        def whole(part: FloatArray) -> FloatArray:
            filled = np.array(place)
            filled[list(free)] = part
            return filled

        low = np.array([self.scales[one].low for one in free])
        high = np.array([self.scales[one].high for one in free])
        margin = 1e-9 * (high - low)
        least_squares = scipy.optimize.least_squares(
            lambda part: self.errors(whole(part)),
            np.clip(place[list(free)], low + margin, high - margin),
            bounds=(low, high),
            diff_step=_STEP[self._model.source],
            x_scale=high - low,
        )
        return self.squares(whole(least_squares.x)), whole(least_squares.x)

    def first_step(self, place: FloatArray, held: int, rise: float) -> float:
        """Return about how far a parameter must move for the sum of squares to rise by `rise`."""
        scale = self.scales[held]
        columns = []
        for one, other in enumerate(self.scales):
            ahead = np.array(place)
            step = _STEP[self._model.source] * (other.high - other.low)
            ahead[one] += step if place[one] + step <= other.high else -step
            columns.append((self.errors(ahead) - self.errors(place)) / (ahead[one] - place[one]))
        jacobian = np.array(columns).T
        variance = float(np.linalg.pinv(jacobian.T @ jacobian)[held, held])
        span = scale.high - scale.low
        return min(max(math.sqrt(max(variance, 0.0) * rise), 1e-5 * span), 0.25 * span)


@dataclass(frozen=True, slots=True)
class Solution:
    """The best fit with one combination of whole numbers."""

    squares: float
    place: FloatArray
    problem: Problem

    @property
    def values(self) -> dict[str, Value]:
        """All parameters."""
        return self.problem.values(self.place)
