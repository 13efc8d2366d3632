"""Figures of a whole run of PostMark that both columns report: its time, and its warm-up.

Invariant: the figures of a run that was measured and of one that was simulated mean the same; no
warm-up is cut from them, since the warm-up is what they tell.
"""

from headroom.experiment.protocol.run import FloatArray
from headroom.experiment.protocol.system import Metric

RUN_S = Metric(name="run_s", unit="s", better="low",
               description="Time that a client waits for the whole run, all phases")  # fmt: skip
WARM_UP_RATIO = Metric(
    name="warm_up_ratio",
    unit="1",
    description="Mean time of a transaction in the first fifth of them, over that in the last half",
)
_FIRST, _LAST = 0.2, 0.5
"""Share of the transactions that may be a warm-up, and from where on none is left."""


def warm_up_ratio(times_s: FloatArray) -> float | None:
    """Return how much longer a transaction takes at first than later.

    Parameters
    ----------
    times_s
        Mean time (s) of each batch of transactions, all of one size, in order of completion.

    Returns
    -------
    float or None
        1 where nothing warms up; None with fewer than ten batches.

    Examples
    --------
    >>> import numpy as np
    >>> warm_up_ratio(np.array([3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    3.0
    """
    first, last = int(_FIRST * times_s.size), int(_LAST * times_s.size)
    if first < 2:  # noqa: PLR2004 - one batch is no mean
        return None
    late_s = float(times_s[last:].mean())
    return float(times_s[:first].mean()) / late_s if late_s > 0.0 else None
