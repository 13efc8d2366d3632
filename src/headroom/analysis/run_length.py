"""Whether the runs of a point are long enough for their intervals to be believed.

Measured (docs/reference/coverage.md): from about `TIMES_IN_ALL` correlation times on, a nominal
95 % interval covers the truth in 90 of 100 cases or more; below, the batches are too short to be
independent and the skewness of a queue is not seen yet. A single run must also outlast its own
start by `TIMES_IN_A_RUN`.

Invariant: what is advised, `completions_needed`, would pass this very check if the correlation
time stayed as it is.
"""

import math
from collections.abc import Sequence

from headroom.analysis.results import RunLength
from headroom.analysis.windows import Window

TIMES_IN_ALL = 100.0
"""Correlation times that the kept parts of all runs must last together."""
TIMES_IN_A_RUN = 10.0
"""Correlation times that the kept part of each run must last."""


def run_length(
    windows: Sequence[Window], *, correlation_s: float, warm_up_s: float
) -> RunLength | None:
    """Return how long the runs of a point are against its correlation time.

    Parameters
    ----------
    windows
        Kept parts of the sound replications.
    correlation_s
        Correlation time (s); 0 where it is not known.
    warm_up_s
        Length (s) of the warm-up that was cut.

    Returns
    -------
    RunLength or None
        None where the correlation time is not known or there are no tables to count in.
    """
    if correlation_s <= 0.0 or not windows:
        return None
    tables = [window.table("class") for window in windows]
    if any(table is None for table in tables):
        return None
    in_all = sum(window.length_s for window in windows) / correlation_s
    shortest = min(windows, key=lambda window: window.length_s)
    in_a_run = shortest.length_s / correlation_s
    lacking = max(TIMES_IN_ALL / in_all, TIMES_IN_A_RUN / in_a_run)
    rate = _completions_per_s(shortest)
    needed_s = max(lacking, 1.0) * shortest.length_s + warm_up_s
    needed = _rounded_up(needed_s * rate)
    return RunLength(
        correlation_s=correlation_s,
        times_in_a_run=in_a_run,
        times_in_all=in_all,
        completions_needed=needed,
        is_short=lacking > 1.0,
        note=_words(in_a_run, in_all, needed, len(windows)) if lacking > 1.0 else "",
    )


def _completions_per_s(window: Window) -> float:
    table = window.table("class")
    if table is None:
        return 0.0
    return float(window.increments(table)["completion_count"].sum()) / window.length_s


def _rounded_up(count: float) -> int:
    """Return a count rounded up to two digits, as advice is.

    Examples
    --------
    >>> _rounded_up(12_345.0), _rounded_up(7.2)
    (13000, 8)
    """
    unit = 10 ** max(int(math.log10(count)) - 1, 0) if count >= 1.0 else 1
    return math.ceil(count / unit) * unit


def _words(in_a_run: float, in_all: float, needed: int, runs: int) -> str:
    together = f"{in_all:.3g} correlation times" + (
        f" together, {in_a_run:.3g} each" if runs > 1 else ""
    )
    return (
        f"short: the kept {'runs last' if runs > 1 else 'run lasts'} only {together}, so the "
        f"intervals cover less often than 95 %; run at least {needed:,} completions"
        + (" in each replication" if runs > 1 else "")
    )
