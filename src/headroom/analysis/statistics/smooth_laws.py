"""Curves without a knee: whether a smooth law explains a curve better than two lines.

A parabola, a power, an exponential and a hyperbola have no knee, yet a short piece at either end
looks straight. Both kinds of curve are fitted to all levels, weighted by the intervals of the
levels, and compared by their misfit per degree of freedom.

Invariant: the answer does not change with the units of the level and of the value.
"""

from typing import Literal, Protocol

import numpy as np

from headroom.analysis.evidence import NoKnee
from headroom.experiment.protocol.run import FloatArray

LEVELS_PER_LINE = 3
"""Levels on each side of the corner, itself counted in both: two are always on a line."""
_CORNERS = 201
_PARAMETERS_OF_A_LAW = 3
_PARAMETERS_OF_A_CORNER = 4
_GROWTHS = np.concatenate([np.linspace(-12.0, -0.25, 48), np.linspace(0.25, 12.0, 48)])
"""Exponents over the whole range of levels: from 160,000-fold decay to as much growth."""
_POWERS = np.linspace(-3.0, 4.0, 71)
_DISTANCES = np.geomspace(0.01, 10.0, 40)
"""Distance of a pole from the ends of the curve, in lengths of the curve."""


class WeightedCurve(Protocol):
    """Levels in ascending order with value and standard error of each."""

    @property
    def levels(self) -> FloatArray:
        """Levels, ascending."""

    @property
    def values(self) -> FloatArray:
        """Value at each level."""

    @property
    def errors(self) -> FloatArray:
        """Standard error of each value, above zero."""


def why_no_corner(curve: WeightedCurve) -> NoKnee | None:
    """Return why `curve` is not two lines that meet, None if they explain it best.

    Examples
    --------
    >>> from headroom.analysis.verdicts.knee import Curve
    >>> levels, errors = np.arange(1.0, 13.0), np.full(12, 0.1)
    >>> why_no_corner(Curve(levels, levels**2, errors, errors)).code
    'smooth'
    >>> found = why_no_corner(Curve(levels, np.minimum(levels, 2.0), errors, errors))
    >>> found.code, found.end, found.low, found.high
    ('bend_at_end', 'first', 1.0, 3.0)
    >>> why_no_corner(Curve(levels, np.minimum(levels, 6.0), errors, errors))
    """
    count = curve.levels.size
    smooth = _misfit_of_laws(curve) / (count - _PARAMETERS_OF_A_LAW)
    corner, at_the_end = (
        _misfit_of_corners(curve, levels_per_line=number) / (count - _PARAMETERS_OF_A_CORNER)
        for number in (LEVELS_PER_LINE, LEVELS_PER_LINE - 1)
    )
    if smooth >= corner:
        return None
    if smooth >= at_the_end:
        low, high = _end_with_the_bend(curve)
        end: Literal["first", "last"] = "first" if low == curve.levels[0] else "last"
        return NoKnee(code="bend_at_end", low=low, high=high, end=end)
    return NoKnee(code="smooth")


def _end_with_the_bend(curve: WeightedCurve) -> tuple[float, float]:
    """Return the two levels at the end of the curve between which the best corner lies."""
    corners, turns = _turns(curve, levels_per_line=LEVELS_PER_LINE - 1)
    fixed = [np.ones_like(curve.levels), curve.levels]
    misfits = [_least_misfit(curve, fixed, turn[None, :]) for turn in turns]
    corner = float(corners[int(np.argmin(misfits))])
    levels = curve.levels
    is_left = corner < (levels[0] + levels[-1]) / 2.0
    low, high = (levels[0], levels[2]) if is_left else (levels[-3], levels[-1])
    return float(low), float(high)


def _misfit_of_laws(curve: WeightedCurve) -> float:
    """Return the least weighted misfit of ``a + b g(level)``, and of a parabola."""
    levels = curve.levels
    place = (levels - levels[0]) / (levels[-1] - levels[0])
    shapes = [
        np.exp(_GROWTHS[:, None] * place - np.maximum(_GROWTHS, 0.0)[:, None]),
        1.0 / (1.0 + _DISTANCES[:, None] - place),
        1.0 / (_DISTANCES[:, None] + place),
    ]
    if levels[0] > 0.0:
        exponents = _POWERS[np.abs(_POWERS) > 1e-9]  # noqa: PLR2004 - the power 0 is the logarithm
        shapes += [(levels / levels[-1]) ** exponents[:, None], np.log(levels)[None, :]]
    of_shapes = _least_misfit(curve, [np.ones_like(place)], np.vstack(shapes))
    of_parabola = _least_misfit(curve, [np.ones_like(place), place], (place**2)[None, :])
    return min(of_shapes, of_parabola)


def _misfit_of_corners(curve: WeightedCurve, *, levels_per_line: int) -> float:
    """Return the least weighted misfit of two lines that meet between the levels."""
    _, turns = _turns(curve, levels_per_line=levels_per_line)
    return _least_misfit(curve, [np.ones_like(curve.levels), curve.levels], turns)


def _turns(curve: WeightedCurve, *, levels_per_line: int) -> tuple[FloatArray, FloatArray]:
    """Return corners with so many levels on each side, and what each adds to a straight line."""
    levels = curve.levels
    last = levels.size - levels_per_line
    corners = np.linspace(levels[levels_per_line - 1], levels[last], _CORNERS)
    return corners, np.maximum(levels - corners[:, None], 0.0)


def _least_misfit(curve: WeightedCurve, fixed: list[FloatArray], shapes: FloatArray) -> float:
    """Return the least weighted sum of squares left by `fixed` and one of the rows of `shapes`."""
    base, _ = np.linalg.qr(np.column_stack(fixed) / curve.errors[:, None])
    value = _beside(base, (curve.values / curve.errors)[None, :])[0]
    rows = _beside(base, shapes / curve.errors)
    rows = _beside(base, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    size = np.einsum("ij,ij->i", rows, rows)
    left = value - (rows @ value / size)[:, None] * rows
    return float(np.min(np.einsum("ij,ij->i", left, left)))


def _beside(base: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the part of each row that the orthonormal columns of `base` do not explain."""
    rest: FloatArray = rows - (rows @ base) @ base.T
    return rest
