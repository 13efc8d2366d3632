"""Whole-run metrics of PostMark that both columns report: its time and its warm-up.

Invariant: the metrics of a measured and of a simulated run mean the same; no warm-up is removed,
because they describe the warm-up.
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
"""Share of the transactions that may be a warm-up, and the share after which none is left."""


def warm_up_ratio(times_s: FloatArray) -> float | None:
    """Return how much longer a transaction takes at first than later.

    Parameters
    ----------
    times_s
        Mean time (s) of each batch of transactions, all of one size, in order of completion.

    Returns
    -------
    float or None
        1 if nothing warms up; None with fewer than ten batches.

    Examples
    --------
    >>> import numpy as np
    >>> warm_up_ratio(np.array([3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    3.0
    """
    first, last = int(_FIRST * times_s.size), int(_LAST * times_s.size)
    if first < 2:  # noqa: PLR2004 - one batch has no mean
        return None
    late_s = float(times_s[last:].mean())
    return float(times_s[:first].mean()) / late_s if late_s > 0.0 else None
