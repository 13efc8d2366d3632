"""Percentiles that are too rare for the runs of a simulated point, with the reason.

p50, p95 and p99 are always reported, with intervals as wide as necessary. p99.9 would be a guess
about the largest bursts of a run, so it is omitted until the runs are expected to contain
`RARE_BURSTS` of them. Runs without a spread estimate each need `BEYOND` observations beyond the
percentile, as measured runs do.
"""

from collections.abc import Mapping, Sequence

from headroom.analysis.run.batches import RARE_BURSTS
from headroom.analysis.run.distributions import Bins
from headroom.analysis.statistics.spread import Spread
from headroom.experiment.protocol.observed_metrics import BEYOND, observations_needed, percent_name

RARE_PERCENT = 99.9
"""The percentile that only long runs report."""
RARE_SUFFIX = f"_{percent_name(RARE_PERCENT)}"
"""End of the name of a metric at that percentile."""


def too_rare(
    runs: Sequence[Mapping[str, Bins]], spreads: Mapping[str, Spread] | None = None
) -> dict[str, str]:
    """Return the metrics at `RARE_PERCENT` that the runs are too short for, with the reason.

    Parameters
    ----------
    runs
        Kept distributions of each run, by metric.
    spreads
        Spread of each metric, where the runs tell one.

    Examples
    --------
    >>> import numpy as np
    >>> short = Bins(np.array([0.0]), np.array([1.0]), np.array([500.0]))
    >>> too_rare([{"response_s": short}])["response_s_p99_9"]
    'p99.9 needs 10,000 observations in each run, 10 of them beyond it; the shortest run has 500'
    """
    counts = {
        metric: min(run[metric].total if metric in run else 0 for run in runs)
        for metric in dict.fromkeys(metric for run in runs for metric in run)
    }
    found = {f"{metric}{RARE_SUFFIX}": _by_count(count) for metric, count in counts.items()}
    known = {
        name: _by_bursts(spread.bursts)
        for name, spread in (spreads or {}).items()
        if name.endswith(RARE_SUFFIX)
    }
    return {name: reason for name, reason in {**found, **known}.items() if reason}


def _by_count(count: int) -> str:
    needed = observations_needed(RARE_PERCENT)
    if count >= needed:
        return ""
    return (
        f"p{RARE_PERCENT:g} needs {needed:,} observations in each run, {BEYOND} of them beyond it; "
        f"the shortest run has {count:,}"
    )


def _by_bursts(bursts: float) -> str:
    if bursts >= RARE_BURSTS:
        return ""
    return (
        f"p{RARE_PERCENT:g} needs {RARE_BURSTS:g} independent bursts beyond it, and runs of this "
        f"length show about {bursts:.2g}; run {RARE_BURSTS / max(bursts, 1e-3):.2g} times as long"
    )
