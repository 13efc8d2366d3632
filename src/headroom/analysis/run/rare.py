"""Percentiles that are too rare for the runs of a simulated point, with the reason.

p50, p95 and p99 are always reported, with intervals as wide as necessary. p99.9 would be a guess
about the largest bursts of a run, so it is omitted until the runs are expected to contain
`RARE_BURSTS` of them. Runs without a spread estimate each need `BEYOND` observations beyond the
percentile, as measured runs do.
"""

from collections.abc import Collection, Mapping, Sequence

from headroom.analysis.evidence import Absent
from headroom.analysis.run.batches import RARE_BURSTS
from headroom.analysis.run.distributions import Bins
from headroom.analysis.statistics.spread import Spread
from headroom.experiment.protocol.asked_metrics import statistics_of
from headroom.experiment.protocol.observed_metrics import BEYOND, observations_needed, percent_name

COMMON_PERCENT = 99.0
"""The highest percentile that short runs report too."""
RARE_PERCENT = 99.9
"""The percentile that only long runs report."""
LEAST_BURSTS = 1e-3
"""Bursts below which no length is foretold."""
RARE_SUFFIX = f"_{percent_name(RARE_PERCENT)}"
"""End of the name of a metric at that percentile."""


def too_rare(
    runs: Sequence[Mapping[str, Bins]],
    spreads: Mapping[str, Spread] | None = None,
    asked: Collection[str] = (),
) -> dict[str, Absent]:
    """Return the metrics beyond `COMMON_PERCENT` that the runs are too short for, with the reason.

    Parameters
    ----------
    runs
        Kept distributions of each run, by metric.
    spreads
        Spread of each metric, where the runs tell one.
    asked
        Percentiles besides those of every point.

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
    found: dict[str, Absent | None] = {}
    for metric, count in counts.items():
        for statistic in statistics_of(metric, asked):
            percent, name = statistic.percent or 0.0, statistic.metric(metric)
            spread = (spreads or {}).get(name)
            if percent <= COMMON_PERCENT:
                continue
            if spread is None:
                found[name] = too_few_observations(percent, count)
            else:
                found[name] = _by_bursts(percent, spread.bursts, count)
    # A single class has those of the whole run.
    alike = {name: found.get(name.rpartition(".")[2]) for name in spreads or {}}
    return {name: reason for name, reason in {**alike, **found}.items() if reason}


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


def _by_bursts(percent: float, bursts: float, count: int) -> Absent | None:
    if bursts >= RARE_BURSTS:
        return None
    return Absent(
        code="few_bursts",
        percent=percent,
        needed=RARE_BURSTS,
        found=float(bursts),
        observations=float(count) * RARE_BURSTS / max(bursts, LEAST_BURSTS),
    )
