"""Whether values differ beyond their errors: Welch's test for unequal variances, in general form.

The values may have common parts, as speed-ups over one run do. Johansen's form of the test takes
any linear hypothesis about independent estimates; the hypothesis is that all values are equal. For
two independent means it is Welch's t-test, for more of them Welch's analysis of variance.

Invariant: the order of the values does not matter.

Sources: Welch, *On the Comparison of Several Mean Values*, Biometrika 38 (1951); Johansen, *The
Welch-James Approximation to the Distribution of the Residual Sum of Squares in a Weighted Linear
Regression*, Biometrika 67 (1980).
"""

from collections.abc import Sequence

import numpy as np
import scipy

from headroom.analysis.statistics.parts import Parts
from headroom.experiment.protocol.run import FloatArray

_ROUNDING = 1e-9
"""Relative difference from which values without errors are different."""
_NO_VARIANCE = 1e-12
"""Share of the largest variance below which a combination of the values has none."""


def p_value_of_equality(values: Sequence[float], parts: Sequence[Parts]) -> float:
    """Return how probable such differences are if all values are equal.

    Parameters
    ----------
    values
        Two or more.
    parts
        Their errors.

    Examples
    --------
    >>> from headroom.analysis.statistics.parts import Part
    >>> errors = [{"a": Part(0.1, 9.0)}, {"b": Part(0.1, 9.0)}]
    >>> round(p_value_of_equality([1.0, 1.1], errors), 2)
    0.49
    >>> p_value_of_equality([1.0, 2.0], errors) < 1e-5
    True
    """
    gaps = np.array(values[1:]) - values[0]
    moves, degrees = _moves(parts)
    variances, axes = np.linalg.eigh(moves @ moves.T)
    is_sure = variances <= _NO_VARIANCE * variances.max()
    exact = np.abs(axes[:, is_sure].T @ gaps)
    if (exact > _ROUNDING * np.abs(values).max()).any():
        return 0.0
    count = int(np.count_nonzero(~is_sure))
    if count == 0:
        return 1.0
    lengths = np.sqrt(variances[~is_sure])
    statistic = float((((axes[:, ~is_sure].T @ gaps) / lengths) ** 2).sum())
    # How much of the hypothesis rests on each estimate: few degrees of freedom there cost most.
    weights = (((axes[:, ~is_sure].T @ moves) / lengths[:, np.newaxis]) ** 2).sum(axis=0)
    uncertainty = float((weights**2 / degrees).sum())
    scale = count + 2.0 * uncertainty - 6.0 * uncertainty / (count + 2.0)
    below = count * (count + 2.0) / (3.0 * uncertainty)
    return float(scipy.special.fdtrc(count, below, statistic / scale))


def _moves(parts: Sequence[Parts]) -> tuple[FloatArray, FloatArray]:
    """Return how each estimate moves each value relative to the first, and its degrees."""
    known = {name: part.degrees for one in parts for name, part in one.items()}
    rows = np.array([[one[name].move if name in one else 0.0 for name in known] for one in parts])
    return rows[1:] - rows[0], np.array(list(known.values()))
