"""Whether the runs of a point are long enough for reliable intervals.

An interval depends on the variation within the runs: on their bursts. There must be enough bursts
(`ENOUGH_BURSTS` beyond a percentile; `FEWEST_BURSTS` beyond the 95th for the mean), and they must
not be so unequal that the largest alone determines the interval.

- *Few bursts.* The bursts beyond a percentile are counted from the batches, independently of the
  model: a central server whose response times hardly vary needs few correlation times, a busy queue
  many. The number of bursts follows from the share beyond the percentile and its standard error,
  just as the variance of a dependent series gives its effective number of independent observations
  (Bayley and Hammersley, *The "Effective" Number of Independent Observations in an Autocorrelated
  Time Series*, 1946).
- *Heavy tail.* If the estimated tail index is below three (Hill 1975), the third moment does not
  exist as far as the runs show. No run then shows the skewness that its interval should have.

Both criteria are read from the bulk of the runs. The skewness of the estimate itself would not
serve. Runs that show high skewness have seen the rare burst and have a wide interval. Runs that
miss the truth have not seen it and show no skewness.

`python -m benches.coverage` measures how often the warning is right.

Invariant: what is advised for few bursts, `completions_needed`, would pass this very check if
bursts came as often as they did.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headroom.analysis.results import RunLength
from headroom.analysis.run.batches import ENOUGH_BURSTS, FEWEST_BURSTS, PLAIN_PERCENT
from headroom.analysis.run.rare import RARE_SUFFIX
from headroom.analysis.run.windows import Window
from headroom.analysis.statistics.spread import Spread
from headroom.experiment.protocol.observed_metrics import percent_name

HEAVY_TAIL = 3.0
"""Index of a tail below which its third moment, and with it a skewness, does not exist."""
LONGER_FOR_TAIL = 10.0
"""How much longer runs show whether a heavy tail ends: as many times farther out."""
RESPONSE = "response_s_"
MEAN, TAIL = f"{RESPONSE}mean", f"{RESPONSE}{percent_name(PLAIN_PERCENT)}"


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
        None if the correlation time is not known or there are no tables to count in.
    """
    if correlation_s <= 0.0 or not windows:
        return None
    if any(window.table("class") is None for window in windows):
        return None
    shortest = min(windows, key=lambda window: window.length_s)
    lacking = doubtful(spreads)
    longer = max((one.longer for one in lacking.values()), default=1.0)
    needed_s = longer * shortest.length_s + warm_up_s
    needed = _rounded_up(needed_s * _completions_per_s(shortest))
    return RunLength(
        correlation_s=correlation_s,
        times_in_a_run=shortest.length_s / correlation_s,
        times_in_all=sum(window.length_s for window in windows) / correlation_s,
        completions_needed=needed,
        is_short=bool(lacking),
        metrics=list(lacking),
        heavy=[name for name, doubt in lacking.items() if doubt.is_heavy],
        runs=len(windows),
    )


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why the interval of a response time is doubtful.

    Parameters
    ----------
    longer
        How many times longer the runs should be, above 1.
    is_heavy
        Whether that is for a heavy tail; else there are too few bursts.
    """

    longer: float
    is_heavy: bool = False


def doubtful(spreads: Mapping[str, Spread]) -> dict[str, Doubt]:
    """Return the response times whose intervals are doubtful, and why.

    Parameters
    ----------
    spreads
        Spread of each metric, by name.

    Examples
    --------
    >>> few = Spread(1.0, 20, 0.5, bursts=4.8)
    >>> doubtful({"response_s_mean": Spread(1.0, 20, 0.2), "response_s_p95": few})
    {'response_s_p95': Doubt(longer=1.25, is_heavy=False)}
    >>> heavy = Spread(1.0, 20, 0.5, bursts=90.0, tail_index=2.0)
    >>> doubtful({"response_s_p95": heavy})
    {'response_s_p95': Doubt(longer=10.0, is_heavy=True)}
    """
    found = {}
    for name, spread in spreads.items():
        owner, _, quantity = name.rpartition(".")
        is_response = quantity.startswith(RESPONSE) and not quantity.endswith(RARE_SUFFIX)
        if not is_response or owner.startswith(("station", "pool", "visit")):
            continue
        of_mean = spreads.get(f"{owner}.{TAIL}" if owner else TAIL, spread)
        judged, needed = (of_mean, FEWEST_BURSTS) if quantity == MEAN else (spread, ENOUGH_BURSTS)
        longer = needed / max(judged.bursts, 1e-3)
        if longer > 1.0:
            found[name] = Doubt(longer)
        elif judged.tail_index < HEAVY_TAIL:
            found[name] = Doubt(LONGER_FOR_TAIL, is_heavy=True)
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
