"""The lattice of populations of several classes, and two operations on functions over it.

Functions are stored flat, with one border of zeros at the low side of every axis, so that a shift
by one job never leaves the array. `times` multiplies a generating function by s = w_1 z_1 + ... +
w_R z_R, `divide` by 1 / (1 - ratio s). With these two, every product-form station can be multiplied
into a network, in positive arithmetic only.
"""

from functools import cached_property

import numpy as np
import scipy

from headroom.solvers.exact.closed import FloatArray, IntArray


class Lattice:
    """All populations (n_1, ..., n_R) with 0 <= n_r <= N_r.

    Parameters
    ----------
    population
        N_r for each class, 1 or more classes.

    Examples
    --------
    >>> lattice = Lattice(np.array([3]))
    >>> lattice.divide(lattice.origin(), 0.5, np.ones(1))[1:]
    array([1.   , 0.5  , 0.25 , 0.125])
    """

    def __init__(self, population: IntArray) -> None:
        self.population = population
        self.shape = tuple(int(jobs) + 2 for jobs in population)
        self.total = int(population.sum())
        steps = np.cumprod([1, *reversed(self.shape[1:])])[::-1]
        self.strides = [int(step) for step in steps]
        self.full = sum(
            (int(jobs) + 1) * step for jobs, step in zip(population, self.strides, strict=True)
        )
        """Flat place of the whole population."""

    @cached_property
    def levels(self) -> list[IntArray]:
        """Flat places of all populations of 1, 2, ... jobs in total."""
        grids = np.indices(self.shape)
        inside = np.all(grids >= 1, axis=0).ravel()
        totals = (grids.sum(axis=0) - len(self.shape)).ravel()
        places = np.flatnonzero(inside)
        order = np.argsort(totals[places], kind="stable")
        counts = np.bincount(totals[places])
        return np.split(places[order], np.cumsum(counts)[:-1])[1:]

    def origin(self) -> FloatArray:
        """Return the function that is 1 at the empty population and 0 elsewhere."""
        values = np.zeros(int(np.prod(self.shape)))
        values[sum(self.strides)] = 1.0
        return values

    def product(self, factors: list[FloatArray]) -> FloatArray:
        """Return the product of one function of n_r, 0 <= n_r <= N_r, for each class."""
        values = np.ones(1)
        for factor in factors:
            values = np.multiply.outer(values, np.concatenate(([0.0], factor))).ravel()
        return values

    def times(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return `values` times s, the sum of the weighted variables."""
        grid = values.reshape(self.shape)
        result = np.zeros(self.shape)
        for axis, weight in enumerate(weights):
            if weight > 0:
                into = tuple(slice(2 if other == axis else 1, None) for other in self._axes)
                start = tuple(
                    slice(1, -1) if other == axis else slice(1, None) for other in self._axes
                )
                result[into] += weight * grid[start]
        return np.asarray(result.ravel())

    def polynomial(
        self, values: FloatArray, coefficients: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return `values` times the polynomial in s with these coefficients, lowest first."""
        kept = coefficients[: self.total + 1]
        if len(self.shape) == 1:
            scaled = kept * weights[0] ** np.arange(len(kept))
            return np.asarray(np.convolve(values, scaled)[: len(values)])
        result: FloatArray = kept[-1] * values
        for coefficient in kept[-2::-1]:
            result = self.times(result, weights) + coefficient * values
        return result

    def divide(self, values: FloatArray, ratio: float, weights: FloatArray) -> FloatArray:
        """Return `values` / (1 - ratio s): the geometric tail of a station."""
        if len(self.shape) == 1:
            return _running_sums(values, ratio * float(weights[0]))
        result: FloatArray = values.copy()
        for places in self.levels:
            for weight, step in zip(weights, self.strides, strict=True):
                if weight > 0:
                    result[places] += ratio * weight * result[places - step]
        return result

    @property
    def _axes(self) -> range:
        return range(len(self.shape))


def _running_sums(values: FloatArray, factor: float) -> FloatArray:
    """Return y with y_n = x_n + factor y_(n-1): one step of elimination for each value.

    A filter of `scipy.signal` would say it more shortly, and takes half a second to load.
    """
    bands = np.vstack([np.ones(len(values)), np.full(len(values), -factor)])
    sums, _ = scipy.linalg.lapack.dtbtrs(bands, values, uplo="L")
    return np.asarray(sums.ravel())
