"""The metrics of a model: quantities that the analysis derives from stations, pools and classes.

Invariant: names and units are those of `headroom.analysis.run.summaries`; with several classes the
response percentiles are declared for each class and not for all together. Failures are declared if
a model can have them; then they are reported even if none happened.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headroom.experiment.protocol.observed_metrics import percent_name
from headroom.experiment.protocol.system import Metric
from headroom.simulation import Model, Pool, Station
from headroom.simulation.checks.controllers import changes_of
from headroom.simulation.checks.parsed import parse_model
from headroom.systems.model.share_metrics import share_metrics

_FLOW = (
    Metric(name="throughput", unit="1/s", better="high", description="Completions per second"),
    Metric(name="response_s_mean", unit="s", better="low", description="Mean response time"),
    Metric(name="jobs_mean", unit="1", description="Mean number of jobs, thinking ones excluded"),
)
_PERCENTILES = tuple(
    Metric(
        name=f"response_s_{percent_name(percent)}",
        unit="s",
        better="low",
        description=f"Response time that {percent:g}% of the jobs stay below",
    )
    for percent in (50.0, 95.0, 99.0)
)
_RARE = Metric(
    name="response_s_p99_9",
    unit="s",
    better="low",
    description="Response time that 99.9% of the jobs stay below; of long runs only",
)
_STATION = (
    Metric(name="utilization", unit="1", description="Busy share of the servers"),
    Metric(name="queue_len_mean", unit="1", better="low", description="Mean jobs waiting"),
    Metric(
        name="queue_len_max",
        unit="1",
        better="low",
        description="Most jobs waiting at once in a run, warm-up included",
    ),
    Metric(name="wait_s_mean", unit="s", better="low", description="Mean time in the queue"),
    Metric(name="response_s_mean", unit="s", better="low", description="Mean wait and service"),
    Metric(name="throughput", unit="1/s", better="high", description="Completions per second"),
    Metric(name="jobs_mean", unit="1", description="Mean jobs waiting and in service"),
)
_POOL = (
    Metric(name="utilization", unit="1", description="Held share of the tokens"),
    Metric(name="queue_len_mean", unit="1", better="low", description="Mean requests waiting"),
    Metric(
        name="queue_len_max",
        unit="1",
        better="low",
        description="Most requests waiting at once in a run, warm-up included",
    ),
    Metric(name="wait_s_mean", unit="s", better="low", description="Mean wait for tokens"),
    Metric(name="throughput", unit="1/s", better="high", description="Grants per second"),
)

MAKESPAN = Metric(
    name="makespan_s",
    unit="s",
    better="low",
    description="Time until all work is done, of models whose arrivals end",
)
_BUSIEST = Metric(
    name="utilization_max",
    unit="1",
    description="Busy share of the busiest of the group over a whole run, warm-up included",
)
_BLOCKED = Metric(
    name="blocked_ratio", unit="1", better="low", description="Share held by jobs that cannot leave"
)
_DOWN = Metric(name="down_ratio", unit="1", better="low", description="Broken share of the servers")
_REJECTED = Metric(
    name="reject_ratio", unit="1", better="low", description="Share of the jobs rejected"
)
_SERVERS = Metric(
    name="servers_mean",
    unit="1",
    description="Mean servers, those included that end a service before they go",
)
_TOKENS = Metric(name="tokens_mean", unit="1", description="Mean tokens, held ones included")
_LEFT = (
    Metric(name="abandon_ratio", unit="1", better="low", description="Share that leaves the queue"),
    Metric(
        name="abandon_rate",
        unit="1/s",
        better="low",
        description="Jobs a second that leave the queue",
    ),
    Metric(
        name="abandon_wait_s_mean",
        unit="s",
        better="low",
        description="Mean time in the queue of those that leave it",
    ),
)
_FAILING = (
    Metric(name="offered", unit="1/s", description="Jobs a second that come"),
    Metric(name="goodput", unit="1/s", better="high", description="Completions in time a second"),
    Metric(
        name="lost_ratio", unit="1", better="low", description="Share of the jobs lost on the way"
    ),
    Metric(name="reject_ratio", unit="1", better="low", description="Share lost for want of room"),
    Metric(
        name="abandon_ratio", unit="1", better="low", description="Share lost for want of patience"
    ),
    Metric(name="fail_ratio", unit="1", better="low", description="Share lost with their last try"),
    Metric(name="late_ratio", unit="1", better="low", description="Share completed, but too late"),
    Metric(
        name="failed_tries_mean", unit="1", better="low", description="Tries of attempts that fail"
    ),
)
"""What became of the jobs of a class, and of all."""

_VISIT = ("throughput", "queue_len_mean", "wait_s_mean", "response_s_mean", "jobs_mean")
MOST_PLACES = 400
"""Pairs of class and place up to which each pair has metrics of its own; as the analysis has it."""


def metrics_of(model: Model) -> tuple[Metric, ...]:
    """Return all metrics of a model, those of the whole first."""
    return (
        *_FLOW,
        *_PERCENTILES,
        _RARE,
        *resource_metrics(
            classes=model.classes, stations=model.station_rows(), pools=model.pool_rows()
        ),
        *_qualified("station", _groups(model), [_BUSIEST]),
        *_failure_metrics(model),
        *_visit_metrics(model),
        *share_metrics(model),
    )


def windowed_metrics(model: Model) -> tuple[Metric, ...]:
    """Return the metrics of a model that each window of its runs also has."""
    of_resources = resource_metrics(
        classes=model.classes, stations=model.station_rows(), pools=model.pool_rows()
    )
    metrics = (*_FLOW, *_PERCENTILES, *of_resources)
    return tuple(metric for metric in metrics if not metric.name.endswith(_RARE.name))


def _groups(model: Model) -> Iterator[str]:
    """Yield the rows that represent several stations whose servers can be counted."""
    for row, members in model.station_rows().items():
        if len(members) > 1 and members[0].discipline != "infinite":
            yield row


def _failure_metrics(model: Model) -> Iterator[Metric]:
    """Yield metrics of blocked, broken, rejected, lost and repeated work, where it can occur."""
    stations = model.stations.values()
    rejecting = _rows(station for station in stations if station.rejects)
    if any(station.buffer is not None and not station.rejects for station in stations):
        served = _rows(station for station in stations if station.discipline != "infinite")
        yield from _qualified("station", served, [_BLOCKED])
    yield from _qualified("station", _left(model, "station"), _LEFT)
    yield from _qualified("pool", _left(model, "pool"), _LEFT)
    changing = changes_of(parse_model(model))
    servers = [model.stations[change.name] for change in changing if change.kind == "servers"]
    yield from _qualified("station", _rows(servers), [_SERVERS])
    tokens = [model.pools[change.name].row for change in changing if change.kind == "tokens"]
    yield from _qualified("pool", dict.fromkeys(tokens), [_TOKENS])
    breaking = _rows(model.stations[name] for name in model.breakdowns_of)
    yield from _qualified("station", breaking, [_DOWN])
    yield from _qualified("station", rejecting, [_REJECTED])
    failing = _failing(model)
    yield from failing
    yield from _qualified("class", model.classes, failing)


def _failing(model: Model) -> list[Metric]:
    """Return what may become of the jobs of a model; nothing if all of them complete in time."""
    attempts = any(step.op == "attempt" for p in model.programs.values() for step in p.steps)
    may_be = {
        "reject_ratio": any(station.rejects for station in model.stations.values()),
        "abandon_ratio": bool(_left(model, "station") or _left(model, "pool")),
        "fail_ratio": attempts,
        "late_ratio": bool(model.late_limits),
    }
    if not any(may_be.values()):
        return []
    return [metric for metric in _FAILING if may_be.get(metric.name, True)]


def _left(model: Model, kind: str) -> list[str]:
    """Return the rows of the stations, or pools, whose line jobs may leave by their patience."""
    parts: Mapping[str, Station | Pool] = model.stations if kind == "station" else model.pools
    steps = (step for program in model.programs.values() for step in program.steps)
    names = {step.data.get(kind) for step in steps if "patience" in step.amounts}
    return list(dict.fromkeys(part.row for part in parts.values() if part.name in names))


def _rows(stations: Iterable[Station]) -> list[str]:
    """Return the rows in which `stations` are reported, each once."""
    return list(dict.fromkeys(station.row for station in stations))


def _visit_metrics(model: Model) -> Iterator[Metric]:
    """Yield metrics of each class at each station and pool, if there are several classes."""
    stations, pools = model.station_rows(), model.pool_rows()
    pairs = len(model.classes) * max(len(stations), len(pools))
    if len(model.classes) < 2 or pairs > MOST_PLACES:  # noqa: PLR2004 - one has no other next to it
        return
    visited = [f"{station}.class.{name}" for station in stations for name in model.classes]
    asked = [f"{pool}.class.{name}" for pool in pools for name in model.classes]
    yield from _qualified(
        "station", visited, [metric for metric in _STATION if metric.name in _VISIT]
    )
    yield from _qualified("pool", asked, [metric for metric in _POOL if metric.name in _VISIT])


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
        *_qualified("class", classes, (*_FLOW, *_PERCENTILES, _RARE)),
        *_qualified("station", stations, _STATION),
        *_qualified("pool", pools, _POOL),
    )


def group_metrics() -> tuple[Metric, ...]:
    """Return the metrics of NAME that only groups of like stations have."""
    return tuple(_qualified("station", ["NAME"], [_BUSIEST]))


def visit_metrics() -> tuple[Metric, ...]:
    """Return the metrics of class C at NAME that only models of several classes have."""
    return (
        *_qualified(
            "station", ["NAME.class.C"], [metric for metric in _STATION if metric.name in _VISIT]
        ),
        *_qualified(
            "pool", ["NAME.class.C"], [metric for metric in _POOL if metric.name in _VISIT]
        ),
    )


def failure_metrics() -> tuple[Metric, ...]:
    """Return the metrics that only models have in which something can fail."""
    return (
        *_FAILING,
        *_qualified("station", ["NAME"], [_BLOCKED, _DOWN, _REJECTED, *_LEFT, _SERVERS]),
        *_qualified("pool", ["NAME"], [*_LEFT, _TOKENS]),
        *_qualified("class", ["NAME"], _FAILING),
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
