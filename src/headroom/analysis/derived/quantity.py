"""A quantity at the points of an experiment, with the errors of its values.

Invariant: a cell without a value says why; a value that is not finite is none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import TypeAlias

import numpy as np

from headroom.analysis.evidence import Absent, NoInterval, NoValue
from headroom.analysis.results import DerivedValue
from headroom.analysis.statistics.dispersion import recentred
from headroom.analysis.statistics.intervals import Sample
from headroom.analysis.statistics.parts import Part, Parts, median_error, spread_of_parts, weighted
from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Value
from headroom.experiment.study.study import Statistic

Vector: TypeAlias = Callable[[FloatArray], FloatArray]
"""A function of several values with one result or more; not-a-number for a missing one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A value at one combination of levels; see `DerivedValue`."""

    levels: Mapping[str, Value]
    value: float = 0.0
    parts: Parts | None = None
    count: int = 1
    planned: int = 1
    reason: NoInterval | None = None
    missing: NoValue | None = None
    is_known: bool = True
    is_unbounded: bool = False
    """Whether the quantity has no value because it grows without bound."""

    def sample(self) -> Sample | None:
        """Return the value as claims and limits take it; infinite if it grows without bound."""
        if not self.is_known:
            return Sample(values=np.array([inf])) if self.is_unbounded else None
        spread = None if self.parts is None else spread_of_parts(self.parts)
        return Sample(values=np.array([self.value]), centre="pooled", pooled=self.value,
                      spread=spread, parts=self.parts)  # fmt: skip

    def result(self) -> DerivedValue:
        """Return the value as results state it."""
        sample = self.sample()
        found = None if sample is None or self.is_unbounded else sample.interval()
        return DerivedValue(
            levels=dict(self.levels),
            value=None if found is None else found.value,
            low=None if found is None else found.low,
            high=None if found is None else found.high,
            count=self.count,
            planned=self.planned,
            reason=None if found is None or self.parts is not None else self.reason,
            missing=self.missing,
        )


def measured_cell(
    levels: Mapping[str, Value],
    sample: Sample | None,
    *,
    name: str,
    quantity: str,
    statistic: Statistic,
    absent: Absent | None = None,
    is_fitted: bool = False,
    together: str = "",
) -> Cell:
    """Return the cell of a metric at a point.

    Parameters
    ----------
    levels, sample
        The point and its replications; None without results.
    name
        Name of the estimate, unique in the study.
    quantity, statistic
        The metric, and which statistic of the replications is taken.
    absent
        Why there are no results, where that is known.
    is_fitted
        Whether the point is a prediction with fitted parameters.
    together
        Name of what the replications of equal number have in common at all points: a recording
        that they replay, or a block in which they were measured; empty if there is nothing. What
        it moves is one part, common to the points.
    """
    if sample is None or sample.is_unbounded:
        is_saturated = sample is not None or (absent is not None and absent.code == "saturated")
        missing = NoValue(
            code="saturated" if is_saturated else "no_results",
            quantity=quantity,
            levels=dict(levels),
            absent=None if is_saturated else absent,
        )
        return Cell(levels=levels, missing=missing, is_known=False, count=0)
    sample = recentred(sample, statistic)
    parts, reason = None, None
    if is_fitted:
        reason = NoInterval(code="fitted_parts")
    elif sample.degrees < 1:
        reason = NoInterval(code="one_replication")
    elif together and sample.centre == "mean" and sample.spread is None:
        count = sample.count
        moves = (sample.values - sample.value) / sqrt(count * (count - 1))
        parts = {
            f"{together} {number}": Part(float(move), sample.degrees, together)
            for number, move in enumerate(moves)
        }
    elif sample.centre == "median":
        parts = {name: Part(median_error(sample.values), sample.degrees)}
    else:
        parts = {name: Part(sample.standard_error, sample.degrees)}
    return Cell(levels=levels, value=sample.value, parts=parts, reason=reason)


def combined(function: Vector, cells: Sequence[Cell]) -> list[Cell]:
    """Return the results of a function of known cells, as cells without levels."""
    values = np.array([cell.value for cell in cells])
    with np.errstate(all="ignore"):
        found = function(values)
        unsure = next((cell for cell in cells if cell.parts is None), None)
        slopes = None if unsure else _slopes(function, values, found, cells)
    results = []
    for place, value in enumerate(found):
        cell = Cell(levels={}, value=float(value), is_known=bool(np.isfinite(value)))
        if slopes is None:
            cell = replace(cell, reason=None if unsure is None else unsure.reason)
        elif not np.isfinite(slopes[place]).all():
            cell = replace(cell, reason=NoInterval(code="zero_inside"))
        elif cell.is_known:
            own = slopes[place].tolist()
            cell = replace(cell, parts=weighted([one.parts or {} for one in cells], own))
        results.append(cell)
    return results


def _slopes(
    function: Vector, values: FloatArray, found: FloatArray, cells: Sequence[Cell]
) -> FloatArray:
    """Return how each result changes with each value, shape (results, values).

    The values move by their standard errors in turn, so that a bend within reach counts.
    """
    slopes = np.zeros((found.size, values.size))
    for place, cell in enumerate(cells):
        step = sqrt(sum(part.move**2 for part in (cell.parts or {}).values()))
        if step == 0.0:
            continue
        move = np.zeros(values.size)
        move[place] = step
        above, below = function(values + move), function(values - move)
        both = np.isfinite(above) & np.isfinite(below)
        one_side = np.where(np.isfinite(above), above - found, found - below) / step
        slopes[:, place] = np.where(both, (above - below) / (2.0 * step), one_side)
    return slopes
