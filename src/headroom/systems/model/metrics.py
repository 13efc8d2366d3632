"""The metrics of a model: what the analysis makes of its stations, pools and classes.

Invariant: names and units are those of `headroom.analysis.summaries`; with several classes the
response percentiles are declared for each class and not for all together.
"""

from collections.abc import Iterable, Iterator, Sequence

from headroom.experiment.system import Metric
from headroom.simulation import Model

_FLOW = (
    Metric(name="throughput", unit="1/s", better="high", description="Completions per second"),
    Metric(name="response_s_mean", unit="s", better="low", description="Mean response time"),
    Metric(name="jobs_mean", unit="1", description="Mean number of jobs, thinking ones excluded"),
)
_PERCENTILES = tuple(
    Metric(
        name=f"response_s_p{percent}",
        unit="s",
        better="low",
        description=f"Response time that {percent} % of the jobs stay below",
    )
    for percent in (50, 95, 99)
)
_STATION = (
    Metric(name="utilization", unit="1", description="Busy share of the servers"),
    Metric(name="queue_len_mean", unit="1", better="low", description="Mean jobs waiting"),
    Metric(name="wait_s_mean", unit="s", better="low", description="Mean time in the queue"),
    Metric(name="response_s_mean", unit="s", better="low", description="Mean wait and service"),
    Metric(name="throughput", unit="1/s", better="high", description="Completions per second"),
    Metric(name="jobs_mean", unit="1", description="Mean jobs waiting and in service"),
)
_POOL = (
    Metric(name="utilization", unit="1", description="Held share of the tokens"),
    Metric(name="queue_len_mean", unit="1", better="low", description="Mean requests waiting"),
    Metric(name="wait_s_mean", unit="s", better="low", description="Mean wait for tokens"),
    Metric(name="throughput", unit="1/s", better="high", description="Grants per second"),
)


def metrics_of(model: Model) -> tuple[Metric, ...]:
    """Return all metrics of a model, those of the whole first."""
    whole = (*_FLOW, *_PERCENTILES) if len(model.classes) == 1 else _FLOW
    return (
        *whole,
        *resource_metrics(classes=model.classes, stations=model.stations, pools=model.pools),
    )


def resource_metrics(
    *, classes: Iterable[str], stations: Iterable[str], pools: Iterable[str]
) -> tuple[Metric, ...]:
    """Return the metrics that each class, station and pool of these names has.

    Examples
    --------
    >>> [one.name for one in resource_metrics(classes=(), stations=(), pools=["workers"])][:2]
    ['pool.workers.utilization', 'pool.workers.queue_len_mean']
    """
    return (
        *_qualified("class", classes, (*_FLOW, *_PERCENTILES)),
        *_qualified("station", stations, _STATION),
        *_qualified("pool", pools, _POOL),
    )


def _qualified(kind: str, names: Iterable[str], metrics: Sequence[Metric]) -> Iterator[Metric]:
    for name in names:
        for metric in metrics:
            yield Metric(
                name=f"{kind}.{name}.{metric.name}",
                unit=metric.unit,
                better=metric.better,
                description=metric.description,
            )
