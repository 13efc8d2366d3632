"""Percentiles and shares of distributions that a study names: any percentile, any time.

``station.desk.wait_s_p80`` is the wait that 80% of the visits stay below,
``station.desk.wait_share_within_30s`` the share of the visits that wait at most 30 s. The time is a
number with ns, us, ms, s, min or h; an underscore is its decimal point, as in ``p99_9``.

Invariant: a name says all of a statistic; of which runs it is is said elsewhere.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headroom.experiment.protocol.observed_metrics import percent_name
from headroom.units import UNITS

PERCENTS = (50.0, 95.0, 99.0, 99.9)
"""Percentiles that every simulated distribution reports."""
_NUMBER = r"\d+(?:_\d+)?"
_NAME = re.compile(
    rf"(?P<owner>.+\.)?(?P<stem>response|wait)"
    rf"(?:_s_p(?P<percent>{_NUMBER})|_share_within_(?P<time>{_NUMBER})(?P<unit>[num]?s|min|h))"
)
_SHARE = "_share_within_"
LAG = ".lag_s_max"
"""End of the metric of the longest wait in a line so far, by which a consumer is behind."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """A percentile of a distribution, or the share of it that lies within a time.

    Parameters
    ----------
    ending
        How the name of its metric ends: ``p80``, ``30s``.
    percent
        The percentile, above 0 and below 100; None for a share.
    within_s
        The time (s), of a share.
    """

    ending: str
    percent: float | None = None
    within_s: float = 0.0

    def metric(self, quantity: str) -> str:
        """Return the name of the metric that it is of a quantity.

        Examples
        --------
        >>> Statistic("p80", 80.0).metric("pool.seats.wait_s")
        'pool.seats.wait_s_p80'
        >>> Statistic("30s", within_s=30.0).metric("response_s")
        'response_share_within_30s'
        """
        if self.percent is None:
            return f"{quantity.removesuffix('_s')}{_SHARE}{self.ending}"
        return f"{quantity}_{self.ending}"


PLAIN = tuple(Statistic(percent_name(percent), percent) for percent in PERCENTS)
"""Statistics that every simulated distribution reports."""


def asked_metric(name: str) -> tuple[str, Statistic] | None:
    """Return the quantity and the statistic that a metric's name states, None if it is another.

    Examples
    --------
    >>> asked_metric("station.desk.wait_s_p99_95")
    ('station.desk.wait_s', Statistic(ending='p99_95', percent=99.95, within_s=0.0))
    >>> asked_metric("response_share_within_1_5ms")
    ('response_s', Statistic(ending='1_5ms', percent=None, within_s=0.0015))
    >>> asked_metric("response_s_mean"), asked_metric("response_s_p100")
    (None, None)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    quantity = f"{match['owner'] or ''}{match['stem']}_s"
    if match["percent"] is None:
        within_s = _number(match["time"]) * UNITS["s"][match["unit"]]
        return quantity, Statistic(f"{match['time']}{match['unit']}", within_s=within_s)
    percent = _number(match["percent"])
    if not 0.0 < percent < 100.0:  # noqa: PLR2004 - percent
        return None
    return quantity, Statistic(f"p{match['percent']}", percent)


def _number(text: str) -> float:
    return float(text.replace("_", "."))


def is_share_within(metric: str) -> bool:
    """Return whether a metric is the share of a distribution that lies within a time.

    Examples
    --------
    >>> is_share_within("station.desk.wait_share_within_30s"), is_share_within("wait_share")
    (True, False)
    """
    return _SHARE in metric


def statistics_of(quantity: str, asked: Iterable[str]) -> list[Statistic]:
    """Return the statistics to compute of a distribution: the plain ones, then those asked for.

    What is asked of one response time or wait is computed of all of them: it costs next to nothing.

    Examples
    --------
    >>> asked = ["pool.seats.wait_s_p80", "wait_s_p95", "response_s_p90"]
    >>> [one.ending for one in statistics_of("station.desk.wait_s", asked)]
    ['p50', 'p95', 'p99', 'p99_9', 'p80']
    """
    stem = quantity.rpartition(".")[2]
    named = [found for name in asked if (found := asked_metric(name)) is not None]
    more = [statistic for of, statistic in named if of.rpartition(".")[2] == stem]
    return list(dict.fromkeys([*PLAIN, *more]))


def asked_in(data: Any) -> Iterator[str]:  # noqa: ANN401 - any data of a study file
    """Yield the metrics of this kind that data of a study name anywhere.

    Examples
    --------
    >>> list(asked_in({"responses": ["throughput", "response_s_p80"], "limit": [{"at_most": 3}]}))
    ['response_s_p80']
    """
    if isinstance(data, str):
        if asked_metric(data) is not None or data.endswith(LAG):
            yield data
    elif isinstance(data, dict):
        yield from asked_in(list(data.values()))
    elif isinstance(data, list | tuple):
        for item in data:
            yield from asked_in(item)
