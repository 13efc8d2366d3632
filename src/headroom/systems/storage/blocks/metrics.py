"""The metrics of a storage run, with names shared by both columns."""

from collections.abc import Iterator, Mapping

from headroom.experiment.protocol.observed_metrics import observed_metrics
from headroom.experiment.protocol.system import Metric, Value
from headroom.systems.storage.blocks.conversion import QUANTITIES
from headroom.systems.storage.blocks.job import classes_of
from headroom.systems.storage.verify.verification import FAULTS
from headroom.systems.storage.workloads.snia_cells import cells_of
from headroom.systems.storage.workloads.workload_parameters import (
    Asked,
    Micro,
    Requests,
    Streamed,
)
from headroom.systems.storage.workloads.workload_table import writes

_FLOW = (
    Metric(name="throughput", unit="1/s", better="high", description="Requests per second"),
    Metric(name="bytes_per_s", unit="B/s", better="high", description="Bytes moved per second"),
)
_OWN = (
    Metric(name="error_count", unit="1", better="low", description="Requests that failed"),
    Metric(name="fail_ratio", unit="1", better="low",
           description="Share of the requests that failed"),
    Metric(name="late_count", unit="1", better="low",
           description="Requests that had to wait for a place after they were due"),
    Metric(name="defect_count", unit="1", better="low",
           description="Requests of paced streams that ended later than their pace allows"),
    Metric(name="unfinished_count", unit="1", better="low",
           description="Requests without an end when the run was over"),
    Metric(name="stuck_count", unit="1", better="low",
           description="Requests that the target had when the run was over and never answered"),
    Metric(name="achieved_read_share", unit="1", description="Reads among reads and writes"),
    Metric(name="cpu_s_per_request", unit="s", better="low",
           description="Processor time of the whole process, kernel included, per request"),
    Metric(name="tool_s_per_request", unit="s", better="low",
           description="Processor time of the tool itself per request, measured on nothing"),
    Metric(name="tool_share", unit="1",
           description="Share of the tool in throughput or service time, the larger one"),
    Metric(name="run_s", unit="s", better="low", description="Time from the start to the end"),
)  # fmt: skip
_VERIFIED = (
    Metric(name="verified_cell_count", unit="1", description="Cells of data that were judged"),
    Metric(name="wrong_cell_count", unit="1", better="low",
           description="Cells of data that are not what was acknowledged"),
    *(
        Metric(name=f"{name}_cell_count", unit="1", better="low", description=f"Cells that {what}")
        for name, what in FAULTS.items()
    ),
)  # fmt: skip
_SNIA = (
    Metric(name="round_count", unit="1", description="Rounds until the state was steady"),
    Metric(name="round_range_share", unit="1", better="low",
           description="Largest less smallest of the last five rounds, over their mean"),
    Metric(name="round_slope_share", unit="1", better="low",
           description="Change of the line through the last five rounds, over their mean"),
)  # fmt: skip
_CLOSED = ("response_s", "service_s")
"""Quantities of a load that has no due times."""
_SPC1_STREAMS = ("asu1-1", "asu1-2", "asu1-3", "asu1-4", "asu2-1", "asu2-2", "asu2-3", "asu3-1")


def block_metrics(config: Mapping[str, Value], *, is_verified: bool = False) -> Iterator[Metric]:
    """Yield the metrics of a workload of requests, with checked data if requested."""
    yield from _FLOW
    for quantity in QUANTITIES:
        yield from observed_metrics(quantity)
    yield Metric(name="jobs_mean", unit="1", description="Mean number of requests in flight")
    yield from _OWN
    if is_verified:
        yield from _VERIFIED
    workload = Asked.of(config).workload
    for name in class_names(config):
        yield from (_of_class(name, metric) for metric in _FLOW)
        for quantity in QUANTITIES if workload != "snia_like" else _CLOSED:
            yield from observed_metrics(f"class.{name}.{quantity}")
    if workload == "snia_like":
        yield from _SNIA


def class_names(config: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the classes that a run of `config` can have, as far as they are known before."""
    workload = Asked.of(config).workload
    syncs = ("sync",) if Requests.of(config).sync != "never" else ()
    if workload == "snia_like":
        return (*(cell.name for cell in cells_of(config)), *syncs)
    if classes_of(config) == "kind":
        return (*_kinds(config), *syncs)
    if workload == "spc1_like":
        return (*_SPC1_STREAMS, *syncs)
    if workload == "trace":
        return ("trace", *syncs)
    streams = range(Streamed.of(config).streams)
    return (*(f"stream-{number + 1}" for number in streams), *syncs)


def _kinds(config: Mapping[str, Value]) -> Iterator[str]:
    is_micro, micro = Asked.of(config).workload == "micro", Micro.of(config)
    read = micro.read_share if is_micro else 0.5
    trimmed = micro.trim_share if is_micro else 0.0
    if read:
        yield "read"
    if writes(config) and read + trimmed < 1.0:
        yield "write"
    if trimmed:
        yield "trim"


def _of_class(name: str, metric: Metric) -> Metric:
    return Metric(
        name=f"class.{name}.{metric.name}",
        unit=metric.unit,
        better=metric.better,
        description=metric.description,
    )
