"""Percentiles that are too rare for the runs of a simulated point, with the reason.

p50, p95 and p99 are always reported, with intervals as wide as necessary. p99.9 would be a guess
about the largest bursts of a run, so it is omitted until the runs are expected to contain
`RARE_BURSTS` of them. Runs without a spread estimate each need `BEYOND` observations beyond the
percentile, as measured runs do.
"""

from collections.abc import Mapping, Sequence

from headroom.analysis.evidence import Absent
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
) -> dict[str, Absent]:
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
    >>> absent = too_rare([{"response_s": short}])["response_s_p99_9"]
    >>> absent.code, absent.needed, absent.found
    ('few_observations', 10000, 500)
    """
    counts = {
        metric: min(run[metric].total if metric in run else 0 for run in runs)
        for metric in dict.fromkeys(metric for run in runs for metric in run)
    }
    found = {
        f"{metric}{RARE_SUFFIX}": too_few_observations(RARE_PERCENT, count)
        for metric, count in counts.items()
    }
    known = {
        name: _by_bursts(spread.bursts)
        for name, spread in (spreads or {}).items()
        if name.endswith(RARE_SUFFIX)
    }
    return {name: reason for name, reason in {**found, **known}.items() if reason}


def too_few_observations(percent: float, count: int) -> Absent | None:
    """Return why `count` observations of the shortest run do not tell a percentile.

    Parameters
    ----------
    percent
        The percentile.
    count
        Observations; None is returned if they are enough.
    """
    needed = observations_needed(percent)
    if count >= needed:
        return None
    return Absent(
        code="few_observations", percent=percent, needed=needed, beyond=BEYOND, found=count
    )


def _by_bursts(bursts: float) -> Absent | None:
    if bursts >= RARE_BURSTS:
        return None
    return Absent(code="few_bursts", percent=RARE_PERCENT, needed=RARE_BURSTS, found=float(bursts))
