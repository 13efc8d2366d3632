"""Whether the runs of a point are long enough for their intervals to be believed.

An interval rests on what varies in the runs. The mean of a queue varies by its bursts, so its
estimate is skewed while the runs hold few of them; a percentile varies by the bursts beyond it,
which can be counted. Both are read from the batches, whatever the model: a central server whose
responses hardly vary needs few correlation times, a heavy tail needs many.

The aim: where the mean response is skewed by less than `MOST_SKEWNESS`, and a percentile has
`FEWEST_BURSTS` beyond it, a nominal 95 % interval covers the truth in 92 of 100 cases or more.
`python -m benches.coverage` measures how often that is so.

Invariant: what is advised, `completions_needed`, would pass this very check if bursts came as
often as they did.
"""

import math
from collections.abc import Mapping, Sequence

from headroom.analysis.batches import FEWEST_BURSTS
from headroom.analysis.rare import RARE_SUFFIX
from headroom.analysis.results import RunLength
from headroom.analysis.spread import Spread
from headroom.analysis.windows import Window

MOST_SKEWNESS = 0.7
"""Skewness of the estimate of a mean response time from which its interval is doubtful."""
RESPONSE = "response_s_"
_METRICS_NAMED = 3


def run_length(
    windows: Sequence[Window],
    spreads: Mapping[str, Spread],
    *,
    correlation_s: float,
    warm_up_s: float,
) -> RunLength | None:
    """Return how long the runs of a point are against what varies in them.

    Parameters
    ----------
    windows
        Kept parts of the sound replications.
    spreads
        Spread of each metric that they tell.
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
    if any(window.table("class") is None for window in windows):
        return None
    shortest = min(windows, key=lambda window: window.length_s)
    lacking = doubtful(spreads)
    longer = max(lacking.values(), default=1.0)
    needed_s = longer * shortest.length_s + warm_up_s
    needed = _rounded_up(needed_s * _completions_per_s(shortest))
    return RunLength(
        correlation_s=correlation_s,
        times_in_a_run=shortest.length_s / correlation_s,
        times_in_all=sum(window.length_s for window in windows) / correlation_s,
        completions_needed=needed,
        is_short=bool(lacking),
        metrics=list(lacking),
        note=_message(list(lacking), needed, len(windows)) if lacking else "",
    )


def doubtful(spreads: Mapping[str, Spread]) -> dict[str, float]:
    """Return the response times whose intervals are doubtful, and how many times longer would do.

    Parameters
    ----------
    spreads
        Spread of each metric, by name.

    Examples
    --------
    >>> calm, skewed = Spread(1.0, 20, 0.2), Spread(1.0, 20, 1.4)
    >>> rare = Spread(1.0, 20, 0.5, bursts=1.0)
    >>> doubtful({"response_s_mean": calm, "response_s_p99": rare})
    {'response_s_p99': 4.0}
    >>> doubtful({"response_s_mean": skewed})
    {'response_s_mean': 4.0}
    """
    found = {}
    for name, spread in spreads.items():
        owner, _, quantity = name.rpartition(".")
        is_response = quantity.startswith(RESPONSE) and not quantity.endswith(RARE_SUFFIX)
        if not is_response or owner.startswith(("station", "pool", "visit")):
            continue
        mean = spreads.get(f"{owner}.{RESPONSE}mean" if owner else f"{RESPONSE}mean")
        by_skewness = 1.0 if mean is None else (abs(mean.skewness) / MOST_SKEWNESS) ** 2
        by_bursts = FEWEST_BURSTS / max(spread.bursts, 1e-3)
        if max(by_skewness, by_bursts) > 1.0:
            found[name] = max(by_skewness, by_bursts)
    return found


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


def _message(metrics: Sequence[str], needed: int, runs: int) -> str:
    own = [name for name in metrics if "." not in name] or list(metrics)
    more = f" and {len(own) - _METRICS_NAMED} more" if len(own) > _METRICS_NAMED else ""
    return (
        f"short: too few bursts for {', '.join(own[:_METRICS_NAMED])}{more}, whose intervals cover "
        f"less often than 95 %; run at least {needed:,} completions"
        + (" in each replication" if runs > 1 else "")
    )
